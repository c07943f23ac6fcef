%% A process for each account (accounts_account), and this one, which puts transfers and audits in an order. It hands
%% each on to the accounts that it is about. Messages from one process to another keep their order, so every account
%% gets an audit after the transfers before it and before those that come later.
-module(accounts_coordinator).
-export([open/1, transfer/4, balances/1, close/1]).

-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2, terminate/2]).

open(Accounts) ->
    {ok, Coordinator} = gen_server:start_link(?MODULE, Accounts, []),
    Coordinator.

%% Returns when both accounts have changed.
transfer(Coordinator, Source, Target, Amount) ->
    Reference = make_ref(),
    ok = gen_server:cast(Coordinator, {transfer, Source, Target, Amount, {self(), Reference}}),
    receive {Reference, added} -> ok end,
    receive {Reference, added} -> ok end.

%% All balances, by their accounts.
balances(Coordinator) ->
    Reference = make_ref(),
    ok = gen_server:cast(Coordinator, {balances, {self(), Reference}}),
    receive {Reference, asked, Accounts} -> gathered(Reference, Accounts, #{}) end.

gathered(_, Accounts, Balances) when map_size(Balances) =:= Accounts ->
    Balances;
gathered(Reference, Accounts, Balances) ->
    receive {Reference, Account, balance, Balance} -> gathered(Reference, Accounts, Balances#{Account => Balance}) end.

close(Coordinator) -> gen_server:stop(Coordinator).

init(Accounts) -> {ok, list_to_tuple([accounts_account:open(Account) || Account <- lists:seq(0, Accounts - 1)])}.

handle_call(_, _, Accounts) -> {noreply, Accounts}.

handle_cast({transfer, Source, Target, Amount, From}, Accounts) ->
    ok = accounts_account:add(element(1 + Source, Accounts), -Amount, From),
    ok = accounts_account:add(element(1 + Target, Accounts), Amount, From),
    {noreply, Accounts};
handle_cast({balances, From = {Auditor, Reference}}, Accounts) ->
    Auditor ! {Reference, asked, tuple_size(Accounts)},
    lists:foreach(fun(Account) -> ok = accounts_account:tell(Account, From) end, tuple_to_list(Accounts)),
    {noreply, Accounts}.

terminate(_, Accounts) -> lists:foreach(fun accounts_account:close/1, tuple_to_list(Accounts)).
