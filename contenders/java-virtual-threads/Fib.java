import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** The fibonacci service: a virtual thread for each connection, which reads, computes and writes. */
final class Fib {
    /** Bytes of a line, its newline included. */
    private static final int LONGEST = 100;
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
            var in = new BufferedInputStream(client.getInputStream(), 1024);
            var out = client.getOutputStream();
            var line = new byte[LONGEST];
            for (int length; (length = readLine(in, line)) >= 0; ) {
                if (length == LONGEST && line[length - 1] != '\n') {
                    out.write("error: a line may have %d bytes\n".formatted(LONGEST).getBytes());
                    client.shutdownOutput();
                    // Closing with bytes unread would reset the connection, and the client might miss the answer.
                    client.setSoTimeout(GRACE_MS);
                    in.transferTo(java.io.OutputStream.nullOutputStream());
                    return;
                }
                out.write(answer(new String(line, 0, length - 1, StandardCharsets.ISO_8859_1)).getBytes());
            }
        } catch (IOException gone) {
            // The client went away.
        }
    }

    /** The length of a line with its newline; that of the array where the line is longer; -1 at the end. */
    private static int readLine(InputStream in, byte[] line) throws IOException {
        for (int length = 0; length < line.length; ) {
            var next = in.read();
            if (next < 0) {
                return -1;
            }
            line[length++] = (byte) next;
            if (next == '\n') {
                return length;
            }
        }
        return line.length;
    }

    private static String answer(String line) {
        if (line.matches("[0-9]{1,99}")) {
            var digits = line.replaceFirst("^0+", "");
            var n = digits.isEmpty() || digits.length() > 2 ? 0 : Integer.parseInt(digits);
            if (1 <= n && n <= 90) {
                return fib(n) + "\n";
            }
        }
        return "error: n must be a whole number from 1 to 90\n";
    }

    private static long fib(int n) {
        return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
    }
}
