%% Cuts the input of the batch into cases. Throws a text where it breaks the rules.
-module(batch_input).
-export([open/1, cases/1, next/2, finish/1]).

-define(CASES, 1000000000).
-define(NUMBERS, 1000000).
%% Bytes of a number in a vector, with its sign and the space behind it.
-define(NUMBER, 8).
-define(CHUNK, 65536).

-record(input, {file, buffer = <<>>}).

open(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, File} -> #input{file = File};
        {error, Reason} -> throw(io_lib:format("cannot open ~ts: ~ts", [Path, file:format_error(Reason)]))
    end.

%% The number in the first line.
cases(Input) -> count("the number of cases", ?CASES, Input).

%% Case I: how many numbers it says that it has, and its two lines.
next(I, Input) ->
    try
        {N, First} = count("n", ?NUMBERS, Input),
        {FirstLine, Second} = line(N * ?NUMBER, First),
        {SecondLine, Rest} = line(N * ?NUMBER, Second),
        {{N, FirstLine, SecondLine}, Rest}
    catch
        throw:Reason -> throw(io_lib:format("case ~w: ~ts", [I, Reason]))
    end.

finish(#input{buffer = <<>>} = Input) ->
    case more(Input) of
        eof -> ok;
        More -> finish(More)
    end;
finish(_) ->
    throw("the input goes on after its last case").

count(What, Most, Input) ->
    {Line, Rest} = line(20, Input),
    try binary_to_integer(Line) of
        Number when Number >= 0, Number =< Most -> {Number, Rest};
        _ -> no_count(What, Most, Line)
    catch
        error:badarg -> no_count(What, Most, Line)
    end.

no_count(What, Most, Line) ->
    Quoted = io_lib:write_string(binary_to_list(Line)),
    throw(io_lib:format("~ts must be a whole number from 0 to ~w, not ~ts", [What, Most, Quoted])).

%% The line without its newline, and the rest. Memory grows with what was read,
%% not with what the input claims.
line(Most, Input) -> line(Most, 0, Input).

%% There is no newline before Searched.
line(Most, Searched, #input{buffer = Buffer} = Input) ->
    Size = byte_size(Buffer),
    case binary:match(Buffer, <<"\n">>, [{scope, {Searched, Size - Searched}}]) of
        {At, 1} when At =< Most ->
            <<Line:At/binary, $\n, Rest/binary>> = Buffer,
            {Line, Input#input{buffer = Rest}};
        nomatch when Size =< Most ->
            case more(Input) of
                eof -> throw("the input ends in the middle");
                More -> line(Most, Size, More)
            end;
        _ ->
            throw(io_lib:format("a line has more than ~w bytes", [Most]))
    end.

more(#input{file = File, buffer = Buffer} = Input) ->
    case file:read(File, ?CHUNK) of
        {ok, Chunk} -> Input#input{buffer = <<Buffer/binary, Chunk/binary>>};
        eof -> eof;
        {error, Reason} -> throw(["cannot read: ", file:format_error(Reason)])
    end.
