import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;

/** The feed: a virtual thread for each response, which sleeps and writes. */
final class Feed extends HttpServlet {
    private static final String PREFIX = "/test/";

    private final Duration interval;

    private Feed(Settings settings) {
        interval = Duration.ofMillis(settings.wholeNumber("interval_ms", 1, 3_600_000, 1000));
    }

    public static void main(String[] arguments) throws IOException {
        var settings = new Settings(arguments);
        Web.serve(settings, new Feed(settings));
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        var path = Web.path(request);
        var id = path.startsWith(PREFIX) ? path.substring(PREFIX.length()) : "";
        if (!id.matches("[0-9]{1,20}")) {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
        } else if (!request.getMethod().equals("GET")) {
            response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
        } else {
            feed(response, id);
        }
    }

    /** Writes until a write fails, because the client has gone: Tomcat then closes the connection. */
    private void feed(HttpServletResponse response, String id) throws IOException {
        var body = Web.plainText(response);
        body.write(("Welcome: " + id + "\n").getBytes());
        body.flush();
        var due = System.nanoTime();
        for (long k = 1; ; k++) {
            due += interval.toNanos();
            sleepUntil(due);
            body.write(("Chunk " + k + " for " + id + "\n").getBytes());
            body.flush();
        }
    }

    private static void sleepUntil(long dueNs) {
        try {
            Thread.sleep(Duration.ofNanos(Math.max(0, dueNs - System.nanoTime())));
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
