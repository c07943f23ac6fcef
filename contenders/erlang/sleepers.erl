%% The sleepers: a process for each, and one that collects their numbers.
-module(sleepers).
-export([main/0]).

-define(MODULUS, 2147483647).
-define(FACTOR, 48271).
-define(SECOND_NS, 1000000000).
-define(REPORTS, 10).

main() ->
    % It ends at once: the usual handler would wait for this process.
    ok = os:set_signal(sigterm, default),
    % So that the links mean something: the process that -s gives traps exits.
    _ = process_flag(trap_exit, false),
    Given = settings:given("sleepers"),
    _ = settings:whole_number("cores", 1, 1024, 1, Given),
    Tasks = settings:whole_number("tasks", 1, 1000000, Given),
    Seconds = settings:whole_number("seconds", 2, 3600, Given),
    Seed = settings:whole_number("seed", 0, 4294967295, 0, Given),
    Hold = settings:one_of("hold", ["0", "1"], Given) =:= "1",

    Begin = now_ns(),
    Self = self(),
    % Linked: an error in one ends the program.
    Collector = spawn_opt(fun() -> collector(Tasks, Begin, Self) end, [link, {message_queue_data, off_heap}]),
    start(Tasks, 1 + Seed rem (?MODULUS - 1), Begin + (Seconds - 1) * ?SECOND_NS, Collector),
    receive {started, Collector} -> ok end,
    output:phase("sleepers", "start", now_ns() - Begin),
    hold(Hold),
    Collector ! collect,
    receive {collected, Collector} -> halt(0) end.

start(0, _, _, _) ->
    ok;
start(Left, X, LastSecond, Collector) ->
    Number = ?FACTOR * X rem ?MODULUS,
    Instant = LastSecond + Number * ?SECOND_NS div ?MODULUS,
    _ = spawn_link(fun() -> sleeper(Number, Instant, Collector) end),
    start(Left - 1, Number, LastSecond, Collector).

%% The process of a task.
sleeper(Number, Instant, Collector) ->
    Collector ! started,
    Collector ! {Number, sleep_until(Instant)}.

%% Returns how late it woke. Timers count whole milliseconds.
sleep_until(Instant) ->
    case now_ns() - Instant of
        Late when Late >= 0 ->
            Late;
        Early ->
            receive after (999999 - Early) div 1000000 -> sleep_until(Instant) end
    end.

%% The process that collects. It knows first that all tasks are about to sleep.
collector(Tasks, Begin, Main) ->
    started(Tasks),
    Main ! {started, self()},
    receive collect -> ok end,
    {Numbers, Late} = collect(1, Tasks, Begin, [], []),
    report(Tasks, lists:sort(Numbers), lists:sort(Late)),
    Main ! {collected, self()}.

started(0) -> ok;
started(Left) -> receive started -> started(Left - 1) end.

collect(Count, Tasks, _, Numbers, Late) when Count > Tasks ->
    {Numbers, Late};
collect(Count, Tasks, Begin, Numbers, Late) ->
    receive
        {Number, LateNs} ->
            Reports = min(?REPORTS, Tasks),
            case Count * Reports div Tasks > (Count - 1) * Reports div Tasks of
                true -> output:phase("sleepers", "wake", now_ns() - Begin);
                false -> ok
            end,
            collect(Count + 1, Tasks, Begin, [Number | Numbers], [LateNs | Late])
    end.

report(Tasks, Numbers, Late) ->
    Order = lists:foldl(fun(Number, Folded) -> (31 * Folded + Number) rem ?MODULUS end, 0, Numbers),
    % The smallest lateness that so many percent do not exceed.
    Percentiles = [lists:nth((Tasks * Percent + 99) div 100, Late) || Percent <- [50, 99, 100]],
    output:write(
        "sleepers",
        io_lib:format(
            "::result sum=~w order=~w late_p50_ns=~w late_p99_ns=~w late_max_ns=~w~n",
            [lists:sum(Numbers), Order | Percentiles]
        )
    ).

hold(false) ->
    ok;
hold(true) ->
    output:write("sleepers", "::await name=started\n"),
    io:get_line("").

now_ns() -> erlang:monotonic_time(nanosecond).
