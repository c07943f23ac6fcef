%% The ring on plain processes: a mailbox each, spawn and receive.
-module(ring).
-export([main/0]).

-define(MODULUS, 2147483647).
-define(MOST, 1000000000).

main() ->
    % So that the links mean something: the process that -s gives traps exits.
    _ = process_flag(trap_exit, false),
    Given = settings:given("ring"),
    Nodes = settings:whole_number("nodes", 2, ?MOST, Given),
    Messages = settings:whole_number("messages", 1, ?MOST, Given),
    Mode = list_to_atom(settings:one_of("mode", ["pipelined", "token"], Given)),
    Print = list_to_atom(settings:one_of("print", ["format", "put"], Given)),
    Line = settings:one_of("line", ["before", "after"], Given),
    Trace = settings:one_of("trace", ["0", "1"], Given) =:= "1" andalso {Print, Line},
    Hold = settings:one_of("hold", ["0", "1"], Given) =:= "1",
    _ = settings:one_of("capacity", ["own", "unbounded"], Given),
    Repeats = settings:whole_number("repeats", 1, 3000, 1, Given),
    Once = fun(I, Evidence) -> once(Nodes, Messages, Mode, Trace, Hold andalso I =:= 1, Evidence) end,
    {Checksum, Order} = lists:foldl(Once, {0, 0}, lists:seq(1, Repeats)),
    io:format("::result checksum=~w order=~w~n", [Checksum, Order]),
    halt(0).

%% Makes a ring and sends all messages through it. Returns the checksum and the
%% order, which go on from those of the rings before.
once(Nodes, Messages, Mode, Trace, Hold, Before) ->
    Start = erlang:monotonic_time(nanosecond),
    First = spawn_ring(Nodes, Mode, Trace, Before),
    Spawned = erlang:monotonic_time(nanosecond),
    io:format("::phase name=spawn ns=~w~n", [Spawned - Start]),
    hold(Hold),

    Relaying = erlang:monotonic_time(nanosecond),
    feed(Mode, First, Messages - 1),
    {Arrived, Evidence} = receive {ring_done, Done} -> Done end,
    _ = [receive printed -> ok end || {_, "after"} <- [Trace], _ <- lists:seq(2, Nodes)],
    io:format("::phase name=relay ns=~w~n", [Arrived - Relaying]),
    Evidence.

%% Spawns the units from the last to the first, so that each knows its
%% successor, and returns the first. Linked: an error in one ends the program.
spawn_ring(Nodes, Mode, Trace, {Checksum, Order}) ->
    Feeder = self(),
    Last = spawn_link(fun() -> last_unit(Nodes, Mode, name(Trace), Feeder, Checksum, Order) end),
    lists:foldl(
        fun(I, Next) -> spawn_link(fun() -> start(Trace, I, Next, Feeder) end) end,
        Last,
        lists:seq(Nodes - 1, 1, -1)
    ).

%% What a unit needs for its trace: none, its name, or its name and that it makes its lines itself.
name(false) -> none;
name({put, _}) -> {put, pid_to_list(self())};
name({format, _}) -> pid_to_list(self()).

%% Message 0, the one that ends the ring, as unit I receives it: the units
%% before have added their numbers.
terminator(I) -> I * (I - 1) div 2.

%% The feeder.
feed(_, _, -1) ->
    ok;
feed(pipelined, First, R) ->
    First ! R,
    feed(pipelined, First, R - 1);
feed(token, First, R) ->
    First ! R,
    receive arrived -> feed(token, First, R - 1) end.

%% Units 1 .. N-1.
start(Trace = {_, "after"}, I, Next, Feeder) ->
    relay_first(I, terminator(I), Next, name(Trace)),
    Feeder ! printed;
start(Trace, I, Next, _) ->
    relay(I, terminator(I), Next, name(Trace)).

relay(I, Terminator, Next, Name) ->
    receive
        Value when Value > Terminator ->
            trace_message(Name, $:, I, Value - Terminator),
            Next ! Value + I,
            relay(I, Terminator, Next, Name);
        Terminator ->
            trace_end(Name, "* Proc: ~s, Seq#: ~w, Msg#: terminate!~n", I),
            Next ! Terminator + I
    end.

%% The same, but a unit sends before it prints, as in the post of 2009.
relay_first(I, Terminator, Next, Name) ->
    receive
        Value when Value > Terminator ->
            Next ! Value + I,
            trace_message(Name, $:, I, Value - Terminator),
            relay_first(I, Terminator, Next, Name);
        Terminator ->
            Next ! Terminator + I,
            trace_end(Name, "* Proc: ~s, Seq#: ~w, Msg#: terminate!~n", I)
    end.

%% Unit N.
last_unit(N, Mode, Name, Feeder, Checksum, Order) ->
    Terminator = terminator(N),
    receive
        Value when is_integer(Value) ->
            NewChecksum = Checksum + Value,
            NewOrder = (31 * Order + Value) rem ?MODULUS,
            case Value > Terminator of
                true ->
                    trace_message(Name, $>, N, Value - Terminator),
                    acknowledge(Mode, Feeder),
                    last_unit(N, Mode, Name, Feeder, NewChecksum, NewOrder);
                false ->
                    trace_end(Name, "@ Proc: ~s, Seq#: ~w, ring terminated.~n", N),
                    acknowledge(Mode, Feeder),
                    Arrived = erlang:monotonic_time(nanosecond),
                    Feeder ! {ring_done, {Arrived, {NewChecksum, NewOrder}}}
            end
    end.

%% Without a list of values: it would be made for each message, traced or not.
trace_message(none, _, _, _) -> ok;
trace_message({put, Name}, Sign, I, R) ->
    io:put_chars([Sign, " Proc: ", Name, ", Seq#: ", integer_to_binary(I), ", Msg#: ", integer_to_binary(R), " ..\n"]);
trace_message(Name, Sign, I, R) -> io:format("~c Proc: ~s, Seq#: ~w, Msg#: ~w ..~n", [Sign, Name, I, R]).

trace_end(none, _, _) -> ok;
trace_end({put, Name}, Format, I) -> trace_end(Name, Format, I);
trace_end(Name, Format, I) -> io:format(Format, [Name, I]).

acknowledge(token, Feeder) -> Feeder ! arrived;
acknowledge(pipelined, _) -> ok.

hold(false) ->
    ok;
hold(true) ->
    io:format("::await name=spawned~n"),
    io:get_line("").
