import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.function.Supplier;

/** The ring: a virtual thread for each unit, a blocking queue between neighbours. */
final class Ring {
    private static final long MODULUS = 2147483647;

    /** Unit N's result over all values, including those of earlier rings. */
    record Evidence(long checksum, long order, long endNs) {}

    private final int nodes;
    private final int messages;
    private final Supplier<BlockingQueue<Long>> newQueue;
    private final boolean token;
    private final boolean trace;

    private Ring(Settings settings) {
        nodes = (int) settings.wholeNumber("nodes", 2, Settings.MOST);
        messages = (int) settings.wholeNumber("messages", 1, Settings.MOST);
        newQueue = switch (settings.oneOf("capacity", "own", "0", "1", "30", "1000", "unbounded")) {
            case "own", "unbounded" -> LinkedBlockingQueue::new;
            case "0" -> SynchronousQueue::new;
            case String places -> () -> new ArrayBlockingQueue<>(Integer.parseInt(places));
        };
        token = settings.oneOf("mode", "pipelined", "token").equals("token");
        trace = settings.flag("trace");
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        var ring = new Ring(settings);
        var hold = settings.flag("hold");
        var repeats = settings.repeats();
        var evidence = new Evidence(0, 0, 0);
        for (int i = 0; i < repeats; i++) {
            evidence = ring.once(evidence, hold && i == 0);
        }
        Output.report("::result checksum=%d order=%d", evidence.checksum, evidence.order);
    }

    private Evidence once(Evidence before, boolean hold) throws Exception {
        var start = System.nanoTime();
        var arrived = new Semaphore(0);
        var done = new CompletableFuture<Evidence>();
        var first = newQueue.get();
        var inbox = first;
        for (int i = 1; i < nodes; i++) {
            var outbox = newQueue.get();
            Thread.startVirtualThread(new Relay(i, inbox, outbox));
            inbox = outbox;
        }
        var last = inbox;
        Thread.startVirtualThread(() -> done.complete(lastUnit(last, arrived, before)));
        Output.report("::phase name=spawn ns=%d", System.nanoTime() - start);
        if (hold) {
            Output.report("::await name=spawned");
            Input.awaitLine();
        }

        // The feeder is a virtual thread as well: messages of the main thread would each wake another one.
        var relayNs = System.nanoTime();
        Thread.startVirtualThread(() -> uninterrupted(() -> {
            for (long r = messages - 1; r >= 0; r--) {
                first.put(r);
                if (token) {
                    arrived.acquire();
                }
            }
        }));
        var evidence = done.get();
        Output.report("::phase name=relay ns=%d", evidence.endNs - relayNs);
        return evidence;
    }

    /** Unit i, one of 1 … N-1. */
    private final class Relay implements Runnable {
        private final int i;
        private final BlockingQueue<Long> inbox;
        private final BlockingQueue<Long> outbox;

        Relay(int i, BlockingQueue<Long> inbox, BlockingQueue<Long> outbox) {
            this.i = i;
            this.inbox = inbox;
            this.outbox = outbox;
        }

        @Override
        public void run() {
            uninterrupted(() -> {
                var terminator = terminator(i);
                var name = name();
                long value;
                do {
                    value = inbox.take();
                    if (trace) {
                        Output.print(
                                value > terminator
                                        ? ": Proc: %s, Seq#: %d, Msg#: %d ..".formatted(name, i, value - terminator)
                                        : "* Proc: %s, Seq#: %d, Msg#: terminate!".formatted(name, i));
                    }
                    outbox.put(value + i);
                } while (value != terminator);
            });
        }
    }

    /** Unit N: returns the evidence when the last message came. */
    private Evidence lastUnit(BlockingQueue<Long> inbox, Semaphore arrived, Evidence before) {
        long[] sums = {before.checksum, before.order};
        uninterrupted(() -> {
            var terminator = terminator(nodes);
            var name = name();
            long value;
            do {
                value = inbox.take();
                sums[0] += value;
                sums[1] = (31 * sums[1] + value) % MODULUS;
                if (trace) {
                    Output.print(
                            value > terminator
                                    ? "> Proc: %s, Seq#: %d, Msg#: %d ..".formatted(name, nodes, value - terminator)
                                    : "@ Proc: %s, Seq#: %d, ring terminated.".formatted(name, nodes));
                }
                if (token) {
                    arrived.release();
                }
            } while (value != terminator);
        });
        return new Evidence(sums[0], sums[1], System.nanoTime());
    }

    /** Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. */
    private static long terminator(long i) {
        return i * (i - 1) / 2;
    }

    private String name() {
        return trace ? Long.toString(Thread.currentThread().threadId()) : "";
    }

    private interface Body {
        void run() throws InterruptedException;
    }

    /** Nobody interrupts a unit. */
    private static void uninterrupted(Body body) {
        try {
            body.run();
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
