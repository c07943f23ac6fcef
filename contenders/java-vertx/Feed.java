import io.vertx.core.Future;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;

/** The feed: a timer for each response, on the event loop of its connection. */
final class Feed extends Service.Server {
    private static final String PREFIX = "/test/";
    private static final long MS = 1_000_000;
    /** Bytes that wait for a client that does not read: some dozens of messages. */
    private static final int WAITING = 1024;

    private final long intervalNs;

    private Feed(Service.Listening listening, long intervalNs) {
        super(listening);
        this.intervalNs = intervalNs;
    }

    public static void main(String[] arguments) {
        var settings = new Settings(arguments);
        var intervalNs = settings.wholeNumber("interval_ms", 1, 3_600_000, 1000) * MS;
        Service.run(settings, listening -> new Feed(listening, intervalNs));
    }

    @Override
    Future<Integer> listen(String host, int port) {
        var options = new HttpServerOptions().setAcceptBacklog(Service.BACKLOG);
        return vertx.createHttpServer(options)
                .requestHandler(this::handle)
                .invalidRequestHandler(request -> request.response().setStatusCode(400).end())
                .listen(port, host)
                .map(HttpServer::actualPort);
    }

    private void handle(HttpServerRequest request) {
        var path = request.path();
        var id = path != null && path.startsWith(PREFIX) ? path.substring(PREFIX.length()) : "";
        var response = request.response();
        if (!id.matches("[0-9]{1,20}")) {
            response.setStatusCode(404).end();
        } else if (request.method() != HttpMethod.GET) {
            response.setStatusCode(405).end();
        } else {
            new Messages(response, id).begin();
        }
    }

    /** Those of one response, until its client goes away. */
    private final class Messages {
        private final HttpServerResponse response;
        private final String id;
        private long beginNs;
        private long k;
        private long timer;
        private boolean isOpen = true;

        Messages(HttpServerResponse response, String id) {
            this.response = response;
            this.id = id;
        }

        void begin() {
            response.exceptionHandler(gone -> {});
            response.closeHandler(closed -> {
                isOpen = false;
                vertx.cancelTimer(timer);
            });
            response.setChunked(true).setWriteQueueMaxSize(WAITING).putHeader("Content-Type", "text/plain");
            response.write("Welcome: " + id + "\n");
            beginNs = System.nanoTime();
            next();
        }

        /** Writes all that is due, unless the client does not read, and sets the timer. */
        private void next() {
            var waitNs = 0L;
            while (isOpen && (waitNs = beginNs + (k + 1) * intervalNs - System.nanoTime()) <= 0) {
                if (response.writeQueueFull()) {
                    response.drainHandler(drained -> next());
                    return;
                }
                k++;
                response.write("Chunk " + k + " for " + id + "\n");
            }
            if (isOpen) {
                // A timer counts whole milliseconds.
                timer = vertx.setTimer((waitNs + MS - 1) / MS, due -> next());
            }
        }
    }
}
