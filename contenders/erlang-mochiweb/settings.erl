%% The key=value arguments. A value that cannot be used ends the program with
%% status 2 and one line; unknown keys are ignored.
-module(settings).
-export([whole_number/4]).

%% The last value that was given for a key, or the default.
whole_number(Key, Least, Most, Default) ->
    Given = [string:split(Argument, "=") || Argument <- init:get_plain_arguments()],
    case [Value || [Name | Value] <- lists:reverse(Given), Name =:= Key] of
        [] -> Default;
        [Value | _] -> checked(Key, lists:append(Value), Least, Most)
    end.

checked(Key, Text, Least, Most) ->
    case re:run(Text, "\\A[0-9]{1,10}\\z") =/= nomatch andalso list_to_integer(Text) of
        Number when is_integer(Number), Number >= Least, Number =< Most ->
            Number;
        _ ->
            Line = "feed: ~ts must be a whole number from ~w to ~w, not ~ts~n",
            io:format(standard_error, Line, [Key, Least, Most, io_lib:write_string(Text)]),
            halt(2)
    end.
