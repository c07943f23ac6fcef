import java.util.ArrayList;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/** The restarts: a virtual thread for each unit. The handler of exceptions that nobody caught, which runs in the thread
 * that they end, tells the collector, and that starts another. */
final class Restarts {
    private static final long MODULUS = 2147483647;

    /** A unit's next message. */
    record Message(long number, boolean fails) {}

    /** An answer: how many numbers the unit handled since it began, and their fold; or, with an error, its end. */
    record Event(int unit, long handled, long folded, long born, Throwable error) {}

    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var units = (int) settings.wholeNumber("units", 1, 100_000);
        var messages = (int) settings.wholeNumber("messages", 2, 1_000_000);
        var every = settings.wholeNumber("every", 2, 1_000_000);
        var seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        var books = new RestartsBooks(units, messages, MODULUS / every, seed);
        // The collector is a unit of the model too: the main thread is one of the kernel's.
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
            executor.submit(() -> {
                new Restarts().run(units, books);
                return null;
            }).get();
        }
    }

    private void run(int units, RestartsBooks books) throws InterruptedException {
        var begin = System.nanoTime();
        var inboxes = new ArrayList<BlockingQueue<Message>>();
        for (int unit = 0; unit < units; unit++) {
            inboxes.add(start(unit));
        }
        Output.report("::phase name=start ns=%d", System.nanoTime() - begin);
        for (var pass : new String[] {"warm", "failing", "calm"}) {
            begin = System.nanoTime();
            books.begin(pass);
            for (int unit = 0; unit < units; unit++) {
                inboxes.get(unit).put(books.message(unit));
            }
            while (books.open() > 0) {
                var event = events.take();
                if (event.error != null) {
                    books.failed(event.unit);
                    inboxes.set(event.unit, start(event.unit));
                } else if (!books.answered(event)) {
                    continue;
                }
                inboxes.get(event.unit).put(books.message(event.unit));
            }
            Output.report("::phase name=%s ns=%d", pass, System.nanoTime() - begin);
        }
        books.report();
    }

    /** The queue of a new unit. */
    private BlockingQueue<Message> start(int unit) {
        var inbox = new LinkedBlockingQueue<Message>();
        Thread.ofVirtual()
                .uncaughtExceptionHandler((thread, error) -> events.add(new Event(unit, 0, 0, 0, error)))
                .start(() -> serve(unit, inbox));
        return inbox;
    }

    private void serve(int unit, BlockingQueue<Message> inbox) {
        var born = System.nanoTime();
        long handled = 0;
        long folded = 0;
        try {
            while (true) {
                var message = inbox.take();
                if (message.fails) {
                    throw new Failure();
                }
                handled++;
                folded = (31 * folded + message.number) % MODULUS;
                events.put(new Event(unit, handled, folded, born, null));
            }
        } catch (InterruptedException nobodyInterrupts) {
            throw new IllegalStateException(nobodyInterrupts);
        }
    }
}
