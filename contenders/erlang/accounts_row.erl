%% All accounts in one row of an ETS table: changes of several places of a row are one step, and so is reading it.
-module(accounts_row).
-export([open/1, transfer/4, balances/1, close/1]).

-define(OPENING_BALANCE, 1000).
%% Place 1 of the row is its key.
-define(KEY, accounts).
-define(FIRST, 2).

open(Accounts) ->
    Table = ets:new(?MODULE, [public, {write_concurrency, true}]),
    true = ets:insert(Table, list_to_tuple([?KEY | lists:duplicate(Accounts, ?OPENING_BALANCE)])),
    Table.

transfer(Table, Source, Target, Amount) ->
    _ = ets:update_counter(Table, ?KEY, [{?FIRST + Source, -Amount}, {?FIRST + Target, Amount}]),
    ok.

%% All balances, by their accounts.
balances(Table) ->
    [Row] = ets:lookup(Table, ?KEY),
    [?KEY | Balances] = tuple_to_list(Row),
    maps:from_list(lists:enumerate(0, Balances)).

close(Table) -> ets:delete(Table).
