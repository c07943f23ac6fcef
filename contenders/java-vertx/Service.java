import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.logging.LogManager;

/** How a server of Vert.x begins and ends. */
final class Service {
    static final int BACKLOG = 4096;
    /** Any free port, the same one for all verticles of a deployment. */
    private static final int ANY_FOR_ALL = -1;

    private Service() {}

    /** A server on an event loop. */
    abstract static class Server extends VerticleBase {
        private final String host;
        private final int port;
        private final AtomicInteger actualPort;

        Server(Listening listening) {
            host = listening.host;
            port = listening.port;
            actualPort = listening.actualPort;
        }

        @Override
        public final Future<?> start() {
            return listen(host, port).onSuccess(actualPort::set);
        }

        /** The port on which it listens. */
        abstract Future<Integer> listen(String host, int port);
    }

    /** Where all servers of a program listen. */
    record Listening(String host, int port, AtomicInteger actualPort) {}

    interface Program {
        Server server(Listening listening);
    }

    /** Deploys a server on each of so many event loops as there are cores. */
    static void run(Settings settings, Program program) {
        var cores = (int) settings.wholeNumber("cores", 1, 1024, 1);
        var port = (int) settings.wholeNumber("port", 0, 65535, 0);
        var listening = new Listening(
                settings.host().getHostAddress(), port == 0 ? ANY_FOR_ALL : port, new AtomicInteger());
        LogManager.getLogManager().reset();
        var vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(cores));
        Supplier<Server> servers = () -> program.server(listening);
        vertx.deployVerticle(servers, new DeploymentOptions().setInstances(cores))
                .onSuccess(id -> {
                    endWhenTold();
                    System.out.println("::ready port=" + listening.actualPort.get());
                    System.out.flush();
                })
                .onFailure(taken -> {
                    System.err.println("port must be one that is free, not " + port);
                    Runtime.getRuntime().halt(2);
                });
    }

    /** From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
    private static void endWhenTold() {
        var runtime = Runtime.getRuntime();
        runtime.addShutdownHook(new Thread(() -> runtime.halt(0)));
        Thread.ofPlatform().daemon().start(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException ended) {
                // An end too.
            }
            runtime.halt(0);
        });
    }
}
