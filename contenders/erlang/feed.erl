%% The feed: a process for each connection, which waits for its timer and sends.
-module(feed).
-export([main/0, wait/2]).

%% The digits that an ID may have.
-define(LONGEST, 20).

-record(feed, {socket, id, start, interval}).

main() ->
    Given = settings:given("feed"),
    Interval = settings:whole_number("interval_ms", 1, 3600000, 1000, Given),
    % A send waits as soon as a dozen chunks or two are behind the kernel's buffer.
    Options = [{packet, http_bin}, {high_watermark, 512}, {low_watermark, 256}],
    service:run_unsupervised(Given, Options, fun(Socket) -> serve(Socket, Interval) end).

%% A connection has one request.
serve(Socket, Interval) ->
    case request(Socket) of
        {ok, Method, Target} ->
            case {id(Target), Method} of
                {none, _} -> refuse(Socket, "404 Not Found", []);
                {Id, 'GET'} -> begin_feed(Socket, Id, Interval);
                {_, _} -> refuse(Socket, "405 Method Not Allowed", "Allow: GET\r\n")
            end;
        bad ->
            refuse(Socket, "400 Bad Request", []);
        gone ->
            gone
    end.

request(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, Method, Target, Version}} when Version >= {1, 1} -> headers(Socket, Method, Target);
        {ok, {http_error, <<"\r\n">>}} -> request(Socket);
        {ok, _} -> bad;
        {error, _} -> gone
    end.

headers(Socket, Method, Target) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_header, _, _, _, _}} -> headers(Socket, Method, Target);
        {ok, http_eoh} -> {ok, Method, Target};
        {ok, {http_error, _}} -> bad;
        {error, _} -> gone
    end.

%% The ID that a path names, a copy: a part would hold on to the whole.
id({absoluteURI, _, _, _, Path}) ->
    id({abs_path, Path});
id({abs_path, Target}) ->
    [Path | _] = binary:split(Target, <<"?">>),
    case Path of
        <<"/test/", Id/binary>> when Id =/= <<>>, byte_size(Id) =< ?LONGEST ->
            case << <<Digit>> || <<Digit>> <= Id, Digit >= $0, Digit =< $9 >> of
                Id -> binary:copy(Id);
                _ -> none
            end;
        _ ->
            none
    end;
id(_) ->
    none.

begin_feed(Socket, Id, Interval) ->
    Head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n",
    send(Socket, [Head, chunk(["Welcome: ", Id, $\n])]),
    % Timers count whole milliseconds: the next one is never early.
    Start = erlang:monotonic_time(millisecond) + 1,
    listen(Socket, [{packet, raw}]),
    next(#feed{socket = Socket, id = Id, start = Start, interval = Interval}, 1).

%% Sets the timer for chunk K; it goes off at once for one that is due already.
next(#feed{start = Start, interval = Interval} = Feed, K) ->
    _ = erlang:start_timer(Start + K * Interval, self(), chunk, [{abs, true}]),
    sleep(Feed, K).

%% The heap shrinks to the needed size.
sleep(Feed, K) -> erlang:hibernate(?MODULE, wait, [Feed, K]).

wait(#feed{socket = Socket, id = Id} = Feed, K) ->
    receive
        {timeout, _, chunk} ->
            send(Socket, chunk(["Chunk ", integer_to_binary(K), " for ", Id, $\n])),
            next(Feed, K + 1);
        {tcp, Socket, _} ->
            % There is nothing to ask for any more.
            listen(Socket, []),
            sleep(Feed, K);
        {tcp_closed, Socket} ->
            gone;
        {tcp_error, Socket, _} ->
            gone
    end.

%% The end of the connection comes as a message.
listen(Socket, Options) ->
    case inet:setopts(Socket, Options ++ [{active, once}]) of
        ok -> ok;
        {error, _} -> exit(shutdown)
    end.

chunk(Data) -> [integer_to_binary(iolist_size(Data), 16), "\r\n", Data, "\r\n"].

send(Socket, Data) ->
    case gen_tcp:send(Socket, Data) of
        ok -> ok;
        {error, _} -> exit(shutdown)
    end.

%% The last answer of a connection.
refuse(Socket, Status, Headers) ->
    send(Socket, ["HTTP/1.1 ", Status, "\r\nContent-Length: 0\r\n", Headers, "Connection: close\r\n\r\n"]),
    connection:hang_up(Socket).
