import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;

/** The fibonacci service: a virtual thread for each connection, which reads, computes and writes. */
final class Fib {
    /** Bytes of a line, its newline included. */
    private static final int LONGEST = 100;
    private static final byte[] TOO_LONG = "error: a line may have %d bytes\n".formatted(LONGEST).getBytes();
    private static final int LARGEST = 90;
    private static final byte[] NOT_ANSWERED =
            "error: n must be a whole number from 1 to %d\n".formatted(LARGEST).getBytes();
    private static final int GRACE_MS = 1000;
    /** Until it accepts again, where no descriptor is free. */
    private static final int PAUSE_MS = 10;

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        var host = settings.host();
        var port = settings.port();
        settings.cores();
        ServerSocket listener;
        try {
            listener = new ServerSocket(port, Service.BACKLOG, host);
        } catch (IOException taken) {
            Service.refusePort(port);
            return;
        }
        Service.endWhenTold();
        Service.ready(listener.getLocalPort());
        for (; ; ) {
            try {
                var client = listener.accept();
                Thread.startVirtualThread(() -> converse(client));
            } catch (IOException noDescriptor) {
                Thread.sleep(PAUSE_MS);
            }
        }
    }

    /** Answers one client's requests until it closes. */
    private static void converse(Socket client) {
        try (client) {
            client.setTcpNoDelay(true);
            var in = client.getInputStream();
            var out = client.getOutputStream();
            var unread = new byte[4096];
            var held = 0;
            for (int read; (read = in.read(unread, held, unread.length - held)) > 0; ) {
                held += read;
                var begin = 0;
                for (int end; (end = newline(unread, begin, held)) >= 0; begin = end + 1) {
                    out.write(answer(unread, begin, end));
                }
                if (held - begin >= LONGEST) {
                    out.write(TOO_LONG);
                    client.shutdownOutput();
                    // Closing with bytes unread would reset the connection, and the client might miss the answer.
                    client.setSoTimeout(GRACE_MS);
                    in.transferTo(OutputStream.nullOutputStream());
                    return;
                }
                held -= begin;
                System.arraycopy(unread, begin, unread, 0, held);
            }
        } catch (IOException gone) {
            // The client went away.
        }
    }

    /** Where the line that starts at `begin` ends; -1 where its newline is not there yet, or it is too long. */
    private static int newline(byte[] bytes, int begin, int held) {
        var last = Math.min(held, begin + LONGEST);
        for (var at = begin; at < last; at++) {
            if (bytes[at] == '\n') {
                return at;
            }
        }
        return -1;
    }

    private static byte[] answer(byte[] bytes, int begin, int end) {
        var n = 0;
        for (var at = begin; at < end; at++) {
            var digit = bytes[at] - '0';
            if (digit < 0 || digit > 9) {
                return NOT_ANSWERED;
            }
            n = Math.min(10 * n + digit, LARGEST + 1);
        }
        return n < 1 || n > LARGEST ? NOT_ANSWERED : (fib(n) + "\n").getBytes();
    }

    private static long fib(int n) {
        return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
    }
}
