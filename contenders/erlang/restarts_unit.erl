%% A unit of the restarts: it counts and folds the numbers that it handled since it began.
-module(restarts_unit).
-export([start_link/2, send/3]).

-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2]).

-define(MODULUS, 2147483647).

start_link(Unit, Collector) ->
    gen_server:start_link(?MODULE, {Unit, Collector}, []).

send(Pid, Number, Fails) ->
    gen_server:cast(Pid, {Number, Fails}).

init({Unit, Collector}) ->
    Collector ! {began, Unit, self()},
    {ok, {Unit, Collector, erlang:monotonic_time(nanosecond), 0, 0}}.

handle_cast({_, true}, _) ->
    error(failure);
handle_cast({Number, false}, {Unit, Collector, Born, Handled, Folded}) ->
    Next = (31 * Folded + Number) rem ?MODULUS,
    Collector ! {answer, Unit, Handled + 1, Next, Born},
    {noreply, {Unit, Collector, Born, Handled + 1, Next}}.

handle_call(_, _, State) ->
    {reply, ok, State}.
