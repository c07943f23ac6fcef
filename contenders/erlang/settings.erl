%% The key=value arguments. A value that cannot be used ends the program with
%% status 2 and one line; unknown keys are ignored.
-module(settings).
-export([given/1, whole_number/4, whole_number/5, one_of/3, needed/3, filled/2, urls/3, host/1]).

%% The arguments, for the program of that name.
given(Program) ->
    {Program, maps:from_list([split(Argument) || Argument <- init:get_plain_arguments()])}.

split(Argument) ->
    case string:split(Argument, "=") of
        [Key, Value] -> {Key, Value};
        [Key] -> {Key, ""}
    end.

whole_number(Key, Least, Most, Given) ->
    Text = text(Key, "", Given),
    case number(Text) of
        Number when is_integer(Number), Number >= Least, Number =< Most ->
            Number;
        _ ->
            refuse(Key, io_lib:format("a whole number from ~w to ~w", [Least, Most]), Given)
    end.

%% With a default for a key that is not there.
whole_number(Key, Least, Most, Default, {_, Values} = Given) ->
    case maps:is_key(Key, Values) of
        true -> whole_number(Key, Least, Most, Given);
        false -> Default
    end.

%% The first choice is the default.
one_of(Key, [Default | _] = Choices, Given) ->
    choice(text(Key, Default, Given), Key, Choices, Given).

needed(Key, Choices, Given) ->
    choice(text(Key, "", Given), Key, Choices, Given).

%% Any text but none.
filled(Key, Given) ->
    case text(Key, "", Given) of
        "" -> refuse(Key, "given", Given);
        Text -> Text
    end.

%% The IPv4 address where a server listens.
host({_, Values} = Given) ->
    case inet:parse_ipv4strict_address(maps:get("host", Values, "127.0.0.1")) of
        {ok, Host} -> Host;
        {error, einval} -> refuse("host", "an IPv4 address", Given)
    end.

%% So many http://127.0.0.1:PORT/, as {Port, Target}.
urls(Key, Count, Given) ->
    Urls = [url(Url) || Url <- string:split(text(Key, "", Given), ",", all)],
    case length(Urls) =:= Count andalso not lists:member(unusable, Urls) of
        true -> Urls;
        false -> refuse(Key, io_lib:format("~w of http://127.0.0.1:PORT/, with commas between them", [Count]), Given)
    end.

url(Url) ->
    Pattern = "\\Ahttp://127\\.0\\.0\\.1:([0-9]{1,5})(/[!-~]*)\\z",
    case re:run(Url, Pattern, [{capture, all_but_first, list}]) of
        {match, [Port, Target]} -> in_range(list_to_integer(Port), Target);
        nomatch -> unusable
    end.

in_range(Port, Target) when Port >= 1, Port =< 65535 -> {Port, Target};
in_range(_, _) -> unusable.

text(Key, Default, {_, Values}) -> maps:get(Key, Values, Default).

choice(Text, Key, Choices, Given) ->
    case lists:member(Text, Choices) of
        true -> Text;
        false -> refuse(Key, lists:join(" or ", Choices), Given)
    end.

number(Text) ->
    re:run(Text, "\\A[0-9]{1,10}\\z") =/= nomatch andalso list_to_integer(Text).

refuse(Key, Wanted, {Program, _} = Given) ->
    Quoted = io_lib:write_string(text(Key, "", Given)),
    io:format(standard_error, "~ts: ~ts must be ~ts, not ~ts~n", [Program, Key, Wanted, Quoted]),
    halt(2).
