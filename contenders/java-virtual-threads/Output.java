import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

/** Standard output, collected into blocks of 64 KiB: {@code System.out} writes each line by itself. */
final class Output {
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), false) {
                private final StringBuilder block = new StringBuilder();

                @Override
                public synchronized void println(String line) {
                    block.append(line).append('\n');
                    if (block.length() >= 1 << 16) {
                        flush();
                    }
                }

                @Override
                public synchronized void flush() {
                    var text = block.toString();
                    block.setLength(0);
                    super.print(text);
                    super.flush();
                }
            };

    private Output() {}

    static void print(String line) {
        OUT.println(line);
    }

    /** Writes a protocol line at once. */
    static void report(String format, Object... arguments) {
        OUT.println(format.formatted(arguments));
        OUT.flush();
        if (OUT.checkError()) {
            System.err.println("cannot write to stdout");
            System.exit(1);
        }
    }
}
