%% The restarts: a process for each unit (restarts_unit), below a supervisor, which starts a new one where one
%% has ended by an error. The process that collects monitors the units, and each tells it when it begins.
-module(restarts).
-export([main/0]).

-behaviour(supervisor).
-export([init/1]).

-define(MODULUS, 2147483647).
-define(FACTOR, 48271).

%% The collector's knowledge of a unit. failed: when the message was sent that made it fail, until it has
%% answered since.
-record(unit, {pid, number, left = 0, folded = 0, sent = 0, failed = none}).
-record(books, {
    pass, messages, failing_below, open, units,
    answers = 0, failures = 0, fresh = 0, answer = [], recovery = [], calm = []
}).

main() ->
    % It ends at once: the usual handler would wait for this process.
    ok = os:set_signal(sigterm, default),
    Given = settings:given("restarts"),
    _ = settings:whole_number("cores", 1, 1024, 1, Given),
    Units = settings:whole_number("units", 1, 100000, Given),
    Messages = settings:whole_number("messages", 2, 1000000, Given),
    Every = settings:whole_number("every", 2, 1000000, Given),
    Seed = settings:whole_number("seed", 0, 4294967295, 0, Given),
    % Reports of crashes would take longer than the restarts.
    ok = logger:set_primary_config(level, none),

    Begin = now_ns(),
    {ok, _} = supervisor:start_link(?MODULE, {Units, self()}),
    Started = lists:foldl(fun(Unit, All) -> All#{Unit => started(Unit, new(Unit, Seed))} end, #{}, numbers(Units)),
    output:phase("restarts", "start", now_ns() - Begin),
    Books = #books{messages = Messages, failing_below = ?MODULUS div Every, units = Started},
    report(lists:foldl(fun pass/2, Books, [warm, failing, calm])),
    halt(0).

numbers(Units) -> lists:seq(0, Units - 1).

new(Unit, Seed) -> #unit{number = 1 + (Seed + Unit) rem (?MODULUS - 1)}.

%% The supervisor.
init({Units, Collector}) ->
    % So many restarts in a second are no reason to give up.
    Flags = #{strategy => one_for_one, intensity => 1000000, period => 1},
    Start = fun(Unit) -> {restarts_unit, start_link, [Unit, Collector]} end,
    {ok, {Flags, [#{id => Unit, start => Start(Unit)} || Unit <- numbers(Units)]}}.

%% The process that collects.

pass(Pass, Books = #books{units = All, messages = Messages}) ->
    Begin = now_ns(),
    Filled = maps:map(fun(_, Unit) -> Unit#unit{left = Messages} end, All),
    % Times of the previous pass do not count.
    Emptied = case Pass of failing -> Books; _ -> Books#books{calm = []} end,
    First = Emptied#books{pass = Pass, open = map_size(All), units = Filled},
    Sent = lists:foldl(fun(Unit, Each) -> send(Unit, maps:get(Unit, Each#books.units), Each) end, First, maps:keys(All)),
    Done = collect(Sent),
    output:phase("restarts", atom_to_list(Pass), now_ns() - Begin),
    Done.

collect(Books = #books{open = 0}) ->
    Books;
collect(Books) ->
    receive
        {answer, Number, Handled, Folded, Born} ->
            collect(answered(Number, maps:get(Number, Books#books.units), Handled, Folded, Born, Books));
        {{'DOWN', Number}, _, process, _, _} ->
            #books{units = All, failures = Failures} = Books,
            #{Number := Unit} = All,
            Failed = started(Number, Unit#unit{failed = Unit#unit.sent}),
            collect(send(Number, Failed, Books#books{failures = Failures + 1}))
    end.

answered(Number, Unit, Handled, Folded, Born, Books) ->
    Now = now_ns(),
    #books{answers = Answers, open = Open, units = All} = Books,
    #unit{left = Left, folded = Before} = Unit,
    Next = Unit#unit{failed = none, folded = (31 * Before + Folded + Handled) rem ?MODULUS},
    Taken = (time(Now, Unit, Born, Books))#books{answers = Answers + 1},
    case Left of
        0 -> Taken#books{open = Open - 1, units = All#{Number := Next}};
        _ -> send(Number, Next, Taken)
    end.

time(Now, #unit{failed = none, sent = Sent}, _, Books = #books{pass = failing, answer = Times}) ->
    Books#books{answer = [Now - Sent | Times]};
time(Now, #unit{failed = none, sent = Sent}, _, Books = #books{calm = Times}) ->
    Books#books{calm = [Now - Sent | Times]};
time(Now, #unit{failed = Failed}, Born, Books = #books{fresh = Fresh, recovery = Times}) ->
    IsFresh = case Born >= Failed of true -> 1; false -> 0 end,
    Books#books{fresh = Fresh + IsFresh, recovery = [Now - Failed | Times]}.

%% Sends the unit its next message.
send(Number, Unit = #unit{pid = Pid, number = X, left = Left, failed = Failed}, Books) ->
    #books{pass = Pass, failing_below = Below, units = All} = Books,
    Next = ?FACTOR * X rem ?MODULUS,
    Fails = Pass =:= failing andalso Next < Below andalso Left > 1 andalso Failed =:= none,
    Sent = now_ns(),
    restarts_unit:send(Pid, Next, Fails),
    Books#books{units = All#{Number := Unit#unit{number = Next, left = Left - 1, sent = Sent}}}.

%% The unit when its process has begun.
started(Number, Unit) ->
    receive
        {began, Number, Pid} ->
            _ = monitor(process, Pid, [{tag, {'DOWN', Number}}]),
            Unit#unit{pid = Pid}
    end.

report(#books{answers = Answers, failures = Failures, fresh = Fresh, units = All} = Books) ->
    Folds = [Unit#unit.folded || {_, Unit} <- lists:sort(maps:to_list(All))],
    Order = lists:foldl(fun(Folded, Order) -> (31 * Order + Folded) rem ?MODULUS end, 0, Folds),
    #books{answer = Answer, recovery = Recovery, calm = Calm} = Books,
    Times = [{"answer", Answer}, {"recovery", Recovery}, {"calm", Calm}],
    output:write(
        "restarts",
        io_lib:format(
            "::result answers=~w failures=~w fresh=~w order=~w~ts~n",
            [Answers, Failures, Fresh, Order, [percentiles(Name, Each) || {Name, Each} <- Times]]
        )
    ).

percentiles(Name, []) ->
    percentiles(Name, [0]);
percentiles(Name, Times) ->
    Sorted = lists:sort(Times),
    % The smallest time that so many percent do not exceed.
    At = fun(Percent) -> lists:nth((length(Sorted) * Percent + 99) div 100, Sorted) end,
    [io_lib:format(" ~ts_~ts_ns=~w", [Name, Level, At(P)]) || {Level, P} <- [{"p50", 50}, {"p99", 99}, {"max", 100}]].

now_ns() -> erlang:monotonic_time(nanosecond).
