%% What the servers share: how they begin, accept and end.
-module(service).
-behaviour(gen_event).
-export([run/3, run/4, hang_up/1]).
-export([init/1, handle_event/2, handle_call/2]).

%% Listens on 127.0.0.1, says so, and calls Serve in a process of its own for
%% each connection, until SIGTERM or the end of stdin. So many processes accept.
run(Given, Options, Serve) -> run(Given, 1, Options, Serve).

run(Given, Acceptors, Options, Serve) ->
    % The usual handler says something and takes its time.
    ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
    Port = settings:whole_number("port", 0, 65535, 0, Given),
    _ = settings:whole_number("cores", 1, 1000000000, 1, Given),
    Usual = [binary, {ip, loopback}, {active, false}, {nodelay, true}, {reuseaddr, true}, {backlog, 4096}],
    case gen_tcp:listen(Port, Usual ++ Options) of
        {ok, Listener} ->
            {ok, Chosen} = inet:port(Listener),
            [spawn(fun() -> accept(Listener, Serve) end) || _ <- lists:seq(1, Acceptors)],
            io:format("::ready port=~w~n", [Chosen]),
            until_the_end_of_stdin();
        {error, Reason} ->
            io:format(standard_error, "~ts: cannot listen: ~ts~n", [element(1, Given), inet:format_error(Reason)]),
            halt(1)
    end.

%% Whoever has accepted a connection leaves the listener to the next process.
accept(Listener, Serve) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn(fun() -> accept(Listener, Serve) end),
            Serve(Socket);
        {error, _} ->
            % No descriptor is free, not even for loading the module timer: some
            % connection may end.
            receive after 10 -> ok end,
            accept(Listener, Serve)
    end.

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
