import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;

/** The background jobs: a virtual thread for each, with a semaphore. The heart beats in the main thread. */
final class Jobs {
    private static final long MODULUS = 2147483647;
    private static final long FACTOR = 48271;
    private static final int TIMES_ALONE = 5;

    private record Answer(long value, int place, long beginNs, long endNs) {}

    private final int count;
    private final String kind;
    private final long durationMs;
    private final long rounds;
    private final int workers;
    private final long seed;
    private final boolean trace;
    private long order;
    private long beats;

    private Jobs(Settings settings) {
        count = (int) settings.wholeNumber("jobs", 1, 1_000_000);
        kind = settings.needed("kind", "sleep", "cpu", "noop");
        durationMs = settings.wholeNumber("duration_ms", 0, 3_600_000, 1000);
        rounds = settings.wholeNumber("rounds", 1, Settings.MOST, 1_000_000);
        workers = (int) settings.wholeNumber("workers", 1, 1024);
        seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        trace = settings.flag("trace");
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        var jobs = new Jobs(settings);
        var hold = settings.flag("hold");
        var repeats = settings.repeats();
        // Each begins with the answer of the one before.
        var last = jobs.first(0);
        for (int i = 0; i < TIMES_ALONE && jobs.kind.equals("cpu"); i++) {
            var start = System.nanoTime();
            last = jobs.work(last);
            Output.report("::phase name=alone ns=%d", System.nanoTime() - start);
        }
        for (int i = 0; i < repeats; i++) {
            jobs.inBackground(hold && i == 0);
        }
        Output.report(
                "::result answers=%d order=%d beats=%d alone=%d",
                (long) repeats * jobs.count, jobs.order, jobs.beats, last);
    }

    /** All jobs, once. */
    private void inBackground(boolean hold) throws Exception {
        var start = System.nanoTime();
        var places = new Places(workers);
        var answers = new ArrayList<Answer>(count);
        Heart heart;
        long end;
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
            var futures = new ArrayList<Future<Answer>>(count);
            for (int i = 0; i < count; i++) {
                var x = first(i);
                futures.add(executor.submit(() -> places.use(() -> work(x))));
            }
            var submitted = System.nanoTime();
            Output.report("::phase name=submit ns=%d", submitted - start);
            heart = new Heart(submitted);
            if (hold) {
                Output.report("::await name=submitted");
                heart.beatUntil(CompletableFuture.runAsync(Input::awaitLine, executor));
            }
            for (var future : futures) {
                answers.add(heart.beatUntil(future));
            }
            end = System.nanoTime();
            Output.report("::phase name=makespan ns=%d", end - start);
        }
        heart.lookBack(end);
        beats += heart.beats();

        Output.report("::phase name=gap ns=%d", heart.gapNs());
        for (var answer : answers) {
            order = (31 * order + answer.value) % MODULUS;
            if (trace) {
                Output.report(
                        "::span unit=%d begin=%d end=%d", answer.place, answer.beginNs - start, answer.endNs - start);
            }
        }
    }

    private long first(int number) {
        return 1 + (seed + number) % (MODULUS - 1);
    }

    private long work(long x) throws InterruptedException {
        if (kind.equals("sleep")) {
            Thread.sleep(durationMs);
        }
        for (long round = kind.equals("cpu") ? rounds : 1; round > 0; round--) {
            x = FACTOR * x % MODULUS;
        }
        return x;
    }

    private interface Work {
        long run() throws InterruptedException;
    }

    /** A semaphore whose places have numbers. */
    private static final class Places {
        private final Semaphore semaphore;
        private final ArrayDeque<Integer> free = new ArrayDeque<>();

        Places(int count) {
            semaphore = new Semaphore(count);
            for (int place = 0; place < count; place++) {
                free.add(place);
            }
        }

        Answer use(Work work) throws InterruptedException {
            semaphore.acquire();
            int place;
            synchronized (free) {
                place = free.pop();
            }
            try {
                var begin = System.nanoTime();
                var value = work.run();
                return new Answer(value, place, begin, System.nanoTime());
            } finally {
                synchronized (free) {
                    free.push(place);
                }
                semaphore.release();
            }
        }
    }
}
