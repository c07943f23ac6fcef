%% The jobs: a process for each; so many work at one time; the answers
%% come to the mailbox of the first process.
-module(jobs).
-export([main/0]).

-define(MODULUS, 2147483647).
%% The virtual machine allows 262,144 processes unless told otherwise.
-define(MOST, 200000).
-define(BEAT_MS, 10).
%% How often a job is done before all else.
-define(TIMES_ALONE, 5).

main() ->
    % It ends at once: the usual handler would wait for this process.
    ok = os:set_signal(sigterm, default),
    % So that the links mean something: the process that -s gives traps exits.
    _ = process_flag(trap_exit, false),
    Given = settings:given("jobs"),
    _ = settings:whole_number("cores", 1, 1024, 1, Given),
    Jobs = settings:whole_number("jobs", 1, ?MOST, Given),
    Workers = settings:whole_number("workers", 1, 1024, Given),
    Seed = settings:whole_number("seed", 0, 4294967295, 0, Given),
    Kind = list_to_atom(settings:needed("kind", ["sleep", "cpu", "noop"], Given)),
    Work = work(Kind, Given),
    Hold = settings:one_of("hold", ["0", "1"], Given) =:= "1",
    Trace = settings:one_of("trace", ["0", "1"], Given) =:= "1",
    Repeats = settings:whole_number("repeats", 1, 3000, 1, Given),
    Last = alone(Kind, Work, first(Seed, 0)),
    Once = fun(I, Evidence) -> once(Jobs, Seed, Work, Workers, Hold andalso I =:= 1, Trace, Evidence) end,
    {Order, Beats} = lists:foldl(Once, {0, 0}, lists:seq(1, Repeats)),
    say("::result answers=~w order=~w beats=~w alone=~w~n", [Repeats * Jobs, Order, Beats, Last]),
    halt(0).

%% Does all jobs. Returns the order, which goes on from what it was before, and
%% how many beats there have been.
once(Jobs, Seed, Work, Workers, Hold, Trace, {OrderBefore, BeatsBefore}) ->
    Self = self(),
    Places = spawn_link(fun() -> places(lists:seq(0, Workers - 1), queue:new()) end),
    Start = now_ns(),
    % Linked: an error in one ends the program.
    Pids = [spawn_link(fun() -> job(Work, first(Seed, I), Places, Self) end) || I <- lists:seq(0, Jobs - 1)],
    Submitted = now_ns(),
    output:phase("jobs", "submit", Submitted - Start),
    Heart = spawn_link(fun() -> heart(Submitted, 0, 0) end),
    hold(Hold),
    {Order, Spans} = gather(Pids, Trace, OrderBefore, []),
    End = now_ns(),
    output:phase("jobs", "makespan", End - Start),
    Heart ! {stop, Self, End},
    {Beats, Gap} = receive {beats, Heart, Evidence} -> Evidence end,
    Places ! stop,

    output:phase("jobs", "gap", Gap),
    [say("::span unit=~w begin=~w end=~w~n", [Place, Began - Start, Ended - Start]) || {Place, Began, Ended} <- Spans],
    {Order, BeatsBefore + Beats}.

%% Each begins with the answer of the one before. Returns the last.
alone(cpu, Work, X) -> alone_times(?TIMES_ALONE, Work, X);
alone(_, _, X) -> X.

alone_times(0, _, X) ->
    X;
alone_times(Times, Work, X) ->
    Begin = now_ns(),
    Answer = Work(X),
    output:phase("jobs", "alone", now_ns() - Begin),
    alone_times(Times - 1, Work, Answer).

%% The number that job I begins with.
first(Seed, I) -> 1 + (Seed + I) rem (?MODULUS - 1).

%% The work of each job with its first number.
work(Kind, Given) ->
    Duration = settings:whole_number("duration_ms", 0, 3600000, 1000, Given),
    Rounds = settings:whole_number("rounds", 1, 1000000000, 1000000, Given),
    case Kind of
        sleep -> fun(X) -> timer:sleep(Duration), advance(X, 1) end;
        cpu -> fun(X) -> advance(X, Rounds) end;
        noop -> fun(X) -> advance(X, 1) end
    end.

advance(X, 0) -> X;
advance(X, Rounds) -> advance(48271 * X rem ?MODULUS, Rounds - 1).

%% The process of a job.
job(Work, X, Places, Gatherer) ->
    Places ! {take, self()},
    Place = receive {place, Given} -> Given end,
    Begin = now_ns(),
    Value = Work(X),
    Gatherer ! {self(), Value, {Place, Begin, now_ns()}},
    Places ! {free, Place}.

%% The process that has the places: who has got one may work.
places(Free, Waiting) ->
    receive
        {take, Pid} -> hand_out(Free, queue:in(Pid, Waiting));
        {free, Place} -> hand_out([Place | Free], Waiting);
        stop -> ok
    end.

hand_out([Place | Free] = Places, Waiting) ->
    case queue:out(Waiting) of
        {{value, Pid}, Rest} ->
            Pid ! {place, Place},
            places(Free, Rest);
        {empty, _} ->
            places(Places, Waiting)
    end;
hand_out([], Waiting) ->
    places([], Waiting).

%% Receives the answers in the order of the jobs.
gather([Pid | Pids], Trace, Order, Spans) ->
    receive
        {Pid, Value, Span} ->
            gather(Pids, Trace, (31 * Order + Value) rem ?MODULUS, [Span || Trace] ++ Spans)
    end;
gather([], _, Order, Spans) ->
    {Order, lists:reverse(Spans)}.

%% The process with the other work: a beat that is due 10 ms after the one before.
heart(Last, Gap, Beats) ->
    receive
        {stop, From, End} -> From ! {beats, self(), {Beats, max(Gap, End - Last)}}
    after ?BEAT_MS ->
        Now = now_ns(),
        heart(Now, max(Gap, Now - Last), Beats + 1)
    end.

hold(false) ->
    ok;
hold(true) ->
    say("::await name=submitted~n", []),
    io:get_line("").

say(Format, Arguments) -> output:write("jobs", io_lib:format(Format, Arguments)).

now_ns() -> erlang:monotonic_time(nanosecond).
