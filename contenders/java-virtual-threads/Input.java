import java.io.IOException;
import java.io.InputStreamReader;

/** Standard input. */
final class Input {
    private Input() {}

    /** Waits for a line, or the end of stdin, which is as good. */
    static void awaitLine() {
        try {
            var reader = new InputStreamReader(System.in);
            for (int c; (c = reader.read()) >= 0 && c != '\n'; ) {}
        } catch (IOException ended) {
            // As good as a line.
        }
    }

    /** Calls it when stdin has ended. */
    static void whenEnded(Runnable action) {
        Thread.ofPlatform().daemon().start(() -> {
            try {
                System.in.transferTo(java.io.OutputStream.nullOutputStream());
            } catch (IOException ended) {
                // An end too.
            }
            action.run();
        });
    }
}
