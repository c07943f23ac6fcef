import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;

/** Standard output and input, and how a server begins and ends. */
final class Protocol {
    static final long MODULUS = 2147483647;

    /** Standard output in blocks: {@code System.out} writes each line by itself. */
    private static final PrintStream OUT =
            new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);

    private Protocol() {}

    static void print(String line) {
        OUT.println(line);
    }

    /** Writes a protocol line at once. */
    static void report(String format, Object... arguments) {
        OUT.println(format.formatted(arguments));
        if (OUT.checkError()) { // which flushes
            System.err.println("cannot write to stdout");
            System.exit(1);
        }
    }

    static void reportPhase(String name, long ns) {
        report("::phase name=%s ns=%d", name, ns);
    }

    /** Waits for a line, or the end of stdin, which is as good. */
    static void awaitLine() {
        try {
            for (int c; (c = System.in.read()) >= 0 && c != '\n'; ) {}
        } catch (IOException ended) {
            // As good as a line.
        }
    }

    /** Pekko's settings, with some in place of its defaults; it logs nothing. */
    static Config config(String settings) {
        return ConfigFactory.parseString("pekko.loglevel = OFF, pekko.stdout-loglevel = OFF\n" + settings)
                .withFallback(ConfigFactory.load());
    }

    /** From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
    static void ready(int port) {
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
        report("::ready port=%d", port);
    }

    static RuntimeException refusePort(int port) {
        System.err.println("port must be one that is free, not " + port);
        System.exit(2);
        return new IllegalStateException();
    }
}
