%% The smallest scalar product. Throws a text where a case breaks the rules.
-module(batch_product).
-export([smallest/1]).

%% How far from 0 a number may be.
-define(LARGEST, 100000).

smallest({N, FirstLine, SecondLine}) ->
    First = lists:sort(vector(FirstLine, N)),
    Second = lists:reverse(lists:sort(vector(SecondLine, N))),
    product(First, Second, 0).

product([A | First], [B | Second], Sum) -> product(First, Second, Sum + A * B);
product([], [], Sum) -> Sum.

%% The N numbers of a line, in any order.
vector(<<>>, 0) -> [];
vector(Line, N) -> number(Line, N, []).

%% Left: how many numbers must still come.
number(_, 0, _) -> throw("a vector has more numbers than n");
number(<<$-, Rest/binary>>, Left, Numbers) -> first_digit(Rest, -1, Left, Numbers);
number(Rest, Left, Numbers) -> first_digit(Rest, 1, Left, Numbers).

first_digit(<<Digit, Rest/binary>>, Sign, Left, Numbers) when Digit >= $0, Digit =< $9 ->
    digits(Rest, Digit - $0, Sign, Left, Numbers);
first_digit(_, _, _, _) ->
    throw("where a number should be there is none").

digits(_, Value, _, _, _) when Value > ?LARGEST ->
    throw(io_lib:format("a number is not from ~w to ~w", [-?LARGEST, ?LARGEST]));
digits(<<Digit, Rest/binary>>, Value, Sign, Left, Numbers) when Digit >= $0, Digit =< $9 ->
    digits(Rest, 10 * Value + Digit - $0, Sign, Left, Numbers);
digits(<<" ", Rest/binary>>, Value, Sign, Left, Numbers) ->
    number(Rest, Left - 1, [Sign * Value | Numbers]);
digits(<<>>, Value, Sign, 1, Numbers) ->
    [Sign * Value | Numbers];
digits(<<>>, _, _, _, _) ->
    throw("a vector has fewer numbers than n");
digits(_, _, _, _, _) ->
    throw("where a number should be there is something else").
