%% two_hosts NODES MESSAGES MODE PEER: the ring with its second half of units on another host, which is a node of
%% Erlang's own distribution and needs no program. Prints the nanoseconds from the first message to the last one's
%% arrival, as the first host knows of it, and the sum.
-module(two_hosts).
-export([main/0, relay/3, last/4]).

main() ->
    [Nodes, Messages, Mode, Peer] = init:get_plain_arguments(),
    N = list_to_integer(Nodes),
    M = list_to_integer(Messages),
    There = list_to_atom(Peer),
    pong = ping(There, 50),
    Last = spawn_link(There, ?MODULE, last, [Mode, M, self(), 0]),
    Place = fun(I) when I * 2 > N -> There; (_) -> node() end,
    Spawn = fun(I, Next) -> spawn_link(Place(I), ?MODULE, relay, [I, M, Next]) end,
    First = lists:foldl(Spawn, Last, lists:seq(N - 1, 1, -1)),
    Begin = erlang:monotonic_time(nanosecond),
    feed(Mode, First, M - 1),
    Sum = receive {sum, Value} -> Value end,
    io:format("~w ~w~n", [erlang:monotonic_time(nanosecond) - Begin, Sum]),
    halt(0).

%% The other node may be starting still.
ping(There, Tries) ->
    case net_adm:ping(There) of
        pang when Tries > 0 -> timer:sleep(100), ping(There, Tries - 1);
        Answer -> Answer
    end.

feed(_, _, -1) -> ok;
feed("pipelined", First, R) -> First ! R, feed("pipelined", First, R - 1);
feed("token", First, R) -> First ! R, receive arrived -> feed("token", First, R - 1) end.

relay(_, 0, _) -> ok;
relay(I, Left, Next) -> receive Value -> Next ! Value + I, relay(I, Left - 1, Next) end.

last(_, 0, Feeder, Sum) -> Feeder ! {sum, Sum};
last(Mode, Left, Feeder, Sum) ->
    receive
        Value ->
            _ = Mode =:= "token" andalso (Feeder ! arrived),
            last(Mode, Left - 1, Feeder, Sum + Value)
    end.
