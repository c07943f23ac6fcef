import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The gateway: Tomcat and the JDK's client, a virtual thread for each request and each call. */
final class Fanout extends HttpServlet {
    private static final int UNITS = 3;
    private static final int BAD_UPSTREAM = 400;
    private static final String REQUEST_ID = "X-Request-Id";

    private final String kind;
    private final List<URI> upstreams;
    private final long tickMs;
    private final long timeoutMs;
    private final long work;
    private final HttpClient client =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .executor(Executors.newVirtualThreadPerTaskExecutor())
                    .build();

    private Fanout(Settings settings) {
        kind = settings.oneOf("kind", "io", "cpu", "mixed");
        tickMs = settings.wholeNumber("tick_ms", 1, Settings.MOST, 50);
        timeoutMs = settings.wholeNumber("timeout_ms", 1, Settings.MOST, 5000);
        work = settings.wholeNumber("work", 1, Settings.MOST, 100_000);
        upstreams = kind.equals("cpu") ? List.of() : upstreams(settings);
    }

    public static void main(String[] arguments) throws IOException {
        var settings = new Settings(arguments);
        Web.serve(settings, new Fanout(settings));
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

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!Web.path(request).equals("/")) {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
        } else if (!request.getMethod().equals("GET")) {
            response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
        } else {
            answer(request.getHeader(REQUEST_ID), response);
        }
    }

    /** Writes each piece as soon as it is ready, and a dot for every tick without one. */
    private void answer(String id, HttpServletResponse response) throws IOException {
        var pieces = new LinkedBlockingQueue<String>();
        for (int i = 0; i < UNITS; i++) {
            var unit = i;
            Thread.startVirtualThread(() -> pieces.add(piece(unit, id)));
        }
        var body = Web.plainText(response);
        for (int missing = UNITS; missing > 0; ) {
            var piece = next(pieces);
            body.write((piece == null ? "." : piece).getBytes());
            missing -= piece == null ? 0 : 1;
            if (missing > 0) {
                body.flush(); // The end of the body goes out with the last piece.
            }
        }
    }

    private String next(BlockingQueue<String> pieces) {
        try {
            return kind.equals("cpu") ? pieces.take() : pieces.poll(tickMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private String piece(int unit, String id) {
        return switch (kind) {
            case "io" -> "%03d".formatted(status(upstreams.get(unit), id));
            case "mixed" -> "%03d:%d\n".formatted(status(upstreams.get(unit), id), sum());
            default -> sum() + "\n";
        };
    }

    /** An upstream's status when all of its answer is there; 400 for any failure. */
    private int status(URI upstream, String id) {
        var request = HttpRequest.newBuilder(upstream);
        if (id != null) {
            request.header(REQUEST_ID, id);
        }
        // HttpRequest's own timeout ends when the head has come.
        var response = client.sendAsync(request.build(), BodyHandlers.discarding());
        try {
            return response.get(timeoutMs, TimeUnit.MILLISECONDS).statusCode();
        } catch (TimeoutException late) {
            response.cancel(true);
            return BAD_UPSTREAM;
        } catch (ExecutionException | InterruptedException failed) {
            return BAD_UPSTREAM;
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
