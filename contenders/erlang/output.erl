%% How batch and jobs write, and how they end. Program is their name.
-module(output).
-export([write/2, phase/3, fail/3]).

%% Ends the program when its reader has gone.
write(Program, Characters) ->
    try
        io:put_chars(Characters)
    catch
        error:_ -> fail(Program, 1, "cannot write to stdout")
    end.

phase(Program, Name, Time) ->
    write(Program, io_lib:format("::phase name=~ts ns=~w~n", [Name, Time])).

%% Ends the program with a line on stderr.
fail(Program, Status, Reason) ->
    io:format(standard_error, "~ts: ~ts~n", [Program, Reason]),
    halt(Status).
