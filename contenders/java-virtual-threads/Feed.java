import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.time.Duration;

/** The feed on the JDK's HTTP server: a virtual thread for each response. */
final class Feed {
    private static final String PREFIX = "/test/";

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var interval = Duration.ofMillis(settings.wholeNumber("interval_ms", 1, 3_600_000, 1000));
        Web.serve(settings.host(), settings.port(), exchange -> {
            var path = exchange.getRequestURI().getRawPath();
            var id = path.startsWith(PREFIX) ? path.substring(PREFIX.length()) : "";
            if (!id.matches("[0-9]{1,20}")) {
                exchange.sendResponseHeaders(404, -1);
            } else if (!exchange.getRequestMethod().equals("GET")) {
                Web.refuseMethod(exchange);
            } else {
                feed(exchange, id, interval);
            }
        });
    }

    /** Writes until a write fails, because the client has gone. */
    private static void feed(HttpExchange exchange, String id, Duration interval) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        exchange.sendResponseHeaders(200, 0);
        try (var body = exchange.getResponseBody()) {
            body.write("Welcome: %s\n".formatted(id).getBytes());
            body.flush();
            var due = System.nanoTime();
            for (long k = 1; ; k++) {
                due += interval.toNanos();
                // Thread.sleep does not end early, and no thread interrupts it.
                Thread.sleep(Duration.ofNanos(Math.max(0, due - System.nanoTime())));
                body.write(("Chunk " + k + " for " + id + "\n").getBytes());
                body.flush();
            }
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
