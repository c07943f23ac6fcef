import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.parsetools.RecordParser;

/** The fibonacci service: lines on an event loop, which computes too. */
final class Fib extends Service.Server {
    /** Bytes of a line, its newline included. */
    private static final int LONGEST = 100;
    private static final String TOO_LONG = "error: a line may have %d bytes\n".formatted(LONGEST);
    private static final int LARGEST = 90;
    private static final String NOT_ANSWERED = "error: n must be a whole number from 1 to %d\n".formatted(LARGEST);
    private static final int GRACE_MS = 200;

    private Fib(Service.Listening listening) {
        super(listening);
    }

    public static void main(String[] arguments) {
        Service.run(new Settings(arguments), Fib::new);
    }

    @Override
    Future<Integer> listen(String host, int port) {
        var options = new NetServerOptions().setAcceptBacklog(Service.BACKLOG);
        return vertx.createNetServer(options)
                .connectHandler(this::converse)
                .listen(port, host)
                .map(NetServer::actualPort);
    }

    private void converse(NetSocket client) {
        var isOver = new boolean[1];
        var lines = RecordParser.newDelimited("\n");
        lines.maxRecordSize(LONGEST - 1);
        lines.exceptionHandler(tooLong -> hangUp(client, isOver));
        lines.handler(line -> {
            if (line.length() >= LONGEST) {
                hangUp(client, isOver);
            } else if (!isOver[0]) {
                client.write(answer(line));
            }
        });
        client.exceptionHandler(gone -> {});
        client.handler(data -> {
            lines.handle(data);
            // The server does not read from a client that does not read.
            if (client.writeQueueFull()) {
                client.pause();
                client.drainHandler(drained -> client.resume());
            }
        });
    }

    /** Closing with bytes unread would reset the connection, and the client might miss the answer. */
    private void hangUp(NetSocket client, boolean[] isOver) {
        if (isOver[0]) {
            return;
        }
        isOver[0] = true;
        client.handler(unread -> {});
        client.write(TOO_LONG);
        vertx.setTimer(GRACE_MS, timer -> client.close());
    }

    private static String answer(Buffer line) {
        var n = 0;
        for (var at = 0; at < line.length(); at++) {
            var digit = line.getByte(at) - '0';
            if (digit < 0 || digit > 9) {
                return NOT_ANSWERED;
            }
            n = Math.min(10 * n + digit, LARGEST + 1);
        }
        return n < 1 || n > LARGEST ? NOT_ANSWERED : fib(n) + "\n";
    }

    private static long fib(int n) {
        return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
    }
}
