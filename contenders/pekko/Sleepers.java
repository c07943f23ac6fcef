import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.StashBuffer;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/** The sleepers: an actor for each, whose timer wakes it, and one that collects. */
final class Sleepers {
    private static final long FACTOR = 48271;
    private static final long SECOND_NS = 1_000_000_000;
    private static final int REPORTS = 10;

    /** What the collector hears: to start the tasks, that one is about to sleep, or what one hands over. */
    private sealed interface Message permits Start, Asleep, Wake, Collect {}

    private record Start() implements Message {}

    private record Asleep() implements Message {}

    private record Wake(long number, long lateNs) implements Message {}

    /** Has the collector take what tasks hand over; before, that waits. */
    private record Collect() implements Message {}

    private enum Alarm {
        RINGS
    }

    private final int tasks;
    private final long lastSecondNs;
    private final long seed;
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private long beginNs;

    private Sleepers(Settings settings) {
        tasks = (int) settings.wholeNumber("tasks", 1, 1_000_000);
        lastSecondNs = (settings.wholeNumber("seconds", 2, 3600) - 1) * SECOND_NS;
        seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var hold = settings.flag("hold");
        var sleepers = new Sleepers(settings);
        var system = ActorSystem.create(sleepers.collector(), "sleepers", Protocol.config(""));
        system.tell(new Start());
        sleepers.started.get();
        if (hold) {
            Protocol.report("::await name=started");
            Protocol.awaitLine();
        }
        system.tell(new Collect());
        sleepers.done.get();
        system.terminate();
    }

    private Behavior<Message> collector() {
        return Behaviors.setup(context ->
                Behaviors.withStash(tasks, stash -> new Collection().start(context, stash)));
    }

    private void start(ActorContext<Message> collector) {
        beginNs = System.nanoTime();
        var x = 1 + seed % (Protocol.MODULUS - 1);
        for (int i = 0; i < tasks; i++) {
            x = FACTOR * x % Protocol.MODULUS;
            collector.spawnAnonymous(task(collector.getSelf(), x));
        }
    }

    private Behavior<Alarm> task(ActorRef<Message> collector, long number) {
        var dueNs = beginNs + lastSecondNs + number * SECOND_NS / Protocol.MODULUS;
        return Behaviors.withTimers(timers -> {
            collector.tell(new Asleep());
            sleep(timers, dueNs);
            return Behaviors.receiveMessage(alarm -> {
                var lateNs = System.nanoTime() - dueNs;
                if (lateNs < 0) {
                    sleep(timers, dueNs);
                    return Behaviors.same();
                }
                collector.tell(new Wake(number, lateNs));
                return Behaviors.stopped();
            });
        });
    }

    private static void sleep(TimerScheduler<Alarm> timers, long dueNs) {
        timers.startSingleTimer(Alarm.RINGS, Duration.ofNanos(Math.max(0, dueNs - System.nanoTime())));
    }

    private final class Collection {
        private final long[] numbers = new long[tasks];
        private final long[] lateNs = new long[tasks];
        private final long reports = Math.min(REPORTS, tasks);
        private int asleep;
        private int awake;

        Behavior<Message> start(ActorContext<Message> context, StashBuffer<Message> early) {
            return Behaviors.receiveMessage(message -> {
                switch (message) {
                    case Start start -> Sleepers.this.start(context);
                    case Asleep one -> fallAsleep();
                    case Wake wake -> early.stash(wake);
                    case Collect begin -> {
                        return early.unstashAll(collect());
                    }
                }
                return Behaviors.same();
            });
        }

        private Behavior<Message> collect() {
            return Behaviors.receiveMessage(message -> {
                collect((Wake) message);
                return Behaviors.same();
            });
        }

        private void fallAsleep() {
            if (++asleep == tasks) {
                Protocol.reportPhase("start", System.nanoTime() - beginNs);
                started.complete(null);
            }
        }

        private void collect(Wake wake) {
            numbers[awake] = wake.number;
            lateNs[awake] = wake.lateNs;
            if ((awake + 1) * reports / tasks > awake * reports / tasks) {
                Protocol.reportPhase("wake", System.nanoTime() - beginNs);
            }
            if (++awake == tasks) {
                Arrays.sort(numbers);
                Arrays.sort(lateNs);
                var order = Arrays.stream(numbers).reduce(0, (h, number) -> (31 * h + number) % Protocol.MODULUS);
                Protocol.report(
                        "::result sum=%d order=%d late_p50_ns=%d late_p99_ns=%d late_max_ns=%d",
                        Arrays.stream(numbers).sum(), order, percentile(50), percentile(99), percentile(100));
                done.complete(null);
            }
        }

        /** The smallest lateness that so many percent do not exceed. */
        private long percentile(long percent) {
            return lateNs[(int) ((tasks * percent + 99) / 100 - 1)];
        }
    }
}
