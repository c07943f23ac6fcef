-module(bare_erlang).
-export([main/0]).

main() ->
    [N, M] = [list_to_integer(Text) || Text <- init:get_plain_arguments()],
    Main = self(),
    Last = spawn(fun() -> last(M, Main, 0, 0) end),
    First = lists:foldl(
        fun(I, Next) -> spawn(fun() -> relay(I, M, Next) end) end, Last, lists:seq(N - 1, 1, -1)
    ),
    Start = erlang:monotonic_time(nanosecond),
    lists:foreach(fun(R) -> First ! R end, lists:seq(M - 1, 0, -1)),
    receive
        {End, Checksum, _Order} -> io:format("~w ~w~n", [End - Start, Checksum])
    end,
    halt().

relay(_, 0, _) ->
    ok;
relay(I, Left, Next) ->
    receive
        Value ->
            Next ! Value + I,
            relay(I, Left - 1, Next)
    end.

last(0, Main, Checksum, Order) ->
    Main ! {erlang:monotonic_time(nanosecond), Checksum, Order};
last(Left, Main, Checksum, Order) ->
    receive
        Value -> last(Left - 1, Main, Checksum + Value, (31 * Order + Value) rem 2147483647)
    end.
