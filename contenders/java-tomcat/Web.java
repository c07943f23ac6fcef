import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.logging.LogManager;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.core.StandardVirtualThreadExecutor;
import org.apache.catalina.startup.Tomcat;

/** Tomcat inside a program: each request is handled on a virtual thread. */
final class Web {
    private static final int BACKLOG = 4096;
    private static final int MOST_CONNECTIONS = 20_000;

    private Web() {}

    /** Serves a servlet, which sees every path. */
    static void serve(Settings settings, HttpServlet servlet) throws IOException {
        settings.wholeNumber("cores", 1, 1024, 1);
        var port = (int) settings.wholeNumber("port", 0, 65535, 0);
        LogManager.getLogManager().reset();
        // Tomcat wants a folder, and puts nothing into it that is needed afterwards.
        var folder = Files.createTempDirectory("tomcat");
        var tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(port);
        var connector = tomcat.getConnector();
        connector.setThrowOnFailure(true);
        connector.setProperty("address", settings.host().getHostAddress());
        connector.setProperty("acceptCount", Integer.toString(BACKLOG));
        connector.setProperty("maxConnections", Integer.toString(MOST_CONNECTIONS));
        var executor = new StandardVirtualThreadExecutor();
        executor.setName("virtual");
        tomcat.getService().addExecutor(executor);
        connector.getProtocolHandler().setExecutor(executor);
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "servlet", servlet).addMapping("/");
        try {
            tomcat.start();
        } catch (LifecycleException taken) {
            remove(folder);
            System.err.println("port must be one that is free, not " + port);
            Runtime.getRuntime().halt(2);
        }
        remove(folder);
        endWhenTold();
        System.out.println("::ready port=" + connector.getLocalPort());
        System.out.flush();
    }

    private static void remove(Path folder) throws IOException {
        try (var files = Files.walk(folder)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** The path as it was sent. */
    static String path(HttpServletRequest request) {
        return request.getRequestURI();
    }

    static OutputStream plainText(HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        return response.getOutputStream();
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
