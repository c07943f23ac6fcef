%% The fibonacci service: a process for each connection.
-module(fib).
-export([main/0]).

%% The bytes that a line may have, its newline included.
-define(LONGEST, 100).

main() ->
    % A line that does not fit into the buffer comes without its newline.
    service:run(settings:given("fib"), [{packet, line}, {buffer, ?LONGEST}], fun answer/1).

%% Answers one connection's requests until its end, which is the process's too.
answer(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Line} ->
            Size = byte_size(Line) - 1,
            case Line of
                <<Request:Size/binary, "\n">> ->
                    case gen_tcp:send(Socket, [reply(number(Request)), $\n]) of
                        ok -> answer(Socket);
                        {error, _} -> gone
                    end;
                _ ->
                    _ = gen_tcp:send(Socket, io_lib:format("error: a line may have ~w bytes~n", [?LONGEST])),
                    connection:hang_up(Socket)
            end;
        {error, _} ->
            gone
    end.

reply(N) when is_integer(N), N >= 1, N =< 90 -> integer_to_binary(fib(N));
reply(_) -> "error: n must be a whole number from 1 to 90".

%% binary_to_integer would take a sign as well.
number(<<Digit, _/binary>> = Request) when Digit >= $0, Digit =< $9 ->
    try
        binary_to_integer(Request)
    catch
        error:badarg -> none
    end;
number(_) ->
    none.

fib(1) -> 1;
fib(2) -> 1;
fib(N) -> fib(N - 1) + fib(N - 2).
