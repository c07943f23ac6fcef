import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpHeader;
import org.apache.pekko.http.javadsl.model.HttpMethods;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;

/** The gateway: Pekko HTTP's server and client; the body is a stream of the calls' results. */
final class Fanout {
    private static final int UNITS = 3;
    private static final int BAD_UPSTREAM = 400;
    private static final String REQUEST_ID = "X-Request-Id";
    private static final String POOL = """
            pekko.http.host-connection-pool.max-connections = 1024
            pekko.http.host-connection-pool.max-open-requests = 4096
            """;

    private final ActorSystem<Void> system;
    private final Http http;
    private final String kind;
    private final List<String> upstreams;
    private final Duration tick;
    private final long timeoutMs;
    private final long work;

    private Fanout(Settings settings) {
        kind = settings.needed("kind", "io", "cpu", "mixed");
        tick = Duration.ofMillis(settings.wholeNumber("tick_ms", 1, Settings.MOST, 50));
        timeoutMs = settings.wholeNumber("timeout_ms", 1, Settings.MOST, 5000);
        work = settings.wholeNumber("work", 1, Settings.MOST, 100_000);
        upstreams = kind.equals("cpu") ? List.of() : upstreams(settings);
        settings.cores();
        var pool = settings.oneOf("connections", "many", "default").equals("many") ? POOL : "";
        system = ActorSystem.create(Behaviors.empty(), "fanout", Protocol.config(Web.SERVER + pool));
        http = Http.get(system);
    }

    public static void main(String[] arguments) {
        var settings = new Settings(arguments);
        var gateway = new Fanout(settings);
        Web.serve(settings, gateway.system, gateway::answer);
    }

    private static List<String> upstreams(Settings settings) {
        var urls = settings.text("upstreams").split(",", -1);
        if (urls.length == UNITS
                && Arrays.stream(urls).allMatch(url -> url.matches("http://127\\.0\\.0\\.1:[1-9][0-9]{0,4}(/[!-~]*)?"))) {
            return List.of(urls);
        }
        throw settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them");
    }

    private HttpResponse answer(HttpRequest request) {
        if (!request.getUri().path().equals("/")) {
            return HttpResponse.create().withStatus(StatusCodes.NOT_FOUND);
        }
        if (!request.method().equals(HttpMethods.GET)) {
            return HttpResponse.create().withStatus(StatusCodes.METHOD_NOT_ALLOWED);
        }
        var id = request.getHeader(REQUEST_ID);
        var pieces = Source.range(0, UNITS - 1).mapAsyncUnordered(UNITS, unit -> piece(unit, id));
        var body = kind.equals("cpu") ? pieces : pieces.keepAlive(tick, () -> ByteString.fromString("."));
        return HttpResponse.create().withEntity(HttpEntities.create(Web.PLAIN, body));
    }

    private CompletionStage<ByteString> piece(int unit, Optional<HttpHeader> id) {
        return switch (kind) {
            case "io" -> status(upstreams.get(unit), id).thenApply("%03d"::formatted).thenApply(ByteString::fromString);
            case "mixed" -> status(upstreams.get(unit), id)
                    .thenApplyAsync(status -> ByteString.fromString("%03d:%d\n".formatted(status, sum())), executor());
            default -> CompletableFuture.supplyAsync(() -> ByteString.fromString(sum() + "\n"), executor());
        };
    }

    private Executor executor() {
        return system.executionContext();
    }

    /** An upstream's status when all of its answer is there; 400 for any failure. */
    private CompletionStage<Integer> status(String upstream, Optional<HttpHeader> id) {
        var request = HttpRequest.GET(upstream);
        return http.singleRequest(id.map(request::addHeader).orElse(request))
                .thenCompose(response -> response.discardEntityBytes(system).completionStage()
                        .thenApply(done -> response.status().intValue()))
                .toCompletableFuture()
                .completeOnTimeout(BAD_UPSTREAM, timeoutMs, TimeUnit.MILLISECONDS)
                .exceptionally(failed -> BAD_UPSTREAM);
    }

    private long sum() {
        long total = 0;
        for (long i = 1; i < work; i++) {
            total += i;
        }
        return total;
    }
}
