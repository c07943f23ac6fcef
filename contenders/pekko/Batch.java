import java.io.IOException;
import java.util.HashMap;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Routers;

/** The batch: an actor reads, a pool of actors computes, an actor writes. */
final class Batch {
    /** So many permits may be taken. A case takes one, and one more for each KiB of its text, from when it was read
     * until its answer is written. */
    private static final int MOST_AHEAD = 8192;
    private static final int PERMIT_BYTES = 1024;

    private record Work(CaseText text, int permits) {}

    /** What the writer receives. */
    private sealed interface Message permits Answer, End {}

    /** With a fault: why there is no product. */
    private record Answer(int number, long product, int permits, long computeNs, String fault) implements Message {}

    /** From the reader: how many cases there are, or why that is not known. */
    private record End(int count, long readNs, long waitAheadNs, String fault) implements Message {}

    /** What the reader receives: permits that are free again. */
    private record Written(int permits) {}

    /** What one pass over the input took. */
    private record Report(int cases, long readNs, long waitAheadNs, long computeNs, long writeNs) {}

    private record Start(CompletableFuture<Report> done) {}

    private final String path;
    private final int cores;
    /** However large cases are, each core can have one. */
    private final int mostPermits;

    private Batch(Settings settings) {
        cores = settings.cores();
        settings.oneOf("capacity", "own", "unbounded");
        path = settings.text("input");
        if (path.isEmpty()) {
            throw settings.refuse("input", "the path of a file");
        }
        mostPermits = MOST_AHEAD / (cores + 1);
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        var repeats = settings.repeats();
        var batch = new Batch(settings);
        var system = ActorSystem.create(batch.guardian(), "batch", Protocol.config(""));
        long cases = 0;
        for (int i = 0; i < repeats; i++) {
            var startNs = System.nanoTime();
            var start = new Start(new CompletableFuture<>());
            system.tell(start);
            var report = start.done.get();
            Protocol.reportPhase("work", System.nanoTime() - startNs);
            Protocol.reportPhase("read", report.readNs);
            Protocol.reportPhase("compute", report.computeNs);
            Protocol.reportPhase("write", report.writeNs);
            Protocol.reportPhase("wait_ahead", report.waitAheadNs);
            cases += report.cases;
        }
        Protocol.report("::result cases=%d", cases);
        system.terminate();
    }

    private Behavior<Start> guardian() {
        return Behaviors.receive((context, start) -> {
            var reader = new CompletableFuture<ActorRef<Written>>();
            var writer = context.spawnAnonymous(new Writer(reader, start.done).receive());
            var pool = context.spawnAnonymous(Routers.pool(cores, worker(writer)));
            // Reading blocks its thread.
            var blocking = DispatcherSelector.blocking();
            reader.complete(context.spawnAnonymous(
                    Behaviors.setup(self -> new Reader(pool, writer).receive()), blocking));
            reader.join().tell(new Written(MOST_AHEAD));
            return Behaviors.same();
        });
    }

    private static Behavior<Work> worker(ActorRef<Message> writer) {
        return Behaviors.receiveMessage(work -> {
            var startNs = System.nanoTime();
            var text = work.text;
            try {
                var product = text.smallestProduct();
                writer.tell(new Answer(text.number(), product, work.permits, System.nanoTime() - startNs, null));
            } catch (CaseReader.Fault fault) {
                writer.tell(new Answer(text.number(), 0, 0, 0, fault.getMessage()));
            }
            return Behaviors.same();
        });
    }

    /** Reads on as long as it has permits. */
    private final class Reader {
        private final ActorRef<Work> pool;
        private final ActorRef<Message> writer;
        private CaseReader input;
        private int count;
        private int number = 1;
        private Work next;
        private int permits;
        private long readNs;
        private long waitAheadNs;
        private long idleSinceNs;

        Reader(ActorRef<Work> pool, ActorRef<Message> writer) {
            this.pool = pool;
            this.writer = writer;
        }

        Behavior<Written> receive() {
            return Behaviors.receiveMessage(written -> {
                permits += written.permits;
                var startNs = System.nanoTime();
                waitAheadNs += idleSinceNs == 0 ? 0 : startNs - idleSinceNs;
                String fault = null;
                var isAtEnd = false;
                try {
                    isAtEnd = readOn();
                } catch (CaseReader.Fault | IOException broken) {
                    fault = broken.getMessage();
                }
                idleSinceNs = System.nanoTime();
                readNs += idleSinceNs - startNs;
                if (!isAtEnd && fault == null) {
                    return Behaviors.same();
                }
                writer.tell(new End(count, readNs, waitAheadNs, fault));
                return Behaviors.stopped();
            });
        }

        /** Whether the input has ended; else there are no permits for the next case. */
        private boolean readOn() throws CaseReader.Fault, IOException {
            if (input == null) {
                input = new CaseReader(path);
                count = input.wholeNumber("the number of cases", Integer.MAX_VALUE);
            }
            for (; number <= count; number++) {
                if (next == null) {
                    var text = input.next(number);
                    next = new Work(text, Math.min(1 + text.bytes() / PERMIT_BYTES, mostPermits));
                }
                if (next.permits > permits) {
                    return false;
                }
                permits -= next.permits;
                pool.tell(next);
                next = null;
            }
            input.end(count);
            input.close();
            return true;
        }
    }

    /** Writes the answers in the order of the cases. */
    private static final class Writer {
        private final CompletableFuture<ActorRef<Written>> reader;
        private final CompletableFuture<Report> done;
        private final HashMap<Integer, Answer> early = new HashMap<>(); // before their turn
        private int next = 1;
        private End end;
        private long computeNs;
        private long writeNs;

        Writer(CompletableFuture<ActorRef<Written>> reader, CompletableFuture<Report> done) {
            this.reader = reader;
            this.done = done;
        }

        Behavior<Message> receive() {
            return Behaviors.receiveMessage(message -> {
                var startNs = System.nanoTime();
                switch (message) {
                    case Answer answer -> write(answer);
                    case End last -> {
                        refuse(last.fault);
                        end = last;
                    }
                }
                writeNs += System.nanoTime() - startNs;
                if (end == null || next <= end.count) {
                    return Behaviors.same();
                }
                done.complete(new Report(end.count, end.readNs, end.waitAheadNs, computeNs, writeNs));
                return Behaviors.stopped();
            });
        }

        private void write(Answer answer) {
            refuse(answer.fault);
            computeNs += answer.computeNs;
            early.put(answer.number, answer);
            var permits = 0;
            for (Answer due; (due = early.remove(next)) != null; next++) {
                Protocol.print("Case #" + next + ": " + due.product);
                permits += due.permits;
            }
            if (permits > 0) {
                reader.join().tell(new Written(permits));
            }
        }

        private static void refuse(String fault) {
            if (fault != null) {
                System.err.println("input: " + fault);
                Runtime.getRuntime().halt(2);
            }
        }
    }
}
