%% The key=value arguments. A value that cannot be used ends the program with
%% status 2 and one line; unknown keys are ignored.
-module(settings).
-export([whole_number/4, host/0]).

whole_number(Key, Least, Most, Default) ->
    case last(Key) of
        none -> Default;
        Text -> checked(Key, Text, Least, Most)
    end.

%% The IPv4 address where a server listens.
host() ->
    case last("host") of
        none ->
            {127, 0, 0, 1};
        Text ->
            case inet:parse_ipv4strict_address(Text) of
                {ok, Host} -> Host;
                {error, einval} -> refuse("host", "an IPv4 address", Text)
            end
    end.

%% The last value that was given for a key.
last(Key) ->
    Given = [string:split(Argument, "=") || Argument <- init:get_plain_arguments()],
    case [Value || [Name | Value] <- lists:reverse(Given), Name =:= Key] of
        [] -> none;
        [Value | _] -> lists:append(Value)
    end.

checked(Key, Text, Least, Most) ->
    case re:run(Text, "\\A[0-9]{1,10}\\z") =/= nomatch andalso list_to_integer(Text) of
        Number when is_integer(Number), Number >= Least, Number =< Most ->
            Number;
        _ ->
            refuse(Key, io_lib:format("a whole number from ~w to ~w", [Least, Most]), Text)
    end.

refuse(Key, Wanted, Text) ->
    io:format(standard_error, "feed: ~ts must be ~ts, not ~ts~n", [Key, Wanted, io_lib:write_string(Text)]),
    halt(2).
