%% The accounts: a process for each unit and each auditor, and one (accounts_bank) that has all accounts; with
%% sharing=coordinator each has a process of its own (accounts_coordinator), with sharing=ets they are in a row of ETS
%% (accounts_row), and with sharing=mnesia in a table of Mnesia (accounts_mnesia).
-module(accounts).
-export([main/0]).

-define(MODULUS, 2147483647).
-define(FACTOR, 48271).
-define(OPENING_BALANCE, 1000).
%% A unit reads the clock before and after one of so many transfers.
-define(TIMED, 16).

-record(problem, {accounts, units, transfers, auditors, every, hot, seed, module}).
%% Of all repeats, but for what units and auditors saw in the last.
-record(books, {folded = 0, transfers = 0, audits = 0, wrong = 0, seen = [], times = []}).

main() ->
    % It ends at once: the usual handler would wait for this process.
    ok = os:set_signal(sigterm, default),
    Given = settings:given("accounts"),
    _ = settings:whole_number("cores", 1, 1024, 1, Given),
    Problem = #problem{
        accounts = settings:whole_number("accounts", 2, 100000, Given),
        units = settings:whole_number("units", 1, 10000, Given),
        transfers = settings:whole_number("transfers", 1, 1000000, Given),
        auditors = settings:whole_number("auditors", 1, 1000, Given),
        every = settings:whole_number("every", 1, 1000000, Given),
        hot = settings:whole_number("hot", 0, 100, 0, Given),
        seed = settings:whole_number("seed", 0, 4294967295, 0, Given),
        module = case settings:one_of("sharing", ["owner", "coordinator", "ets", "mnesia"], Given) of
            "owner" -> accounts_bank;
            "coordinator" -> accounts_coordinator;
            "ets" -> accounts_row;
            "mnesia" -> accounts_mnesia
        end
    },
    Hold = settings:one_of("hold", ["0", "1"], Given) =:= "1",
    Repeats = settings:whole_number("repeats", 1, 3000, 1, Given),
    Once = fun(Time, Books) -> once(Problem, Hold andalso Time =:= 1, Books) end,
    report(lists:foldl(Once, #books{}, lists:seq(1, Repeats))),
    halt(0).

once(Problem = #problem{accounts = Accounts, module = Module}, Hold, Books) ->
    Bank = {Module, Module:open(Accounts)},
    case Hold of
        true ->
            output:write("accounts", "::await name=opened\n"),
            io:get_line("");
        false ->
            ok
    end,
    Begin = now_ns(),
    % The transfers counted, for all to read.
    Counted = counters:new(1, [atomics]),
    Auditors = [spawned(fun() -> audit(Bank, Accounts, Counted, none) end) || _ <- numbers(Problem#problem.auditors)],
    Asked = list_to_tuple(Auditors),
    Units = [
        spawned(fun() -> work(Unit, Problem, Bank, Asked, Counted) end)
     || Unit <- numbers(Problem#problem.units)
    ],
    Worked = [joined(Unit) || Unit <- Units],
    _ = [Pid ! ended || Pid <- Auditors],
    Seen = [joined(Auditor) || Auditor <- Auditors],
    output:phase("accounts", "transfer", now_ns() - Begin),
    Balances = balances(Bank),
    ok = close(Bank),
    Fold = fun(Account, Folded) ->
        (31 * Folded + (maps:get(Account, Balances) rem ?MODULUS + ?MODULUS) rem ?MODULUS) rem ?MODULUS
    end,
    Books#books{
        folded = lists:foldl(Fold, Books#books.folded, numbers(Accounts)),
        transfers = Books#books.transfers + lists:sum([Made || {Made, _, _} <- Worked]),
        audits = Books#books.audits + lists:sum([Audits || {Audits, _, _, _} <- Seen]),
        wrong = Books#books.wrong + lists:sum([Wrong || {_, Wrong, _, _} <- Seen]),
        seen = Seen,
        times = [
            {"transfer", lists:append([Times || {_, Times, _} <- Worked])},
            {"audit", lists:append([Times || {_, _, Times} <- Worked])}
        ]
    }.

numbers(Count) -> lists:seq(0, Count - 1).

%% A process whose value `joined` waits for.
spawned(Function) ->
    Main = self(),
    Pid = spawn_link(fun() -> Main ! {self(), Function()} end),
    Pid.

joined(Pid) ->
    receive
        {Pid, Value} -> Value
    end.

%% Adds up all accounts for each unit that asks. Seen: how many audits, how many of them with a wrong sum, and the
%% transfers counted at the first and at the last.
audit(Bank, Accounts, Counted, Seen) ->
    receive
        {audit, From, Reference} ->
            Total = lists:sum(maps:values(balances(Bank))),
            Wrong = case Total =:= Accounts * ?OPENING_BALANCE of true -> 0; false -> 1 end,
            Now = counters:get(Counted, 1),
            Next = case Seen of
                none -> {1, Wrong, Now, Now};
                {Audits, Before, First, _} -> {Audits + 1, Before + Wrong, First, Now}
            end,
            From ! {Reference, Total},
            audit(Bank, Accounts, Counted, Next);
        ended ->
            case Seen of none -> {0, 0, 0, 0}; _ -> Seen end
    end.

%% A unit makes its transfers. After every so many of them it waits for an audit.
work(Unit, Problem, Bank, Auditors, Counted) ->
    Seed = 1 + (Problem#problem.seed + Unit) rem (?MODULUS - 1),
    work(0, Seed, Unit, Problem, Bank, Auditors, Counted, [], []).

work(Made, _, _, #problem{transfers = Made}, _, _, _, Times, Audits) ->
    {Made, Times, Audits};
work(Made, X, Turn, Problem, Bank, Auditors, Counted, Times, Audits) ->
    #problem{accounts = Accounts, every = Every, hot = Hot} = Problem,
    X1 = ?FACTOR * X rem ?MODULUS,
    X2 = ?FACTOR * X1 rem ?MODULUS,
    X3 = ?FACTOR * X2 rem ?MODULUS,
    Source = case X1 div 1000 rem 100 < Hot of true -> 0; false -> X2 rem Accounts end,
    Target = case X3 rem (Accounts - 1) of Other when Other >= Source -> Other + 1; Other -> Other end,
    Timed = timed(Made rem ?TIMED, Bank, Source, Target, 1 + X1 rem 1000, Times),
    case (Made + 1) rem Every of
        0 ->
            counters:add(Counted, 1, Every),
            Begin = now_ns(),
            Reference = make_ref(),
            element(1 + Turn rem tuple_size(Auditors), Auditors) ! {audit, self(), Reference},
            receive {Reference, _} -> ok end,
            Taken = [now_ns() - Begin | Audits],
            work(Made + 1, X3, Turn + 1, Problem, Bank, Auditors, Counted, Timed, Taken);
        _ ->
            work(Made + 1, X3, Turn, Problem, Bank, Auditors, Counted, Timed, Audits)
    end.

timed(0, Bank, Source, Target, Amount, Times) ->
    Begin = now_ns(),
    ok = transfer(Bank, Source, Target, Amount),
    [now_ns() - Begin | Times];
timed(_, Bank, Source, Target, Amount, Times) ->
    ok = transfer(Bank, Source, Target, Amount),
    Times.

report(#books{folded = Folded, transfers = Made, audits = Audits, wrong = Wrong, seen = Seen, times = Times}) ->
    First = lists:join(",", [integer_to_list(Each) || {_, _, Each, _} <- Seen]),
    Last = lists:join(",", [integer_to_list(Each) || {_, _, _, Each} <- Seen]),
    output:write(
        "accounts",
        io_lib:format(
            "::result balances=~w transfers=~w audits=~w wrong=~w first=~ts last=~ts~ts~n",
            [Folded, Made, Audits, Wrong, First, Last, [percentiles(Name, Each) || {Name, Each} <- Times]]
        )
    ).

percentiles(Name, []) ->
    percentiles(Name, [0]);
percentiles(Name, Times) ->
    Sorted = list_to_tuple(lists:sort(Times)),
    % The smallest time that so many percent do not exceed.
    At = fun(Percent) -> element((tuple_size(Sorted) * Percent + 99) div 100, Sorted) end,
    [io_lib:format(" ~ts_~ts_ns=~w", [Name, Level, At(P)]) || {Level, P} <- [{"p50", 50}, {"p99", 99}, {"max", 100}]].

transfer({Module, Bank}, Source, Target, Amount) -> Module:transfer(Bank, Source, Target, Amount).

balances({Module, Bank}) -> Module:balances(Bank).

close({Module, Bank}) ->
    _ = Module:close(Bank),
    ok.

now_ns() -> erlang:monotonic_time(nanosecond).
