%% The supervision tree of the three servers, and how they begin and end.
%%
%%     service ── connections ── connection …   (temporary; not in the feed)
%%           └─── acceptor …                    (permanent)
-module(service).
-behaviour(supervisor).
-export([run/3, run_unsupervised/3]).
-export([init/1]).

%% Processes that wait for a connection. Where ten thousand others run, one would
%% have its turn too seldom.
-define(ACCEPTORS, 16).

%% Listens, says so, and calls Serve(Socket) in a process of its own
%% for each connection, until SIGTERM or the end of stdin.
run(Given, Options, Serve) ->
    Connections = #{
        id => connections,
        start => {supervisor, start_link, [{local, connections}, ?MODULE, {connections, Serve}]},
        type => supervisor
    },
    run(Given, Options, [Connections], fun(Socket) -> supervisor:start_child(connections, [Socket]) end).

%% The same with plain processes: a supervised one has some 600 bytes more, which
%% counts where it does nothing but wait.
run_unsupervised(Given, Options, Serve) ->
    run(Given, Options, [], fun(Socket) -> {ok, spawn(connection, init, [Serve, Socket])} end).

run(Given, Options, Supervisors, Start) ->
    ok = ending:handle_signals(),
    Port = settings:whole_number("port", 0, 65535, 0, Given),
    _ = settings:whole_number("cores", 1, 1000000000, 1, Given),
    Usual = [binary, {ip, settings:host(Given)}, {active, false}, {nodelay, true}, {reuseaddr, true}, {backlog, 4096}],
    case gen_tcp:listen(Port, Usual ++ Options) of
        {ok, Listener} ->
            {ok, Chosen} = inet:port(Listener),
            Acceptors = [
                #{id => {acceptor, N}, start => {acceptor, start_link, [Listener, Start]}}
             || N <- lists:seq(1, ?ACCEPTORS)
            ],
            % By the link, the program ends with its top supervisor; who runs main
            % traps exits otherwise.
            process_flag(trap_exit, false),
            {ok, _} = supervisor:start_link({local, ?MODULE}, ?MODULE, {children, Supervisors ++ Acceptors}),
            io:format("::ready port=~w~n", [Chosen]),
            ending:wait_for_the_end_of_stdin();
        {error, Reason} ->
            io:format(standard_error, "~ts: cannot listen: ~ts~n", [element(1, Given), inet:format_error(Reason)]),
            halt(1)
    end.

init({children, Children}) ->
    {ok, {#{strategy => one_for_one, intensity => ?ACCEPTORS}, Children}};
init({connections, Serve}) ->
    % A process that ended with its client need not be restarted.
    Connection = #{id => connection, start => {connection, start_link, [Serve]}, restart => temporary},
    {ok, {#{strategy => simple_one_for_one}, [Connection]}}.
