# sh -c LAUNCHER PORT_IN_HEXADECIMAL PORT COMMAND…
( (
    while kill -0 $$ 2>/dev/null; do
        for table in /proc/net/tcp /proc/net/tcp6; do
            [ -r $table ] || continue
            while read -r _ address _ state _; do
                case "$address $state" in *:"$0 0A") echo "::ready port=$1"; exit ;; esac
            done <$table
        done
        sleep 0.01
    done
) </dev/null & )
shift
exec "$@"
