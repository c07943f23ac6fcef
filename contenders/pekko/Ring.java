import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** The ring: an actor for each unit, which knows the next one. */
final class Ring {
    /** Unit N's result over all values, including those of earlier rings. */
    private record Evidence(long checksum, long order, long endNs) {}

    /** Creates a ring; `built` gets its feeder, `done` the evidence of its last unit. */
    private record Build(
            Evidence before, CompletableFuture<ActorRef<Feed>> built, CompletableFuture<Evidence> done) {}

    /** Has the feeder send its next message, or all of them. */
    private enum Feed {
        NEXT
    }

    private final int nodes;
    private final int messages;
    private final boolean token;
    private final boolean trace;

    private Ring(Settings settings) {
        nodes = (int) settings.wholeNumber("nodes", 2, Settings.MOST);
        messages = (int) settings.wholeNumber("messages", 1, Settings.MOST);
        settings.oneOf("capacity", "own", "unbounded");
        token = settings.oneOf("mode", "pipelined", "token").equals("token");
        trace = settings.flag("trace");
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var ring = new Ring(settings);
        var hold = settings.flag("hold");
        var repeats = settings.repeats();
        var evidence = new Evidence(0, 0, 0);
        var system = ActorSystem.create(ring.guardian(), "ring", Protocol.config(""));
        for (int i = 0; i < repeats; i++) {
            evidence = ring.once(system, evidence, hold && i == 0);
        }
        Protocol.report("::result checksum=%d order=%d", evidence.checksum, evidence.order);
        system.terminate();
    }

    private Evidence once(ActorRef<Build> guardian, Evidence before, boolean hold) throws Exception {
        var startNs = System.nanoTime();
        var build = new Build(before, new CompletableFuture<>(), new CompletableFuture<>());
        guardian.tell(build);
        var feeder = build.built.get();
        Protocol.reportPhase("spawn", System.nanoTime() - startNs);
        if (hold) {
            Protocol.report("::await name=spawned");
            Protocol.awaitLine();
        }
        var relayNs = System.nanoTime();
        feeder.tell(Feed.NEXT);
        var evidence = build.done.get();
        Protocol.reportPhase("relay", evidence.endNs - relayNs);
        return evidence;
    }

    /** Spawns from the last unit to the first, since each knows the next. */
    private Behavior<Build> guardian() {
        return Behaviors.receive((context, build) -> {
            // The feeder is known to the last unit alone, and comes last.
            var feeder = new CompletableFuture<ActorRef<Feed>>();
            var next = context.spawnAnonymous(Behaviors.<Long>setup(unit -> last(unit, build, feeder)));
            for (int i = nodes - 1; i > 0; i--) {
                var number = i;
                var outbox = next;
                next = context.spawnAnonymous(Behaviors.<Long>setup(unit -> relay(unit, number, outbox)));
            }
            feeder.complete(context.spawnAnonymous(feeder(next, messages - 1)));
            build.built.complete(feeder.join());
            return Behaviors.same();
        });
    }

    private Behavior<Feed> feeder(ActorRef<Long> first, long message) {
        return Behaviors.receiveMessage(next -> {
            first.tell(message);
            for (long r = message - 1; !token && r >= 0; r--) {
                first.tell(r);
            }
            return token && message > 0 ? feeder(first, message - 1) : Behaviors.stopped();
        });
    }

    /** Unit i, one of 1 … N-1. */
    private Behavior<Long> relay(ActorContext<Long> context, int i, ActorRef<Long> outbox) {
        var terminator = terminator(i);
        var name = context.getSelf().path().name();
        return Behaviors.receiveMessage(value -> {
            if (trace) {
                Protocol.print(
                        value > terminator
                                ? ": Proc: %s, Seq#: %d, Msg#: %d ..".formatted(name, i, value - terminator)
                                : "* Proc: %s, Seq#: %d, Msg#: terminate!".formatted(name, i));
            }
            outbox.tell(value + i);
            return value == terminator ? Behaviors.stopped() : Behaviors.same();
        });
    }

    /** Unit N, whose state is in its behaviour. */
    private Behavior<Long> last(
            ActorContext<Long> context, Build build, CompletableFuture<ActorRef<Feed>> feeder) {
        var terminator = terminator(nodes);
        var name = context.getSelf().path().name();
        long[] sums = {build.before.checksum, build.before.order};
        return Behaviors.receiveMessage(value -> {
            sums[0] += value;
            sums[1] = (31 * sums[1] + value) % Protocol.MODULUS;
            if (trace) {
                Protocol.print(
                        value > terminator
                                ? "> Proc: %s, Seq#: %d, Msg#: %d ..".formatted(name, nodes, value - terminator)
                                : "@ Proc: %s, Seq#: %d, ring terminated.".formatted(name, nodes));
            }
            if (value == terminator) {
                build.done.complete(new Evidence(sums[0], sums[1], System.nanoTime()));
                return Behaviors.stopped();
            }
            if (token) {
                feeder.join().tell(Feed.NEXT);
            }
            return Behaviors.same();
        });
    }

    /** Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. */
    private static long terminator(long i) {
        return i * (i - 1) / 2;
    }
}
