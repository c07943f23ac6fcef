import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpMethods;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.japi.Pair;
import org.apache.pekko.pattern.Patterns;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.util.ByteString;

/** The feed on Pekko HTTP: a stream for each response, whose next message is made when the connection takes one. */
final class Feed {
    private static final String PREFIX = "/test/";

    /** The message that comes next, and when the first one was made. */
    private record Next(long k, long beginNs) {}

    private final ActorSystem<Void> system;
    private final long intervalNs;

    private Feed(Settings settings) {
        intervalNs = settings.wholeNumber("interval_ms", 1, 3_600_000, 1000) * 1_000_000;
        settings.cores();
        system = ActorSystem.create(Behaviors.empty(), "feed", Protocol.config(Web.SERVER));
    }

    public static void main(String[] arguments) {
        var settings = new Settings(arguments);
        var feed = new Feed(settings);
        Web.serve(settings, feed.system, feed::answer);
    }

    private HttpResponse answer(HttpRequest request) {
        var path = request.getUri().path();
        var id = path.startsWith(PREFIX) ? path.substring(PREFIX.length()) : "";
        if (id.isEmpty() || id.length() > 20 || !id.chars().allMatch(digit -> '0' <= digit && digit <= '9')) {
            return HttpResponse.create().withStatus(StatusCodes.NOT_FOUND);
        }
        if (!request.method().equals(HttpMethods.GET)) {
            return HttpResponse.create().withStatus(StatusCodes.METHOD_NOT_ALLOWED);
        }
        var messages = Source.unfoldAsync(new Next(0, 0), next -> message(next, id));
        return HttpResponse.create().withEntity(HttpEntities.create(Web.PLAIN, messages));
    }

    private CompletionStage<Optional<Pair<Next, ByteString>>> message(Next next, String id) {
        var nowNs = System.nanoTime();
        if (next.k == 0) {
            return CompletableFuture.completedStage(element(new Next(1, nowNs), "Welcome: " + id + "\n"));
        }
        var waitNs = next.beginNs + next.k * intervalNs - nowNs;
        var message = element(new Next(next.k + 1, next.beginNs), "Chunk " + next.k + " for " + id + "\n");
        return waitNs <= 0
                ? CompletableFuture.completedStage(message)
                : Patterns.after(Duration.ofNanos(waitNs), system, () -> CompletableFuture.completedStage(message));
    }

    private static Optional<Pair<Next, ByteString>> element(Next next, String message) {
        return Optional.of(Pair.create(next, ByteString.fromString(message)));
    }
}
