import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/** The background jobs: an actor for each of the W places, and one that hands them jobs, gathers the answers, and has
 * the heart. */
final class Jobs {
    private static final long FACTOR = 48271;
    private static final int TIMES_ALONE = 5;
    private static final Duration BEAT = Duration.ofMillis(10);

    /** What the gatherer receives. */
    private sealed interface Message permits Job, Submitted, Answer, Beat {}

    private record Job(int number) implements Message {}

    /** No more jobs will come. */
    private record Submitted(long ns) implements Message {}

    private record Answer(int job, long value, int place, long beginNs, long endNs) implements Message {}

    private record Beat() implements Message {}

    /** What a worker receives. */
    private sealed interface Task permits Begin, End {}

    private record Begin(int job) implements Task {}

    private record End(int job, long x, long beginNs) implements Task {}

    /** What the main thread gets. */
    private record Gathered(Answer[] answers, long endNs, long beats, long gapNs) {}

    private record Start(CompletableFuture<ActorRef<Message>> gatherer, CompletableFuture<Gathered> done) {}

    private final int count;
    private final String kind;
    private final Duration duration;
    private final long rounds;
    private final int workers;
    private final long seed;
    private final boolean trace;
    private long order;
    private long beats;

    private Jobs(Settings settings) {
        count = (int) settings.wholeNumber("jobs", 1, 1_000_000);
        kind = settings.needed("kind", "sleep", "cpu", "noop");
        duration = Duration.ofMillis(settings.wholeNumber("duration_ms", 0, 3_600_000, 1000));
        rounds = settings.wholeNumber("rounds", 1, Settings.MOST, 1_000_000);
        workers = (int) settings.wholeNumber("workers", 1, 1024);
        seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        trace = settings.flag("trace");
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var jobs = new Jobs(settings);
        var hold = settings.flag("hold");
        var repeats = settings.repeats();
        // Each begins with the answer of the one before.
        var last = jobs.first(0);
        for (int i = 0; i < TIMES_ALONE && jobs.kind.equals("cpu"); i++) {
            var startNs = System.nanoTime();
            last = jobs.compute(last);
            Protocol.reportPhase("alone", System.nanoTime() - startNs);
        }
        var system = ActorSystem.create(jobs.guardian(), "jobs", Protocol.config(""));
        for (int i = 0; i < repeats; i++) {
            jobs.inBackground(system, hold && i == 0);
        }
        Protocol.report(
                "::result answers=%d order=%d beats=%d alone=%d",
                (long) repeats * jobs.count, jobs.order, jobs.beats, last);
        system.terminate();
    }

    /** All jobs, once. */
    private void inBackground(ActorRef<Start> guardian, boolean hold) throws Exception {
        var startNs = System.nanoTime();
        var start = new Start(new CompletableFuture<>(), new CompletableFuture<>());
        guardian.tell(start);
        var gatherer = start.gatherer.get();
        for (int i = 0; i < count; i++) {
            gatherer.tell(new Job(i));
        }
        var submittedNs = System.nanoTime();
        gatherer.tell(new Submitted(submittedNs));
        Protocol.reportPhase("submit", submittedNs - startNs);
        if (hold) {
            Protocol.report("::await name=submitted");
            Protocol.awaitLine();
        }
        var gathered = start.done.get();
        Protocol.reportPhase("makespan", gathered.endNs - startNs);
        Protocol.reportPhase("gap", gathered.gapNs);
        beats += gathered.beats;
        for (var answer : gathered.answers) {
            order = (31 * order + answer.value) % Protocol.MODULUS;
            if (trace) {
                Protocol.print("::span unit=%d begin=%d end=%d"
                        .formatted(answer.place, answer.beginNs - startNs, answer.endNs - startNs));
            }
        }
    }

    private long first(int number) {
        return 1 + (seed + number) % (Protocol.MODULUS - 1);
    }

    private long compute(long x) {
        for (long round = kind.equals("cpu") ? rounds : 1; round > 0; round--) {
            x = FACTOR * x % Protocol.MODULUS;
        }
        return x;
    }

    private Behavior<Start> guardian() {
        return Behaviors.receive((context, start) -> {
            start.gatherer.complete(context.spawnAnonymous(Behaviors.setup(self ->
                    Behaviors.withTimers(timers -> new Gatherer(self, timers, start.done).receive()))));
            return Behaviors.same();
        });
    }

    /** Hands jobs to workers that are free; its children, the workers, stop when it does. */
    private final class Gatherer {
        private final TimerScheduler<Message> timers;
        private final CompletableFuture<Gathered> done;
        private final ArrayDeque<Integer> waiting = new ArrayDeque<>();
        private final ArrayDeque<ActorRef<Task>> free = new ArrayDeque<>();
        private final ActorRef<Task>[] places;
        private final Answer[] answers = new Answer[count];
        private int missing = count;
        private long lastBeatNs;
        private long gapNs;
        private long beats;

        @SuppressWarnings("unchecked") // an array of references
        Gatherer(ActorContext<Message> context, TimerScheduler<Message> timers, CompletableFuture<Gathered> done) {
            this.timers = timers;
            this.done = done;
            places = new ActorRef[workers];
            for (int i = 0; i < workers; i++) {
                var place = i;
                // The heart's dispatcher has its threads for itself.
                places[i] = context.spawnAnonymous(
                        Behaviors.<Task>withTimers(its -> worker(its, context.getSelf(), place)),
                        DispatcherSelector.blocking());
                free.add(places[i]);
            }
        }

        Behavior<Message> receive() {
            return Behaviors.receiveMessage(message -> {
                switch (message) {
                    case Job job -> waiting.add(job.number);
                    case Answer answer -> take(answer);
                    case Beat beat -> {
                        beats++;
                        lookBack(System.nanoTime());
                    }
                    case Submitted submitted -> {
                        lastBeatNs = submitted.ns;
                        timers.startTimerWithFixedDelay(new Beat(), BEAT);
                    }
                }
                while (!free.isEmpty() && !waiting.isEmpty()) {
                    free.pop().tell(new Begin(waiting.pop()));
                }
                if (missing > 0 || lastBeatNs == 0) {
                    return Behaviors.same();
                }
                var endNs = System.nanoTime();
                lookBack(endNs);
                done.complete(new Gathered(answers, endNs, beats, gapNs));
                return Behaviors.stopped();
            });
        }

        private void take(Answer answer) {
            answers[answer.job] = answer;
            missing--;
            free.add(places[answer.place]);
        }

        private void lookBack(long nowNs) {
            gapNs = Math.max(gapNs, nowNs - lastBeatNs);
            lastBeatNs = nowNs;
        }
    }

    private Behavior<Task> worker(TimerScheduler<Task> timers, ActorRef<Message> gatherer, int place) {
        return Behaviors.receive((context, task) -> {
            switch (task) {
                case Begin begin -> {
                    var end = new End(begin.job, first(begin.job), System.nanoTime());
                    if (kind.equals("sleep")) {
                        timers.startSingleTimer(end, duration);
                    } else {
                        finish(end, gatherer, place);
                    }
                }
                case End end -> finish(end, gatherer, place);
            }
            return Behaviors.same();
        });
    }

    private void finish(End end, ActorRef<Message> gatherer, int place) {
        var value = compute(end.x);
        gatherer.tell(new Answer(end.job, value, place, end.beginNs, System.nanoTime()));
    }
}
