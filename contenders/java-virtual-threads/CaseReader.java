import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads the input of the batch, case by case. Its messages are meant for one line on stderr. */
final class CaseReader implements Closeable {
    private static final int MOST_SIZE = 1_000_000;
    /** A sign, six digits and a space. */
    private static final int NUMBER_BYTES = 8;

    /** What is wrong with the input. */
    static final class Fault extends Exception {
        Fault(String message) {
            super(message, null, false, false);
        }
    }

    private final BufferedInputStream file;
    private byte[] line = new byte[1 << 12];

    CaseReader(String path) throws IOException {
        file = new BufferedInputStream(new FileInputStream(path), 1 << 16);
    }

    CaseText next(int number) throws Fault, IOException {
        var size = wholeNumber("case " + number + ": a size", MOST_SIZE);
        return new CaseText(number, size, line(size * NUMBER_BYTES), line(size * NUMBER_BYTES));
    }

    int wholeNumber(String what, int most) throws Fault, IOException {
        var text = line(20);
        try {
            var number = Integer.parseInt(text);
            if (0 <= number && number <= most) {
                return number;
            }
        } catch (NumberFormatException notOne) {
            // Refused below.
        }
        throw new Fault(what + " must be a whole number from 0 to " + most);
    }

    void end(int count) throws Fault, IOException {
        if (file.read() >= 0) {
            throw new Fault("it goes on after case " + count + ", the last");
        }
    }

    /** A line of so many bytes at most, without its newline. BufferedReader would hide that the last one has none. */
    private String line(int most) throws Fault, IOException {
        for (int length = 0; ; length++) {
            var next = file.read();
            if (next == '\n') {
                return new String(line, 0, length, StandardCharsets.ISO_8859_1);
            }
            if (next < 0 || length == most) {
                throw new Fault("a line is cut off, or too long");
            }
            if (length == line.length) {
                line = Arrays.copyOf(line, 2 * length);
            }
            line[length] = (byte) next;
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
