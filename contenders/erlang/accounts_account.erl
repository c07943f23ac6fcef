%% A process that has one account.
-module(accounts_account).
-export([open/1, add/3, tell/2, close/1]).

-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2]).

-define(OPENING_BALANCE, 1000).

open(Number) ->
    {ok, Account} = gen_server:start_link(?MODULE, Number, []),
    Account.

add(Account, Amount, From) -> gen_server:cast(Account, {add, Amount, From}).

tell(Account, From) -> gen_server:cast(Account, {tell, From}).

close(Account) -> gen_server:stop(Account).

init(Number) -> {ok, {Number, ?OPENING_BALANCE}}.

handle_call(_, _, State) -> {noreply, State}.

handle_cast({add, Amount, {Unit, Reference}}, {Number, Balance}) ->
    Unit ! {Reference, added},
    {noreply, {Number, Balance + Amount}};
handle_cast({tell, {Auditor, Reference}}, State = {Number, Balance}) ->
    Auditor ! {Reference, Number, balance, Balance},
    {noreply, State}.
