%% The process that alone has the accounts. Others call it, and wait until it has answered.
-module(accounts_bank).
-export([open/1, transfer/4, balances/1, close/1]).

-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2]).

-define(OPENING_BALANCE, 1000).

open(Accounts) ->
    {ok, Bank} = gen_server:start_link(?MODULE, Accounts, []),
    Bank.

transfer(Bank, Source, Target, Amount) -> gen_server:call(Bank, {transfer, Source, Target, Amount}, infinity).

%% All balances, by their accounts.
balances(Bank) -> gen_server:call(Bank, balances, infinity).

close(Bank) -> gen_server:stop(Bank).

init(Accounts) -> {ok, maps:from_keys(lists:seq(0, Accounts - 1), ?OPENING_BALANCE)}.

handle_call({transfer, Source, Target, Amount}, _, Balances) ->
    #{Source := From, Target := To} = Balances,
    {reply, ok, Balances#{Source := From - Amount, Target := To + Amount}};
handle_call(balances, _, Balances) ->
    {reply, Balances, Balances}.

handle_cast(_, Balances) -> {noreply, Balances}.
