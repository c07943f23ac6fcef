import java.io.IOException;
import java.util.HashMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;

/** The batch: a virtual thread for each case, a blocking queue of answers. */
final class Batch {
    private static final int OWN_CAPACITY = 100;
    /** So many permits may be taken. A case takes one, and one more for each KiB of its text, from when it was read
     * until its answer is written. */
    private static final int MOST_AHEAD = 8192;
    private static final int PERMIT_BYTES = 1024;

    /** What a unit made of a case; with number 0: how many cases there are; with a fault: why there is no answer. */
    private record Answer(int number, long product, int permits, long computeNs, String fault) {}

    private final BlockingQueue<Answer> answers;
    private final Semaphore ahead = new Semaphore(MOST_AHEAD);
    private final int mostPermits;
    private long readNs;
    private long waitAheadNs;
    private long computeNs;
    private long writeNs;
    private long waitEmptyNs;

    private Batch(int cores, String capacity) {
        answers = switch (capacity) {
            case "own" -> new ArrayBlockingQueue<>(OWN_CAPACITY);
            case "unbounded" -> new LinkedBlockingQueue<>();
            case "0" -> new SynchronousQueue<>();
            default -> new ArrayBlockingQueue<>(Integer.parseInt(capacity));
        };
        // However large cases are, each core can have one.
        mostPermits = MOST_AHEAD / (cores + 1);
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        var cores = settings.cores();
        var capacity = settings.oneOf("capacity", "own", "0", "1", "100", "10000", "unbounded");
        var repeats = settings.repeats();
        var path = settings.text("input");
        if (path.isEmpty()) {
            throw settings.refuse("input", "the path of a file");
        }
        long cases = 0;
        for (int i = 0; i < repeats; i++) {
            var start = System.nanoTime();
            var batch = new Batch(cores, capacity);
            Thread.startVirtualThread(() -> batch.readAll(path));
            cases += batch.writeAll();
            batch.reportPhases(System.nanoTime() - start);
        }
        Output.report("::result cases=%d", cases);
    }

    private void readAll(String path) {
        var start = System.nanoTime();
        Answer last;
        try {
            last = new Answer(0, startAll(path), 0, 0, null);
        } catch (CaseReader.Fault | IOException fault) {
            last = new Answer(0, 0, 0, 0, fault.getMessage());
        }
        readNs = System.nanoTime() - start - waitAheadNs;
        put(last);
    }

    private int startAll(String path) throws CaseReader.Fault, IOException {
        try (var reader = new CaseReader(path)) {
            var count = reader.wholeNumber("the number of cases", Integer.MAX_VALUE);
            for (int number = 1; number <= count; number++) {
                var text = reader.next(number);
                var permits = Math.min(1 + text.bytes() / PERMIT_BYTES, mostPermits);
                var waiting = System.nanoTime();
                ahead.acquireUninterruptibly(permits);
                waitAheadNs += System.nanoTime() - waiting;
                Thread.startVirtualThread(() -> put(solve(text, permits)));
            }
            reader.end(count);
            return count;
        }
    }

    private static Answer solve(CaseText text, int permits) {
        var start = System.nanoTime();
        try {
            var product = text.smallestProduct();
            return new Answer(text.number(), product, permits, System.nanoTime() - start, null);
        } catch (CaseReader.Fault fault) {
            return new Answer(text.number(), 0, permits, 0, fault.getMessage());
        }
    }

    private void put(Answer answer) {
        try {
            answers.put(answer);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Writes the answers in the order of the cases; returns how many there were. */
    private int writeAll() throws InterruptedException {
        var start = System.nanoTime();
        var early = new HashMap<Integer, Answer>(); // before their turn
        int next = 1;
        for (int count = Integer.MAX_VALUE; next <= count; ) {
            var waiting = System.nanoTime();
            var answer = answers.take();
            waitEmptyNs += System.nanoTime() - waiting;
            if (answer.fault != null) {
                System.err.println("input: " + answer.fault);
                System.exit(2);
            } else if (answer.number == 0) {
                count = (int) answer.product;
            } else {
                computeNs += answer.computeNs;
                early.put(answer.number, answer);
            }
            for (Answer due; (due = early.remove(next)) != null; next++) {
                Output.print("Case #" + next + ": " + due.product);
                ahead.release(due.permits);
            }
        }
        writeNs = System.nanoTime() - start - waitEmptyNs;
        return next - 1;
    }

    private void reportPhases(long workNs) {
        Output.report("::phase name=work ns=%d", workNs);
        Output.report("::phase name=read ns=%d", readNs);
        Output.report("::phase name=compute ns=%d", computeNs);
        Output.report("::phase name=write ns=%d", writeNs);
        Output.report("::phase name=wait_ahead ns=%d", waitAheadNs);
        Output.report("::phase name=wait_empty ns=%d", waitEmptyNs);
    }
}
