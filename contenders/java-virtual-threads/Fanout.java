import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** The gateway: the JDK's HTTP server and client, a virtual thread for each request and each call. */
final class Fanout {
    private static final int UNITS = 3;
    private static final int BAD_UPSTREAM = 400;

    private final HttpClient client =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .executor(Executors.newVirtualThreadPerTaskExecutor())
                    .build();
    private final String kind;
    private final List<URI> upstreams;
    private final long tickMs;
    private final long timeoutMs;
    private final long work;

    private Fanout(Settings settings) {
        kind = settings.needed("kind", "io", "cpu", "mixed");
        tickMs = settings.wholeNumber("tick_ms", 1, Settings.MOST, 50);
        timeoutMs = settings.wholeNumber("timeout_ms", 1, Settings.MOST, 5000);
        work = settings.wholeNumber("work", 1, Settings.MOST, 100_000);
        upstreams = kind.equals("cpu") ? List.of() : upstreams(settings);
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        settings.cores();
        var port = settings.port();
        var gateway = new Fanout(settings);
        Web.serve(settings.host(), port, exchange -> {
            if (!"/".equals(exchange.getRequestURI().getRawPath())) {
                exchange.sendResponseHeaders(404, -1);
            } else if (!exchange.getRequestMethod().equals("GET")) {
                Web.refuseMethod(exchange);
            } else {
                gateway.answer(exchange);
            }
        });
    }

    private static List<URI> upstreams(Settings settings) {
        var urls = settings.text("upstreams").split(",", -1);
        var usable = urls.length == UNITS
                && Arrays.stream(urls).allMatch(url -> url.matches("http://127\\.0\\.0\\.1:[1-9][0-9]{0,4}(/[!-~]*)?"));
        try {
            if (usable) {
                return Arrays.stream(urls).map(URI::create).toList();
            }
        } catch (IllegalArgumentException unusable) {
            // Refused below.
        }
        throw settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them");
    }

    private void answer(HttpExchange exchange) throws IOException {
        var id = exchange.getRequestHeaders().getFirst("X-Request-Id");
        var pieces = new LinkedBlockingQueue<String>();
        start(pieces, switch (kind) {
            case "io" -> unit -> "%03d".formatted(status(upstreams.get(unit), id));
            case "mixed" -> unit -> "%03d:%d\n".formatted(status(upstreams.get(unit), id), sum());
            default -> unit -> sum() + "\n";
        });
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        try {
            write(exchange, pieces);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static void start(LinkedBlockingQueue<String> pieces, IntFunction<String> unit) {
        for (int i = 0; i < UNITS; i++) {
            var number = i;
            Thread.startVirtualThread(() -> pieces.add(unit.apply(number)));
        }
    }

    /** Writes each piece as soon as it is ready, and a dot for every tick without one. */
    private void write(HttpExchange exchange, LinkedBlockingQueue<String> pieces)
            throws IOException, InterruptedException {
        var waitMs = kind.equals("cpu") ? Long.MAX_VALUE : tickMs;
        var piece = pieces.poll(waitMs, TimeUnit.MILLISECONDS);
        exchange.sendResponseHeaders(200, 0);
        try (var body = exchange.getResponseBody()) {
            for (int missing = UNITS; ; piece = pieces.poll(waitMs, TimeUnit.MILLISECONDS)) {
                body.write((piece == null ? "." : piece).getBytes());
                if (piece != null && --missing == 0) {
                    return; // The end of the body goes out with the last piece.
                }
                body.flush();
            }
        }
    }

    /** An upstream's status when all of its answer is there; 400 for any failure. */
    private int status(URI upstream, String id) {
        var request = HttpRequest.newBuilder(upstream);
        if (id != null) {
            request.header("X-Request-Id", id);
        }
        // HttpRequest's own timeout ends when the head has come.
        var response = client.sendAsync(request.build(), BodyHandlers.discarding());
        try {
            return response.get(timeoutMs, TimeUnit.MILLISECONDS).statusCode();
        } catch (TimeoutException late) {
            response.cancel(true);
            return BAD_UPSTREAM;
        } catch (ExecutionException failed) {
            return BAD_UPSTREAM;
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private long sum() {
        long total = 0;
        for (long i = 1; i < work; i++) {
            total += i;
        }
        return total;
    }
}
