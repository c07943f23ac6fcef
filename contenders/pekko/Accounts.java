import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.StashBuffer;

/**
 * The accounts: an actor for each unit and each auditor, and one that has all accounts; with sharing=coordinator an
 * actor for each account, and one that puts transfers and audits in an order.
 */
final class Accounts {
    private static final long FACTOR = 48271;
    private static final long OPENING_BALANCE = 1000;
    /** A unit reads the clock before and after one of so many transfers. */
    private static final int TIMED = 16;

    /** What the actor that has the accounts, or the coordinator, is asked for. */
    private sealed interface Request permits Transfer, Balances, Close {}

    private record Transfer(int source, int target, long amount, ActorRef<Done> unit) implements Request {}

    private record Balances(ActorRef<Audit> auditor) implements Request {}

    private record Close() implements Request {}

    /** The transfer or the audit that the unit waits for is done. */
    private enum Done {
        DONE
    }

    /** What an auditor receives. */
    private sealed interface Audit permits Question, Snapshot, Balance, End {}

    private record Question(ActorRef<Done> unit) implements Audit {}

    private record Snapshot(long[] balances) implements Audit {}

    /** A part of a snapshot, from an account. */
    private record Balance(int account, long balance) implements Audit {}

    private record End() implements Audit {}

    /** What the actor of an account is asked for. */
    private sealed interface Order permits Add, Tell {}

    private record Add(long amount, ActorRef<Done> unit) implements Order {}

    private record Tell(ActorRef<Audit> auditor) implements Order {}

    /** One repeat: `opened` is complete when the accounts are there; units begin when `begin` is told. */
    private record Build(CompletableFuture<ActorRef<Request>> opened) implements Command {}

    private record Begin(
            ActorRef<Request> bank, List<CompletableFuture<Unit>> working, List<CompletableFuture<Auditor>> auditing,
            CompletableFuture<List<ActorRef<Audit>>> auditors) implements Command {}

    /** The final balances, when all units have ended. */
    private record Read(ActorRef<Request> bank, CompletableFuture<long[]> balances) implements Command {}

    private sealed interface Command permits Build, Begin, Read {}

    private final int accounts;
    private final int units;
    private final int transfers;
    private final int auditors;
    private final int every;
    private final int hot;
    private final long seed;
    private final boolean isCoordinated;
    private long folded;
    private long made;
    private long audits;
    private long wrong;

    private Accounts(Settings settings) {
        accounts = (int) settings.wholeNumber("accounts", 2, 100_000);
        units = (int) settings.wholeNumber("units", 1, 10_000);
        transfers = (int) settings.wholeNumber("transfers", 1, 1_000_000);
        auditors = (int) settings.wholeNumber("auditors", 1, 1000);
        every = (int) settings.wholeNumber("every", 1, 1_000_000);
        hot = (int) settings.wholeNumber("hot", 0, 100, 0);
        seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        isCoordinated = settings.oneOf("sharing", "owner", "coordinator").equals("coordinator");
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var all = new Accounts(settings);
        var hold = settings.flag("hold");
        var repeats = settings.repeats();
        var system = ActorSystem.create(all.guardian(), "accounts", Protocol.config(""));
        for (int time = 1; time <= repeats; time++) {
            all.once(system, hold && time == 1, time == repeats);
        }
        system.terminate();
    }

    private void once(ActorRef<Command> guardian, boolean hold, boolean isLast) throws Exception {
        var opened = new CompletableFuture<ActorRef<Request>>();
        guardian.tell(new Build(opened));
        var bank = opened.get();
        if (hold) {
            Protocol.report("::await name=opened");
            Protocol.awaitLine();
        }
        var beginNs = System.nanoTime();
        var begin = new Begin(bank, new ArrayList<>(), new ArrayList<>(), new CompletableFuture<>());
        for (int i = 0; i < units; i++) {
            begin.working.add(new CompletableFuture<>());
        }
        for (int i = 0; i < auditors; i++) {
            begin.auditing.add(new CompletableFuture<>());
        }
        guardian.tell(begin);
        var working = new ArrayList<Unit>();
        for (var unit : begin.working) {
            working.add(unit.get());
        }
        begin.auditors.get().forEach(auditor -> auditor.tell(new End()));
        var auditing = new ArrayList<Auditor>();
        for (var auditor : begin.auditing) {
            auditing.add(auditor.get());
        }
        Protocol.reportPhase("transfer", System.nanoTime() - beginNs);
        var balances = new CompletableFuture<long[]>();
        guardian.tell(new Read(bank, balances));
        for (var balance : balances.get()) {
            folded = (31 * folded + Math.floorMod(balance, Protocol.MODULUS)) % Protocol.MODULUS;
        }
        bank.tell(new Close());
        for (var unit : working) {
            made += unit.made;
        }
        for (var auditor : auditing) {
            audits += auditor.audits;
            wrong += auditor.wrong;
        }
        if (isLast) {
            Protocol.report(
                    "::result balances=%d transfers=%d audits=%d wrong=%d first=%s last=%s %s %s",
                    folded, made, audits, wrong,
                    auditing.stream().map(auditor -> "" + auditor.firstCounted).collect(Collectors.joining(",")),
                    auditing.stream().map(auditor -> "" + auditor.lastCounted).collect(Collectors.joining(",")),
                    percentiles("transfer", working.stream().map(unit -> unit.transferNs)),
                    percentiles("audit", working.stream().map(unit -> unit.auditNs)));
        }
    }

    /** The smallest times that so many percent do not exceed; 0 where there is none. */
    private static String percentiles(String name, Stream<long[]> times) {
        var all = times.flatMapToLong(Arrays::stream).sorted().toArray();
        var levels = new long[3];
        for (int i = 0; i < 3 && all.length > 0; i++) {
            levels[i] = all[(int) ((all.length * new long[] {50, 99, 100}[i] + 99) / 100 - 1)];
        }
        return "%1$s_p50_ns=%2$d %1$s_p99_ns=%3$d %1$s_max_ns=%4$d".formatted(name, levels[0], levels[1], levels[2]);
    }

    private Behavior<Command> guardian() {
        return Behaviors.receive((context, command) -> {
            switch (command) {
                case Build build ->
                        build.opened.complete(context.spawnAnonymous(isCoordinated ? coordinator() : bank()));
                case Begin begin -> {
                    var counted = new AtomicLong();
                    var asked = new ArrayList<ActorRef<Audit>>();
                    for (var auditing : begin.auditing) {
                        asked.add(context.spawnAnonymous(auditor(begin.bank, counted, auditing)));
                    }
                    for (int i = 0; i < units; i++) {
                        var number = i;
                        context.spawnAnonymous(Behaviors.<Done>setup(unit ->
                                new Unit(unit, number, begin.bank, asked, counted, begin.working.get(number)).begin()));
                    }
                    begin.auditors.complete(asked);
                }
                case Read read -> context.spawnAnonymous(reader(read));
            }
            return Behaviors.same();
        });
    }

    /** Alone has the balances. */
    private Behavior<Request> bank() {
        return Behaviors.setup(context -> {
            var balances = new long[accounts];
            Arrays.fill(balances, OPENING_BALANCE);
            return Behaviors.receiveMessage(request -> {
                switch (request) {
                    case Transfer transfer -> {
                        balances[transfer.source] -= transfer.amount;
                        balances[transfer.target] += transfer.amount;
                        transfer.unit.tell(Done.DONE);
                    }
                    case Balances question -> question.auditor.tell(new Snapshot(balances.clone()));
                    case Close close -> {
                        return Behaviors.stopped();
                    }
                }
                return Behaviors.same();
            });
        });
    }

    /** Hands transfers and audits on to the accounts. Messages from one actor to another keep their order, so every
     * account gets an audit after the transfers before it and before those that come later. */
    private Behavior<Request> coordinator() {
        return Behaviors.setup(context -> {
            var owners = new ArrayList<ActorRef<Order>>();
            for (int i = 0; i < accounts; i++) {
                owners.add(context.spawnAnonymous(account(i)));
            }
            return Behaviors.receiveMessage(request -> {
                switch (request) {
                    case Transfer transfer -> {
                        owners.get(transfer.source).tell(new Add(-transfer.amount, transfer.unit));
                        owners.get(transfer.target).tell(new Add(transfer.amount, transfer.unit));
                    }
                    case Balances question -> {
                        var tell = new Tell(question.auditor);
                        owners.forEach(owner -> owner.tell(tell));
                    }
                    case Close close -> {
                        return Behaviors.stopped();
                    }
                }
                return Behaviors.same();
            });
        });
    }

    /** Has one balance. */
    private static Behavior<Order> account(int number) {
        return Behaviors.setup(context -> {
            var balance = new long[] {OPENING_BALANCE};
            return Behaviors.receiveMessage(order -> {
                switch (order) {
                    case Add add -> {
                        balance[0] += add.amount;
                        add.unit.tell(Done.DONE);
                    }
                    case Tell tell -> tell.auditor.tell(new Balance(number, balance[0]));
                }
                return Behaviors.same();
            });
        });
    }

    /** Asks for all balances once. */
    private Behavior<Audit> reader(Read read) {
        return Behaviors.setup(context -> {
            read.bank.tell(new Balances(context.getSelf()));
            var snapshots = new Snapshots();
            return Behaviors.receiveMessage(message -> {
                var balances = snapshots.complete(message);
                if (balances == null) {
                    return Behaviors.same();
                }
                read.balances.complete(balances);
                return Behaviors.stopped();
            });
        });
    }

    private Behavior<Audit> auditor(ActorRef<Request> bank, AtomicLong counted, CompletableFuture<Auditor> done) {
        return Behaviors.setup(context -> Behaviors.withStash(
                units + 1, stash -> new Auditor(context, stash, bank, counted, done).idle()));
    }

    /** Puts balances of single accounts together. */
    private final class Snapshots {
        private final long[] gathered = new long[accounts];
        private int missing = accounts;

        /** All balances, when this message is the last that a snapshot needs; else null. */
        long[] complete(Audit message) {
            if (message instanceof Snapshot snapshot) {
                return snapshot.balances;
            }
            var part = (Balance) message;
            gathered[part.account] = part.balance;
            missing--;
            if (missing > 0) {
                return null;
            }
            missing = accounts;
            return gathered;
        }
    }

    /** Adds up all accounts for each unit that asks; questions wait while it waits for the balances. */
    private final class Auditor {
        private final ActorContext<Audit> context;
        private final StashBuffer<Audit> stash;
        private final ActorRef<Request> bank;
        private final AtomicLong counted;
        private final CompletableFuture<Auditor> done;
        private final Snapshots snapshots = new Snapshots();
        private long audits;
        private long wrong;
        private long firstCounted;
        private long lastCounted;

        Auditor(
                ActorContext<Audit> context, StashBuffer<Audit> stash, ActorRef<Request> bank, AtomicLong counted,
                CompletableFuture<Auditor> done) {
            this.context = context;
            this.stash = stash;
            this.bank = bank;
            this.counted = counted;
            this.done = done;
        }

        Behavior<Audit> idle() {
            return Behaviors.receiveMessage(message -> {
                if (message instanceof Question question) {
                    bank.tell(new Balances(context.getSelf()));
                    return waiting(question);
                }
                done.complete(this);
                return Behaviors.stopped();
            });
        }

        private Behavior<Audit> waiting(Question question) {
            return Behaviors.receiveMessage(message -> {
                if (message instanceof Question || message instanceof End) {
                    stash.stash(message);
                    return Behaviors.same();
                }
                var balances = snapshots.complete(message);
                if (balances == null) {
                    return Behaviors.same();
                }
                wrong += Arrays.stream(balances).sum() == accounts * OPENING_BALANCE ? 0 : 1;
                lastCounted = counted.get();
                firstCounted = audits == 0 ? lastCounted : firstCounted;
                audits++;
                question.unit.tell(Done.DONE);
                return stash.unstashAll(idle());
            });
        }
    }

    /** Makes its transfers, and waits for an audit after so many of them. */
    private final class Unit {
        private final ActorContext<Done> context;
        private final int number;
        private final ActorRef<Request> bank;
        private final List<ActorRef<Audit>> asked;
        private final AtomicLong counted;
        private final CompletableFuture<Unit> done;
        private final long[] transferNs = new long[(transfers + TIMED - 1) / TIMED];
        private final long[] auditNs = new long[transfers / every];
        private int made;
        private int changed;
        private boolean isAudited;
        private long sentNs;
        private long x;

        Unit(
                ActorContext<Done> context, int number, ActorRef<Request> bank, List<ActorRef<Audit>> asked,
                AtomicLong counted, CompletableFuture<Unit> done) {
            this.context = context;
            this.number = number;
            this.bank = bank;
            this.asked = asked;
            this.counted = counted;
            this.done = done;
            x = 1 + (seed + number) % (Protocol.MODULUS - 1);
        }

        Behavior<Done> begin() {
            transfer();
            return Behaviors.receiveMessage(done -> next());
        }

        private Behavior<Done> next() {
            // A transfer is done when both accounts, or the owner of all, say so.
            if (!isAudited && isCoordinated && ++changed % 2 == 1) {
                return Behaviors.same();
            }
            if (isAudited) {
                isAudited = false;
                auditNs[made / every - 1] = System.nanoTime() - sentNs;
            } else {
                if (made % TIMED == 0) {
                    transferNs[made / TIMED] = System.nanoTime() - sentNs;
                }
                if (++made % every == 0) {
                    ask();
                    return Behaviors.same();
                }
            }
            if (made == transfers) {
                done.complete(this);
                return Behaviors.stopped();
            }
            transfer();
            return Behaviors.same();
        }

        private void ask() {
            counted.addAndGet(every);
            isAudited = true;
            sentNs = System.nanoTime();
            asked.get((number + made / every - 1) % auditors).tell(new Question(context.getSelf()));
        }

        private long draw() {
            x = FACTOR * x % Protocol.MODULUS;
            return x;
        }

        private void transfer() {
            var drawn = draw();
            var other = (int) (draw() % accounts);
            var source = drawn / 1000 % 100 < hot ? 0 : other;
            var target = (int) (draw() % (accounts - 1));
            if (target >= source) {
                target++;
            }
            if (made % TIMED == 0) {
                sentNs = System.nanoTime();
            }
            bank.tell(new Transfer(source, target, 1 + drawn % 1000, context.getSelf()));
        }
    }
}
