import java.util.concurrent.CompletionException;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.ContentType;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.japi.function.Function;

/** Pekko HTTP's server. */
final class Web {
    static final ContentType PLAIN = ContentTypes.TEXT_PLAIN_UTF8;
    /** Defaults are 1,024 connections and a backlog of 100. */
    static final String SERVER = """
            pekko.http.server.max-connections = 20000
            pekko.http.server.backlog = 4096
            """;

    private Web() {}

    static void serve(Settings settings, ActorSystem<Void> system, Function<HttpRequest, HttpResponse> handler) {
        var port = settings.port();
        try {
            var binding = Http.get(system)
                    .newServerAt(settings.host(), port)
                    .bindSync(handler)
                    .toCompletableFuture()
                    .join();
            Protocol.ready(binding.localAddress().getPort());
        } catch (CompletionException taken) {
            throw Protocol.refusePort(port);
        }
    }
}
