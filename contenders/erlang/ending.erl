%% The end of a server: SIGTERM, or the end of stdin.
-module(ending).
-behaviour(gen_event).
-export([handle_signals/0, wait_for_the_end_of_stdin/0]).
-export([init/1, handle_event/2, handle_call/2]).

%% The usual handler says something and takes its time.
handle_signals() ->
    gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}).

wait_for_the_end_of_stdin() ->
    case io:get_line("") of
        Line when is_list(Line) -> wait_for_the_end_of_stdin();
        _ -> the_end()
    end.

%% Without a flush: it would wait for clients that do not read.
the_end() -> halt(0, [{flush, false}]).

init(_) -> {ok, []}.

handle_event(sigterm, _) -> the_end();
handle_event(_, State) -> {ok, State}.

handle_call(_, State) -> {ok, ok, State}.
