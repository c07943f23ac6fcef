%% A process that accepts connections and gives each to a process of its own.
-module(acceptor).
-export([start_link/2, init/2]).

%% Start(Socket) gives {ok, Pid}, where connection:init/2 runs, or {error, Reason}.
start_link(Listener, Start) ->
    {ok, proc_lib:spawn_link(?MODULE, init, [Listener, Start])}.

init(Listener, Start) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            case Start(Socket) of
                {ok, Connection} -> connection:hand_over(Socket, Connection);
                {error, _} -> gen_tcp:close(Socket)
            end;
        {error, _} ->
            % No descriptor is free, not even for loading the module timer: some
            % connection may end.
            receive after 10 -> ok end
    end,
    init(Listener, Start).
