%% accounts_erlang ACCOUNTS UNITS TRANSFERS EVERY: a gen_server has all accounts; units call it for transfers, and now
%% and then ask a process for their sum. Prints the nanoseconds it took and what the balances come to.
-module(accounts_erlang).
-export([main/0, init/1, handle_call/3, handle_cast/2]).
-behaviour(gen_server).

-define(MODULUS, 2147483647).

main() ->
    [Accounts, Units, Transfers, Every] = [list_to_integer(Word) || Word <- init:get_plain_arguments()],
    {ok, Bank} = gen_server:start_link(?MODULE, Accounts, []),
    Begin = erlang:monotonic_time(nanosecond),
    Summing = spawn_link(fun() -> sum(Bank) end),
    Main = self(),
    Pids = [
        spawn_link(fun() ->
            ok = work(Transfers, 1 + Unit rem (?MODULUS - 1), Accounts, Every, Bank, Summing),
            Main ! {self(), ended}
        end)
     || Unit <- lists:seq(0, Units - 1)
    ],
    lists:foreach(fun(Pid) -> receive {Pid, ended} -> ok end end, Pids),
    Elapsed = erlang:monotonic_time(nanosecond) - Begin,
    Balances = gen_server:call(Bank, balances),
    Fold = fun(Account, Sum) ->
        (31 * Sum + (maps:get(Account, Balances) rem ?MODULUS + ?MODULUS) rem ?MODULUS) rem ?MODULUS
    end,
    io:format("~w ~w~n", [Elapsed, lists:foldl(Fold, 0, lists:seq(0, Accounts - 1))]),
    halt(0).

work(0, _, _, _, _, _) ->
    ok;
work(Left, X, Accounts, Every, Bank, Summing) ->
    X1 = 48271 * X rem ?MODULUS,
    X2 = 48271 * X1 rem ?MODULUS,
    X3 = 48271 * X2 rem ?MODULUS,
    Source = X2 rem Accounts,
    Target = case X3 rem (Accounts - 1) of Other when Other >= Source -> Other + 1; Other -> Other end,
    ok = gen_server:call(Bank, {transfer, Source, Target, 1 + X1 rem 1000}, infinity),
    case (Left - 1) rem Every of
        0 ->
            Total = Accounts * 1000,
            Reference = make_ref(),
            Summing ! {self(), Reference},
            receive {Reference, Total} -> ok end;
        _ ->
            ok
    end,
    work(Left - 1, X3, Accounts, Every, Bank, Summing).

sum(Bank) ->
    receive
        {From, Reference} ->
            From ! {Reference, lists:sum(maps:values(gen_server:call(Bank, balances, infinity)))},
            sum(Bank)
    end.

init(Accounts) -> {ok, maps:from_keys(lists:seq(0, Accounts - 1), 1000)}.

handle_call({transfer, Source, Target, Amount}, _, Balances) ->
    #{Source := From, Target := To} = Balances,
    {reply, ok, Balances#{Source := From - Amount, Target := To + Amount}};
handle_call(balances, _, Balances) ->
    {reply, Balances, Balances}.

handle_cast(_, Balances) -> {noreply, Balances}.
