import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/** The sleepers: a virtual thread for each, and a queue to another one, which collects. */
final class Sleepers {
    private static final long MODULUS = 2147483647;
    private static final long FACTOR = 48271;
    private static final long SECOND_NS = 1_000_000_000;
    private static final int REPORTS = 10;

    /** A task hands over its number and its lateness. */
    private record Wake(long number, long lateNs) {}

    private final LinkedBlockingQueue<Wake> numbers = new LinkedBlockingQueue<>();
    private final CountDownLatch started;
    private final int tasks;
    private final long begin;

    private Sleepers(int tasks, long begin) {
        this.tasks = tasks;
        this.begin = begin;
        started = new CountDownLatch(tasks);
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var tasks = (int) settings.wholeNumber("tasks", 1, 1_000_000);
        var seconds = settings.wholeNumber("seconds", 2, 3600);
        var seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0);
        var hold = settings.flag("hold");
        var sleepers = new Sleepers(tasks, System.nanoTime());
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
            executor.submit(() -> {
                sleepers.start((seconds - 1) * SECOND_NS, seed);
                if (hold) {
                    Output.report("::await name=started");
                    Input.awaitLine();
                }
                sleepers.collect();
                return null;
            }).get();
        }
    }

    private void start(long lastSecondNs, long seed) throws InterruptedException {
        var x = 1 + seed % (MODULUS - 1);
        for (int i = 0; i < tasks; i++) {
            x = FACTOR * x % MODULUS;
            var number = x;
            var instant = begin + lastSecondNs + number * SECOND_NS / MODULUS;
            Thread.startVirtualThread(() -> sleep(number, instant));
        }
        started.await();
        Output.report("::phase name=start ns=%d", System.nanoTime() - begin);
    }

    private void sleep(long number, long instant) {
        started.countDown();
        try {
            long lateNs;
            while ((lateNs = System.nanoTime() - instant) < 0) {
                Thread.sleep(Duration.ofNanos(-lateNs));
            }
            numbers.put(new Wake(number, lateNs));
        } catch (InterruptedException nobodyInterrupts) {
            throw new IllegalStateException(nobodyInterrupts);
        }
    }

    private void collect() throws InterruptedException {
        var sorted = new long[tasks];
        var lateNs = new long[tasks];
        var reports = Math.min(REPORTS, tasks);
        for (int i = 0; i < tasks; i++) {
            var wake = numbers.take();
            sorted[i] = wake.number;
            lateNs[i] = wake.lateNs;
            if ((i + 1L) * reports / tasks > (long) i * reports / tasks) {
                Output.report("::phase name=wake ns=%d", System.nanoTime() - begin);
            }
        }
        Arrays.sort(sorted);
        Arrays.sort(lateNs);
        long order = 0;
        for (var number : sorted) {
            order = (31 * order + number) % MODULUS;
        }
        Output.report(
                "::result sum=%d order=%d late_p50_ns=%d late_p99_ns=%d late_max_ns=%d",
                Arrays.stream(sorted).sum(), order, percentile(lateNs, 50), percentile(lateNs, 99),
                percentile(lateNs, 100));
    }

    /** The smallest lateness that so many percent do not exceed. */
    private static long percentile(long[] sorted, long percent) {
        return sorted[(int) ((sorted.length * percent + 99) / 100 - 1)];
    }
}
