import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** The JDK's HTTP server, with a virtual thread for each request. */
final class Web {
    private Web() {}

    static void serve(InetAddress host, int port, HttpHandler handler) throws IOException {
        HttpServer server;
        try {
            server = HttpServer.create(new InetSocketAddress(host, port), Service.BACKLOG);
        } catch (IOException taken) {
            Service.refusePort(port);
            return;
        }
        server.createContext("/", exchange -> {
            // Closing it reads the rest of a request's body, so that the connection can be kept.
            try (exchange) {
                handler.handle(exchange);
            } catch (IOException gone) {
                // The client went away.
            }
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        Service.endWhenTold();
        server.start();
        Service.ready(server.getAddress().getPort());
    }

    static void refuseMethod(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().set("Allow", "GET");
        exchange.sendResponseHeaders(405, -1);
    }
}
