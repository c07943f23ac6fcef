%% Calls one upstream, one call at a time, and keeps its connection. While a call is
%% under way the process waits in it: no other process has a request.
-module(upstream).
-behaviour(gen_server).
-export([start_link/3, send_request/3]).
-export([init/1, handle_call/3, handle_cast/2]).

-record(response, {version, status, body = until_closed, keep = true}).
-record(caller, {port, head, timeout, piece, kept = none}).

%% Timeout is in milliseconds; Piece makes the reply of a status.
start_link(Upstream, Timeout, Piece) ->
    gen_server:start_link(?MODULE, {Upstream, Timeout, Piece}, []).

%% Adds a call to a collection of requests. Its reply is Piece(Status), where 400
%% stands for any failure. The id may be none.
send_request(Caller, Id, Requests) ->
    gen_server:send_request(Caller, {call, Id}, Caller, Requests).

init({{Port, Target}, Timeout, Piece}) ->
    Head = iolist_to_binary(io_lib:format("GET ~s HTTP/1.1\r\nHost: 127.0.0.1:~w\r\n", [Target, Port])),
    {ok, #caller{port = Port, head = Head, timeout = Timeout, piece = Piece}}.

handle_call({call, Id}, _From, #caller{port = Port, timeout = Timeout, piece = Piece} = Caller) ->
    Request = [Caller#caller.head, id(Id), "\r\n"],
    {Status, Kept} = call(Port, Request, now_ms() + Timeout, Caller#caller.kept),
    {reply, Piece(Status), Caller#caller{kept = Kept}}.

handle_cast(_, Caller) -> {noreply, Caller}.

id(none) -> [];
id(Id) -> ["X-Request-Id: ", Id, "\r\n"].

%% The status, and the socket where it may be kept.
call(Port, Request, Deadline, none) ->
    % A reset is to be told from the end of a body.
    Options = [binary, {active, false}, {nodelay, true}, {packet, http_bin}, {show_econnreset, true}],
    case gen_tcp:connect({127, 0, 0, 1}, Port, Options, left(Deadline)) of
        {ok, Socket} ->
            try
                exchange(Socket, Request, Deadline)
            catch
                throw:_ -> failed(Socket)
            end;
        {error, _} ->
            {400, none}
    end;
call(Port, Request, Deadline, Kept) ->
    try
        exchange(Kept, Request, Deadline)
    catch
        throw:nothing_came ->
            % Closed since the call before: that is no failure.
            gen_tcp:close(Kept),
            call(Port, Request, Deadline, none);
        throw:failed ->
            failed(Kept)
    end.

failed(Socket) ->
    gen_tcp:close(Socket),
    {400, none}.

%% Throws nothing_came when the connection ended before an answer began, failed
%% for all else.
exchange(Socket, Request, Deadline) ->
    case gen_tcp:send(Socket, Request) of
        ok -> ok;
        {error, _} -> throw(nothing_came)
    end,
    Line =
        case gen_tcp:recv(Socket, 0, left(Deadline)) of
            {ok, First} -> First;
            {error, timeout} -> throw(failed);
            {error, _} -> throw(nothing_came)
        end,
    Response = response(Line, Socket, Deadline),
    ok = body(Response#response.body, Socket, Deadline),
    {Response#response.status, keep(Response, Socket)}.

response({http_response, Version, Status, _}, Socket, Deadline) ->
    Response = headers(#response{version = Version, status = Status}, Socket, Deadline),
    case Status of
        _ when Status < 100; Status > 999 -> throw(failed);
        _ when Status < 200 -> response(recv(Socket, 0, Deadline), Socket, Deadline);
        _ when Status =:= 204; Status =:= 304 -> Response#response{body = {length, 0}};
        _ -> Response
    end;
response(_, _, _) ->
    throw(failed).

headers(Response, Socket, Deadline) ->
    case recv(Socket, 0, Deadline) of
        {http_header, _, Name, _, Value} ->
            headers(header(Name, Value, Response), Socket, Deadline);
        http_eoh ->
            Response;
        _ ->
            throw(failed)
    end.

header('Content-Length', Value, #response{body = until_closed} = Response) ->
    Response#response{body = {length, size_of(Value, 10)}};
header('Transfer-Encoding', Value, Response) ->
    case string:lowercase(Value) of
        <<"chunked">> -> Response#response{body = chunked};
        _ -> Response
    end;
header('Connection', Value, Response) ->
    Response#response{keep = Response#response.keep andalso string:lowercase(Value) =/= <<"close">>};
header(_, _, Response) ->
    Response.

%% Reads the body, and drops it.
body({length, Length}, Socket, Deadline) ->
    options(Socket, [{packet, raw}]),
    skip(Length, Socket, Deadline);
body(chunked, Socket, Deadline) ->
    options(Socket, [{packet, line}]),
    [Digits | _] = binary:split(recv(Socket, 0, Deadline), [<<";">>, <<" ">>, <<"\r\n">>]),
    case size_of(Digits, 16) of
        0 ->
            trailers(Socket, Deadline);
        Length ->
            options(Socket, [{packet, raw}]),
            skip(Length, Socket, Deadline),
            case recv(Socket, 2, Deadline) of
                <<"\r\n">> -> body(chunked, Socket, Deadline);
                _ -> throw(failed)
            end
    end;
body(until_closed, Socket, Deadline) ->
    options(Socket, [{packet, raw}]),
    case gen_tcp:recv(Socket, 0, left(Deadline)) of
        {ok, _} -> body(until_closed, Socket, Deadline);
        {error, closed} -> ok;
        {error, _} -> throw(failed)
    end.

trailers(Socket, Deadline) ->
    case recv(Socket, 0, Deadline) of
        <<"\r\n">> -> ok;
        _ -> trailers(Socket, Deadline)
    end.

skip(0, _, _) ->
    ok;
skip(Length, Socket, Deadline) ->
    Part = min(Length, 65536),
    _ = recv(Socket, Part, Deadline),
    skip(Length - Part, Socket, Deadline).

keep(#response{version = Version, body = Body, keep = true}, Socket) when
    Version >= {1, 1}, Body =/= until_closed
->
    options(Socket, [{packet, http_bin}]),
    Socket;
keep(_, Socket) ->
    gen_tcp:close(Socket),
    none.

size_of(Digits, Base) ->
    try binary_to_integer(Digits, Base) of
        Size when Size >= 0 -> Size;
        _ -> throw(failed)
    catch
        error:badarg -> throw(failed)
    end.

recv(Socket, Length, Deadline) ->
    case gen_tcp:recv(Socket, Length, left(Deadline)) of
        {ok, Packet} -> Packet;
        {error, _} -> throw(failed)
    end.

options(Socket, Options) ->
    case inet:setopts(Socket, Options) of
        ok -> ok;
        {error, _} -> throw(failed)
    end.

left(Deadline) -> max(0, Deadline - now_ms()).

now_ms() -> erlang:monotonic_time(millisecond).
