%% The process of a connection, from the acceptor's handing over to the last answer.
-module(connection).
-export([start_link/2, init/2, hand_over/2, hang_up/1]).

start_link(Serve, Socket) ->
    {ok, proc_lib:spawn_link(?MODULE, init, [Serve, Socket])}.

%% Waits until the socket belongs to this process: then it is closed when the
%% process ends, however that ends.
init(Serve, Socket) ->
    receive
        {handed_over, Socket} -> Serve(Socket)
    end.

hand_over(Socket, Connection) ->
    ok = gen_tcp:controlling_process(Socket, Connection),
    Connection ! {handed_over, Socket}.

%% Lets the client read the last answer: closing with bytes unread would reset
%% the connection.
hang_up(Socket) ->
    _ = gen_tcp:shutdown(Socket, write),
    _ = inet:setopts(Socket, [{packet, raw}]),
    drain(Socket, erlang:monotonic_time(millisecond) + 1000).

drain(Socket, Deadline) ->
    case gen_tcp:recv(Socket, 0, max(0, Deadline - erlang:monotonic_time(millisecond))) of
        {ok, _} -> drain(Socket, Deadline);
        {error, _} -> gone
    end.
