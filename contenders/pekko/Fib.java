import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.japi.Pair;
import org.apache.pekko.stream.javadsl.Flow;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Tcp;
import org.apache.pekko.util.ByteString;

/** The fibonacci service: Pekko's streams over TCP, an actor for each connection and one for its stream. */
final class Fib {
    private static final int BACKLOG = 4096;
    /** Bytes of a line, its newline included. */
    private static final int LONGEST = 100;
    private static final int LARGEST = 90;
    private static final ByteString TOO_LONG =
            ByteString.fromString("error: a line may have %d bytes\n".formatted(LONGEST));
    private static final ByteString NOT_ANSWERED =
            ByteString.fromString("error: n must be a whole number from 1 to %d\n".formatted(LARGEST));

    /** What has come of a line, and whether another one was too long. */
    private record Rest(ByteString bytes, boolean isTooLong) {}

    public static void main(String[] arguments) {
        var settings = new Settings(arguments);
        settings.cores();
        var host = settings.host();
        var port = settings.port();
        var system = ActorSystem.create(Behaviors.empty(), "fib", Protocol.config(""));
        var connections = Tcp.get(system).bind(host, port, BACKLOG, List.of(), false, Optional.empty());
        try {
            var binding = connections
                    .to(Sink.foreach(connection -> connection.handleWith(answers(), system)))
                    .run(system)
                    .toCompletableFuture()
                    .join();
            Protocol.ready(binding.localAddress().getPort());
        } catch (CompletionException taken) {
            throw Protocol.refusePort(port);
        }
    }

    /** The answers to all lines of what came, and so on, until a line is too long. */
    private static Flow<ByteString, ByteString, NotUsed> answers() {
        return Flow.of(ByteString.class)
                .statefulMap(
                        () -> new Rest(ByteString.emptyByteString(), false),
                        (rest, bytes) -> answer(rest.bytes.concat(bytes)),
                        rest -> Optional.empty())
                .takeWhile(answered -> !answered.first(), true)
                .map(Pair::second)
                .filter(answer -> !answer.isEmpty());
    }

    private static Pair<Rest, Pair<Boolean, ByteString>> answer(ByteString bytes) {
        var answers = ByteString.createBuilder();
        var begin = 0;
        for (int end; (end = bytes.indexOf((byte) '\n', begin)) >= 0 && end - begin < LONGEST; begin = end + 1) {
            answers.append(answer(bytes, begin, end));
        }
        var isTooLong = bytes.length() - begin >= LONGEST;
        if (isTooLong) {
            answers.append(TOO_LONG);
        }
        return Pair.create(new Rest(bytes.drop(begin), isTooLong), Pair.create(isTooLong, answers.result()));
    }

    private static ByteString answer(ByteString bytes, int begin, int end) {
        var n = 0;
        for (var at = begin; at < end; at++) {
            var digit = bytes.apply(at) - '0';
            if (digit < 0 || digit > 9) {
                return NOT_ANSWERED;
            }
            n = Math.min(10 * n + digit, LARGEST + 1);
        }
        return n < 1 || n > LARGEST ? NOT_ANSWERED : ByteString.fromString(fib(n) + "\n");
    }

    private static long fib(int n) {
        return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
    }
}
