%% The batch: a process for each case, the writer's mailbox for the answers.
-module(batch).
-export([main/0]).

%% Reading is ahead of writing by so many bytes at most. A case counts for its
%% text and for what a small process takes.
-define(AHEAD, 8388608).
-define(PROCESS, 4096).
%% Answers that are written at one time.
-define(LINES, 1000).

-record(reader, {input, writer, most_of_one, under_way = 0, waited = 0}).
-record(writer, {
    reader, cases = unknown, next = 1, early = #{}, lines = [], compute = 0, read = 0, wait_ahead = 0, wait_empty = 0
}).

main() ->
    % It ends at once: the usual handler would wait for this process.
    ok = os:set_signal(sigterm, default),
    % So that the links mean something: the process that -s gives traps exits.
    _ = process_flag(trap_exit, false),
    Given = settings:given("batch"),
    Cores = settings:whole_number("cores", 1, 1024, 1, Given),
    Path = settings:filled("input", Given),
    % Either is the mailbox.
    _ = settings:one_of("capacity", ["own", "unbounded"], Given),
    Repeats = settings:whole_number("repeats", 1, 3000, 1, Given),
    Cases = lists:sum([once(Path, Cores) || _ <- lists:seq(1, Repeats)]),
    output:write("batch", io_lib:format("::result cases=~w~n", [Cases])),
    halt(0).

%% Reads, computes and writes. Returns how many cases there were.
once(Path, Cores) ->
    Begin = now_ns(),
    Self = self(),
    Reader = spawn_link(fun() -> read(Path, Cores, Self) end),
    Writer = write(#writer{reader = Reader}),
    report(Writer, Begin),
    Writer#writer.cases.

%% The process that reads. However large the cases are, each core can have one.
read(Path, Cores, Writer) ->
    Begin = now_ns(),
    try
        {Cases, Input} = batch_input:cases(batch_input:open(Path)),
        Reader = start(1, Cases, #reader{input = Input, writer = Writer, most_of_one = ?AHEAD div Cores}),
        Waited = Reader#reader.waited,
        Writer ! {read, Cases, now_ns() - Begin - Waited, Waited}
    catch
        throw:Reason -> Writer ! {bad, Reason}
    end.

start(I, Cases, #reader{input = Input} = Reader) when I > Cases ->
    ok = batch_input:finish(Input),
    Reader;
start(I, Cases, #reader{input = Input, writer = Writer, most_of_one = MostOfOne} = Reader) ->
    {{_, First, Second} = Case, Rest} = batch_input:next(I, Input),
    Bytes = min(?PROCESS + byte_size(First) + byte_size(Second), MostOfOne),
    Ready = wait_ahead(Bytes, Reader),
    % Linked: an error in one ends the program.
    spawn_link(fun() -> unit(I, Case, Bytes, Writer) end),
    start(I + 1, Cases, Ready#reader{input = Rest, under_way = Ready#reader.under_way + Bytes}).

wait_ahead(Bytes, #reader{under_way = UnderWay} = Reader) when UnderWay + Bytes =< ?AHEAD ->
    Reader;
wait_ahead(Bytes, #reader{under_way = UnderWay, waited = Waited} = Reader) ->
    Waiting = now_ns(),
    receive
        {written, Written} ->
            wait_ahead(Bytes, Reader#reader{under_way = UnderWay - Written, waited = Waited + now_ns() - Waiting})
    end.

%% The process of a case.
unit(I, Case, Bytes, Writer) ->
    Begin = now_ns(),
    try batch_product:smallest(Case) of
        Product -> Writer ! {answer, I, Product, Bytes, now_ns() - Begin}
    catch
        throw:Reason -> Writer ! {bad, io_lib:format("case ~w: ~ts", [I, Reason])}
    end.

%% The process that writes: the first of the program.
write(#writer{cases = Cases, next = Next} = Writer) when is_integer(Cases), Next > Cases ->
    flush(Writer);
write(#writer{wait_empty = Waited} = Writer) ->
    Waiting = now_ns(),
    receive
        Message -> write(take(Message, Writer#writer{wait_empty = Waited + now_ns() - Waiting}))
    end.

take({answer, I, Product, Bytes, Time}, #writer{early = Early, compute = Compute} = Writer) ->
    in_order(Writer#writer{early = Early#{I => {Product, Bytes}}, compute = Compute + Time});
take({read, Cases, Read, Waited}, Writer) ->
    Writer#writer{cases = Cases, read = Read, wait_ahead = Waited};
take({bad, Reason}, _) ->
    output:fail("batch", 2, Reason).

%% Takes the answers whose turn it is.
in_order(#writer{reader = Reader, next = Next, early = Early, lines = Lines} = Writer) ->
    case maps:take(Next, Early) of
        {{Product, Bytes}, Rest} ->
            Reader ! {written, Bytes},
            Line = ["Case #", integer_to_binary(Next), ": ", integer_to_binary(Product), $\n],
            in_order(flush_often(Writer#writer{next = Next + 1, early = Rest, lines = [Line | Lines]}));
        error ->
            Writer
    end.

flush_often(#writer{next = Next} = Writer) when Next rem ?LINES =:= 0 -> flush(Writer);
flush_often(Writer) -> Writer.

flush(#writer{lines = Lines} = Writer) ->
    output:write("batch", lists:reverse(Lines)),
    Writer#writer{lines = []}.

report(#writer{wait_empty = WaitEmpty} = Writer, Begin) ->
    Work = now_ns() - Begin,
    Write = Work - WaitEmpty,
    output:phase("batch", "work", Work),
    output:phase("batch", "read", Writer#writer.read),
    output:phase("batch", "compute", Writer#writer.compute),
    output:phase("batch", "write", Write),
    output:phase("batch", "wait_ahead", Writer#writer.wait_ahead),
    output:phase("batch", "wait_empty", WaitEmpty).

now_ns() -> erlang:monotonic_time(nanosecond).
