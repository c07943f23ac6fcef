%% The feed on MochiWeb: a process for each connection, which waits for its timer
%% and writes a chunk. With hibernate=1 its heap shrinks in between.
-module(feed).
-behaviour(gen_event).
-export([main/0, wait/2]).
-export([init/1, handle_event/2, handle_call/2]).

%% The digits that an ID may have.
-define(LONGEST, 20).
%% More than the virtual machine has ports for.
-define(MOST, 1000000).

-record(feed, {response, socket, id, start, interval, hibernate}).

main() ->
    % The usual handler says something and takes its time.
    ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
    % Nothing is printed for a connection.
    ok = logger:set_primary_config(level, none),
    Port = settings:whole_number("port", 0, 65535, 0),
    _ = settings:whole_number("cores", 1, 1000000000, 1),
    Settings = {
        settings:whole_number("interval_ms", 1, 3600000, 1000),
        settings:whole_number("hibernate", 0, 1, 0) =:= 1,
        watermarks(settings:whole_number("high_watermark", 0, 1000000000, 0))
    },
    % Modules that the library needs when no descriptor is free: then nothing can be loaded.
    ok = code:ensure_modules_loaded([error_logger, io_lib_pretty, timer]),
    Options = [
        {name, undefined},
        {link, false},
        {ip, settings:host()},
        {port, Port},
        {backlog, 4096},
        {max, ?MOST},
        {nodelay, true},
        {loop, fun(Request) -> answer(Request, Settings) end}
    ],
    case mochiweb_http:start(Options) of
        {ok, Server} ->
            io:format("::ready port=~w~n", [mochiweb_socket_server:get(Server, port)]),
            until_the_end_of_stdin();
        {error, Reason} ->
            io:format(standard_error, "feed: cannot listen: ~ts~n", [inet:format_error(Reason)]),
            halt(1)
    end.

answer(Request, Settings) ->
    {Path, _, _} = mochiweb_util:urlsplit_path(mochiweb_request:get(raw_path, Request)),
    case {id(Path), mochiweb_request:get(method, Request)} of
        {none, _} -> mochiweb_request:respond({404, [], <<>>}, Request);
        {Id, 'GET'} -> feed(Request, Id, Settings);
        {_, _} -> mochiweb_request:respond({405, [{"Allow", "GET"}], <<>>}, Request)
    end.

id("/test/" ++ Id) when Id =/= [], length(Id) =< ?LONGEST ->
    case lists:all(fun(Digit) -> Digit >= $0 andalso Digit =< $9 end, Id) of
        true -> list_to_binary(Id);
        false -> none
    end;
id(_) ->
    none.

%% A send waits once so many bytes are behind the kernel's buffer; 0: where the system sets it.
watermarks(0) -> [];
watermarks(High) -> [{high_watermark, High}, {low_watermark, High div 2}].

feed(Request, Id, {Interval, Hibernate, Watermarks}) ->
    Socket = mochiweb_request:get(socket, Request),
    listen(Socket, Watermarks),
    Response = mochiweb_request:respond({200, [{"Content-Type", "text/plain"}], chunked}, Request),
    mochiweb_response:write_chunk(["Welcome: ", Id, $\n], Response),
    % Timers count whole milliseconds: the next one is never early.
    Start = erlang:monotonic_time(millisecond) + 1,
    Feed = #feed{response = Response, socket = Socket, id = Id, start = Start},
    next(Feed#feed{interval = Interval, hibernate = Hibernate}, 1).

%% Sets the timer for chunk K; it goes off at once for one that is due already.
next(#feed{start = Start, interval = Interval} = Feed, K) ->
    _ = erlang:start_timer(Start + K * Interval, self(), chunk, [{abs, true}]),
    sleep(Feed, K).

%% The heap of a process that hibernates shrinks to the needed size.
sleep(#feed{hibernate = true} = Feed, K) -> proc_lib:hibernate(?MODULE, wait, [Feed, K]);
sleep(Feed, K) -> wait(Feed, K).

wait(#feed{response = Response, socket = Socket, id = Id} = Feed, K) ->
    receive
        {timeout, _, chunk} ->
            mochiweb_response:write_chunk(["Chunk ", integer_to_binary(K), " for ", Id, $\n], Response),
            next(Feed, K + 1);
        {tcp, Socket, _} ->
            % There is nothing to ask for any more.
            listen(Socket, []),
            sleep(Feed, K);
        {tcp_closed, Socket} ->
            exit({shutdown, tcp_closed});
        {tcp_error, Socket, Reason} ->
            exit({shutdown, Reason})
    end.

%% The end of the connection comes as a message.
listen(Socket, Options) ->
    ok = mochiweb_socket:exit_if_closed(mochiweb_socket:setopts(Socket, Options ++ [{active, once}])).

until_the_end_of_stdin() ->
    case io:get_line("") of
        Line when is_list(Line) -> until_the_end_of_stdin();
        _ -> the_end()
    end.

%% Without a flush: it would wait for clients that do not read.
the_end() -> halt(0, [{flush, false}]).

%% The handler of signals.
init(_) -> {ok, []}.

handle_event(sigterm, _) -> the_end();
handle_event(_, State) -> {ok, State}.

handle_call(_, State) -> {ok, ok, State}.
