import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The accounts: a virtual thread for each unit and each auditor, and a lock for each account, or one for all. */
final class Accounts {
    private static final long MODULUS = 2147483647;
    private static final long FACTOR = 48271;
    /** A unit reads the clock before and after one of so many transfers. */
    private static final int TIMED = 16;

    private final int accounts;
    private final int units;
    private final int transfers;
    private final int auditors;
    private final int every;
    private final int hot;
    private final long seed;
    private long folded;
    private long finished;
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
    }

    public static void main(String[] arguments) throws InterruptedException, IOException {
        var settings = new Settings(arguments);
        settings.cores();
        var repeats = settings.repeats();
        var hold = settings.flag("hold");
        IntFunction<AccountsBank> open =
                settings.oneOf("sharing", "lock-for-each", "one-lock").equals("one-lock")
                        ? AccountsBank.OneLock::new
                        : AccountsBank.LockForEach::new;
        var all = new Accounts(settings);
        for (int time = 1; time <= repeats; time++) {
            var bank = open.apply(all.accounts);
            if (hold && time == 1) {
                Output.report("::await name=opened");
                System.in.read(); // The end of stdin is as good as a line.
            }
            all.once(bank, time == repeats);
        }
    }

    /** Has all units and auditors do their work, and adds to the evidence. */
    private void once(AccountsBank bank, boolean isLast) throws InterruptedException {
        var begin = System.nanoTime();
        var counted = new AtomicLong();
        var auditing = new ArrayList<Auditor>();
        for (int auditor = 0; auditor < auditors; auditor++) {
            auditing.add(new Auditor(bank, counted));
        }
        var working = new ArrayList<Unit>();
        for (int unit = 0; unit < units; unit++) {
            working.add(new Unit(unit, bank, auditing, counted));
        }
        for (var unit : working) {
            unit.thread.join();
        }
        for (var auditor : auditing) {
            auditor.thread.interrupt();
            auditor.thread.join();
        }
        Output.report("::phase name=transfer ns=%d", System.nanoTime() - begin);
        for (var balance : bank.balances()) {
            folded = (31 * folded + Math.floorMod(balance, MODULUS)) % MODULUS;
        }
        finished += working.stream().mapToLong(unit -> unit.made).sum();
        audits += auditing.stream().mapToLong(auditor -> auditor.audits).sum();
        wrong += auditing.stream().mapToLong(auditor -> auditor.wrong).sum();
        if (isLast) {
            Output.report(
                    "::result balances=%d transfers=%d audits=%d wrong=%d first=%s last=%s %s %s",
                    folded, finished, audits, wrong,
                    auditing.stream().map(auditor -> "" + auditor.first).collect(Collectors.joining(",")),
                    auditing.stream().map(auditor -> "" + auditor.last).collect(Collectors.joining(",")),
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

    /** Adds up all accounts for each unit that asks. */
    private final class Auditor {
        final Thread thread;
        long audits;
        long wrong;
        long first;
        long last;
        private final BlockingQueue<CompletableFuture<Long>> questions = new LinkedBlockingQueue<>();

        Auditor(AccountsBank bank, AtomicLong counted) {
            thread = Thread.ofVirtual().start(() -> work(bank, counted));
        }

        long ask() {
            var answer = new CompletableFuture<Long>();
            questions.add(answer);
            return answer.join();
        }

        private void work(AccountsBank bank, AtomicLong counted) {
            try {
                while (true) {
                    var answer = questions.take();
                    var total = Arrays.stream(bank.balances()).sum();
                    wrong += total == accounts * AccountsBank.OPENING_BALANCE ? 0 : 1;
                    last = counted.get();
                    first = audits == 0 ? last : first;
                    audits++;
                    answer.complete(total);
                }
            } catch (InterruptedException allUnitsHaveEnded) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Makes its transfers, and waits for an audit after so many of them. */
    private final class Unit {
        final Thread thread;
        final long[] transferNs = new long[(transfers + TIMED - 1) / TIMED];
        final long[] auditNs = new long[transfers / every];
        int made;
        private long x;

        Unit(int number, AccountsBank bank, List<Auditor> auditors, AtomicLong counted) {
            x = 1 + (seed + number) % (MODULUS - 1);
            thread = Thread.ofVirtual().start(() -> work(number, bank, auditors, counted));
        }

        private long draw() {
            x = FACTOR * x % MODULUS;
            return x;
        }

        private void work(int number, AccountsBank bank, List<Auditor> auditors, AtomicLong counted) {
            while (made < transfers) {
                var drawn = draw();
                var source = (int) (draw() % accounts);
                if (drawn / 1000 % 100 < hot) {
                    source = 0;
                }
                var target = (int) (draw() % (accounts - 1));
                if (target >= source) {
                    target++;
                }
                if (made % TIMED == 0) {
                    var begin = System.nanoTime();
                    bank.transfer(source, target, 1 + drawn % 1000);
                    transferNs[made / TIMED] = System.nanoTime() - begin;
                } else {
                    bank.transfer(source, target, 1 + drawn % 1000);
                }
                made++;
                if (made % every == 0) {
                    counted.addAndGet(every);
                    var audit = made / every - 1;
                    var begin = System.nanoTime();
                    auditors.get((number + audit) % auditors.size()).ask();
                    auditNs[audit] = System.nanoTime() - begin;
                }
            }
        }
    }
}
