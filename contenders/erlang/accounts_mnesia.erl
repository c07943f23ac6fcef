%% A table of Mnesia in memory, a record for each account, and a transaction for each transfer. An audit reads the
%% whole table in one.
-module(accounts_mnesia).
-export([open/1, transfer/4, balances/1, close/1]).

-define(OPENING_BALANCE, 1000).

-record(account, {number, balance = ?OPENING_BALANCE}).

open(Accounts) ->
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(account, [{attributes, record_info(fields, account)}]),
    lists:foreach(fun(Number) -> ok = mnesia:dirty_write(#account{number = Number}) end, lists:seq(0, Accounts - 1)),
    account.

transfer(_, Source, Target, Amount) ->
    {atomic, ok} = mnesia:transaction(fun() ->
        % With write locks from the beginning: two that read first would wait for each other.
        ok = add(Source, -Amount),
        add(Target, Amount)
    end),
    ok.

add(Number, Amount) ->
    [Account = #account{balance = Balance}] = mnesia:wread({account, Number}),
    mnesia:write(Account#account{balance = Balance + Amount}).

%% All balances, by their accounts.
balances(Table) ->
    Read = fun() -> mnesia:select(Table, [{#account{number = '$1', balance = '$2'}, [], [{{'$1', '$2'}}]}]) end,
    {atomic, Balances} = mnesia:transaction(Read),
    maps:from_list(Balances).

close(Table) ->
    {atomic, ok} = mnesia:delete_table(Table),
    ok.
