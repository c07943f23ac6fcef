%% The fan-out gateway: a supervised process for each connection, a gen_server for
%% each upstream that it calls, and a process for each sum.
-module(fanout).
-export([main/0]).

-define(MOST, 1000000000).
%% Calls, or sums, for each request.
-define(CALLS, 3).

-record(request, {method, target, version, id = none, keep = true, body = false}).

main() ->
    Given = settings:given("fanout"),
    Kind = settings:needed("kind", ["io", "cpu", "mixed"], Given),
    Tick = settings:whole_number("tick_ms", 1, ?MOST, 50, Given),
    Timeout = settings:whole_number("timeout_ms", 1, ?MOST, 5000, Given),
    Work = settings:whole_number("work", 1, ?MOST, 100000, Given),
    Serve =
        case Kind of
            "cpu" ->
                fun(Socket) -> serve(Socket, fun(Out, _) -> sums(Out, Work) end) end;
            _ ->
                Upstreams = settings:urls("upstreams", ?CALLS, Given),
                Piece = piece(Kind, Work),
                fun(Socket) ->
                    Callers = [start(Upstream, Timeout, Piece) || Upstream <- Upstreams],
                    serve(Socket, fun(Out, Id) -> pieces(Out, Id, Callers, Tick) end)
                end
        end,
    service:run(Given, [{packet, http_bin}], Serve).

start(Upstream, Timeout, Piece) ->
    {ok, Caller} = upstream:start_link(Upstream, Timeout, Piece),
    Caller.

%% Answers one connection's requests until its end. The exit takes along the
%% processes that are linked.
serve(Socket, Body) ->
    case request(Socket) of
        {ok, Request} ->
            Keep = answer(Socket, Request, Body),
            Keep orelse exit(shutdown),
            serve(Socket, Body);
        bad ->
            short(Socket, "400 Bad Request", [], false),
            exit(shutdown);
        gone ->
            exit(shutdown)
    end.

request(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, Method, Target, Version}} when Version >= {1, 0} ->
            headers(Socket, #request{method = Method, target = Target, version = Version, keep = Version >= {1, 1}});
        {ok, {http_error, <<"\r\n">>}} ->
            request(Socket);
        {ok, _} ->
            bad;
        {error, _} ->
            gone
    end.

headers(Socket, Request) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_header, _, Name, _, Value}} -> headers(Socket, header(Name, Value, Request));
        {ok, http_eoh} -> {ok, Request};
        {ok, {http_error, _}} -> bad;
        {error, _} -> gone
    end.

header(<<"X-Request-Id">>, Value, Request) ->
    Request#request{id = Value};
header('Connection', Value, Request) ->
    case string:lowercase(Value) of
        <<"close">> -> Request#request{keep = false};
        _ -> Request
    end;
header('Content-Length', Value, Request) ->
    Request#request{body = Value =/= <<"0">>};
header('Transfer-Encoding', _, Request) ->
    Request#request{body = true};
header(_, _, Request) ->
    Request.

%% Says whether the connection is kept. After a request with a body it is not:
%% nobody reads that.
answer(Socket, Request, Body) ->
    Keep = Request#request.keep andalso not Request#request.body,
    case {is_root(Request#request.target), Request#request.method} of
        {false, _} ->
            short(Socket, "404 Not Found", [], Keep);
        {true, 'GET'} ->
            Out = begin_body(Socket, Request#request.version, Keep),
            Body(Out, Request#request.id);
        {true, _} ->
            short(Socket, "405 Method Not Allowed", "Allow: GET\r\n", Keep)
    end,
    Keep.

is_root({abs_path, <<"/">>}) -> true;
is_root({abs_path, <<"/?", _/binary>>}) -> true;
is_root({absoluteURI, _, _, _, Path}) -> is_root({abs_path, Path});
is_root(_) -> false.

%% The text that the process that called an upstream makes of its status.
piece("io", _) ->
    fun integer_to_binary/1;
piece("mixed", Work) ->
    fun(Status) -> [integer_to_binary(Status), $:, integer_to_binary(sum(1, Work, 0)), $\n] end.

%% kind=io and mixed: what each upstream's process replies, when it is there, and a
%% dot for every tick in which nothing was written.
pieces(Out, Id, Callers, Tick) ->
    Send = fun(Caller, Requests) -> upstream:send_request(Caller, Id, Requests) end,
    pieces_of(Out, lists:foldl(Send, gen_server:reqids_new(), Callers), Tick).

pieces_of(Out, Requests, Tick) ->
    case gen_server:wait_response(Requests, Tick, true) of
        {{reply, Piece}, _, Missing} ->
            case gen_server:reqids_size(Missing) of
                0 -> end_body(Out, Piece);
                _ -> pieces_of(write(Out, Piece), Missing, Tick)
            end;
        timeout ->
            pieces_of(write(Out, <<".">>), Requests, Tick)
    end.

%% kind=cpu: each sum when it is there.
sums(Out, Work) ->
    Connection = self(),
    Sums = make_ref(),
    [spawn_link(fun() -> Connection ! {Sums, sum(1, Work, 0)} end) || _ <- lists:seq(1, ?CALLS)],
    gather(Out, Sums, ?CALLS).

gather(Out, Sums, Missing) ->
    receive
        {Sums, Sum} when Missing =:= 1 -> end_body(Out, [integer_to_binary(Sum), $\n]);
        {Sums, Sum} -> gather(write(Out, [integer_to_binary(Sum), $\n]), Sums, Missing - 1)
    end.

sum(Work, Work, Sum) -> Sum;
sum(I, Work, Sum) -> sum(I + 1, Work, Sum + I).

%% A body that is sent as it grows: the head goes out with its first piece. To a
%% client of HTTP/1.0 it goes without chunks.
begin_body(Socket, Version, Keep) ->
    Framing = case Version >= {1, 1} of true -> chunked; false -> plain end,
    Head = [
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
        [<<"Transfer-Encoding: chunked\r\n">> || Framing =:= chunked],
        connection(Keep),
        "\r\n"
    ],
    {Socket, Framing, Head}.

write({Socket, Framing, Unsent}, Data) ->
    send(Socket, [Unsent, frame(Framing, Data)]),
    {Socket, Framing, []}.

end_body({Socket, Framing, Unsent}, Data) ->
    send(Socket, [Unsent, frame(Framing, Data), frame(Framing, [])]).

frame(plain, Data) -> Data;
frame(chunked, Data) -> [integer_to_binary(iolist_size(Data), 16), "\r\n", Data, "\r\n"].

short(Socket, Status, Headers, Keep) ->
    send(Socket, ["HTTP/1.1 ", Status, "\r\nContent-Length: 0\r\n", Headers, connection(Keep), "\r\n"]).

connection(true) -> [];
connection(false) -> "Connection: close\r\n".

%% A client that has gone takes its connection's process along.
send(Socket, Data) ->
    case gen_tcp:send(Socket, Data) of
        ok -> ok;
        {error, _} -> exit(shutdown)
    end.
