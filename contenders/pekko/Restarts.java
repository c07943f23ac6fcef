import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PreRestart;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** The restarts: an actor for each unit, whose supervisor restarts it. The signal before that tells the collector; a
 * message that comes meanwhile waits in the mailbox. */
final class Restarts {
    private static final long MODULUS = 2147483647;

    /** A unit's next message. */
    record Message(long number, boolean fails) {}

    /** What the collector receives. */
    private sealed interface News permits Begin, Event, Failed {}

    private record Begin() implements News {}

    /** An answer: how many numbers the unit handled since it began, and their fold. */
    record Event(int unit, long handled, long folded, long born) implements News {}

    private record Failed(int unit) implements News {}

    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var units = (int) settings.wholeNumber("units", 1, 100_000);
        var messages = (int) settings.wholeNumber("messages", 2, 1_000_000);
        var every = settings.wholeNumber("every", 2, 1_000_000);
        var seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        var books = new RestartsBooks(units, messages, MODULUS / every, seed);
        var done = new CompletableFuture<Void>();
        Behavior<News> collector = Behaviors.setup(context -> new Collector(context, units, books, done).receive());
        var system = ActorSystem.create(collector, "restarts", Protocol.config(""));
        system.tell(new Begin());
        done.get();
        system.terminate();
    }

    private static final class Collector {
        private final ActorContext<News> context;
        private final int count;
        private final RestartsBooks books;
        private final CompletableFuture<Void> done;
        private final List<ActorRef<Message>> units = new ArrayList<>();
        private final Iterator<String> passes = List.of("warm", "failing", "calm").iterator();
        private String pass;
        private long beginNs;

        Collector(ActorContext<News> context, int count, RestartsBooks books, CompletableFuture<Void> done) {
            this.context = context;
            this.count = count;
            this.books = books;
            this.done = done;
        }

        Behavior<News> receive() {
            return Behaviors.receiveMessage(news -> {
                switch (news) {
                    case Begin begin -> start();
                    case Failed failed -> {
                        books.failed(failed.unit);
                        send(failed.unit);
                    }
                    case Event event -> {
                        if (books.answered(event)) {
                            send(event.unit);
                        }
                    }
                }
                return books.open() > 0 || nextPass() ? Behaviors.same() : Behaviors.stopped();
            });
        }

        private void start() {
            beginNs = System.nanoTime();
            for (int unit = 0; unit < count; unit++) {
                units.add(context.spawnAnonymous(supervised(unit, context.getSelf())));
            }
            pass = "start";
        }

        /** Ends a pass; returns whether there is another one. */
        private boolean nextPass() {
            Protocol.reportPhase(pass, System.nanoTime() - beginNs);
            if (!passes.hasNext()) {
                books.report();
                done.complete(null);
                return false;
            }
            pass = passes.next();
            beginNs = System.nanoTime();
            books.begin(pass);
            for (int unit = 0; unit < count; unit++) {
                send(unit);
            }
            return true;
        }

        private void send(int unit) {
            units.get(unit).tell(books.message(unit));
        }
    }

    private static Behavior<Message> supervised(int unit, ActorRef<News> collector) {
        return Behaviors.supervise(unit(unit, collector))
                .onFailure(Failure.class, SupervisorStrategy.restart().withLoggingEnabled(false));
    }

    private static Behavior<Message> unit(int unit, ActorRef<News> collector) {
        return Behaviors.setup(context -> serve(unit, collector, System.nanoTime(), 0, 0));
    }

    /** The state is in the behaviour. */
    private static Behavior<Message> serve(int unit, ActorRef<News> collector, long born, long handled, long folded) {
        return Behaviors.receive(Message.class)
                .onMessage(Message.class, message -> {
                    if (message.fails) {
                        throw new Failure();
                    }
                    var fold = (31 * folded + message.number) % MODULUS;
                    collector.tell(new Event(unit, handled + 1, fold, born));
                    return serve(unit, collector, born, handled + 1, fold);
                })
                .onSignal(PreRestart.class, signal -> {
                    collector.tell(new Failed(unit));
                    return Behaviors.same();
                })
                .build();
    }
}
