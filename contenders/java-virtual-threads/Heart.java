import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The other work: a beat that is due 10 ms after the one before. */
final class Heart {
    private static final long BEAT_NS = 10_000_000;

    private long lastNs;
    private long dueNs;
    private long gapNs;
    private long beats;

    Heart(long nowNs) {
        lastNs = nowNs;
        dueNs = nowNs + BEAT_NS;
    }

    long gapNs() {
        return gapNs;
    }

    long beats() {
        return beats;
    }

    /** Waits for a result, and beats meanwhile. */
    <T> T beatUntil(Future<T> result) throws InterruptedException, ExecutionException {
        for (; ; ) {
            try {
                return result.get(dueNs - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException due) {
                var nowNs = System.nanoTime();
                if (nowNs >= dueNs) {
                    beats++;
                    lookBack(nowNs);
                    lastNs = nowNs;
                    dueNs = nowNs + BEAT_NS;
                }
            }
        }
    }

    void lookBack(long nowNs) {
        gapNs = Math.max(gapNs, nowNs - lastNs);
    }
}
