import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

final class JavaVirtualThreads {
    record Sums(long endNs, long checksum, long order) {}

    public static void main(String[] arguments) throws Exception {
        var n = Integer.parseInt(arguments[0]);
        var m = Integer.parseInt(arguments[1]);
        var sums = new CompletableFuture<Sums>();
        BlockingQueue<Long> first = new LinkedBlockingQueue<>();
        var in = first;
        for (var i = 1; i < n; i++) {
            in = relay(i, m, in);
        }
        var last = in;
        unit(() -> sums.complete(receive(m, last)));
        var startNs = System.nanoTime();
        unit(() -> {
            for (long r = m - 1; r >= 0; r--) {
                first.put(r);
            }
        });
        var found = sums.get();
        System.out.println(found.endNs - startNs + " " + found.checksum);
    }

    private static BlockingQueue<Long> relay(int i, int messages, BlockingQueue<Long> in) {
        BlockingQueue<Long> out = new LinkedBlockingQueue<>();
        unit(() -> {
            for (var left = messages; left > 0; left--) {
                out.put(in.take() + i);
            }
        });
        return out;
    }

    private static Sums receive(int messages, BlockingQueue<Long> in) throws InterruptedException {
        long checksum = 0, order = 0;
        for (var left = messages; left > 0; left--) {
            long value = in.take();
            checksum += value;
            order = (31 * order + value) % 2147483647;
        }
        return new Sums(System.nanoTime(), checksum, order);
    }

    private interface Body {
        void run() throws InterruptedException;
    }

    private static void unit(Body body) {
        Thread.startVirtualThread(() -> {
            try {
                body.run();
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
        });
    }
}
