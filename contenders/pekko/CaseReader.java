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

    private final FileInputStream file;
    /** Bytes from `begin` to `held` are read and not consumed. */
    private byte[] buffer = new byte[1 << 16];
    private int begin;
    private int held;

    CaseReader(String path) throws IOException {
        file = new FileInputStream(path);
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
        if (begin < held || fill()) {
            throw new Fault("it goes on after case " + count + ", the last");
        }
    }

    /** A line of so many bytes at most, without its newline. BufferedReader would hide that the last one has none. */
    private String line(int most) throws Fault, IOException {
        for (var length = 0; length <= most; length++) {
            if (begin + length == held && !fill()) {
                break;
            }
            if (buffer[begin + length] == '\n') {
                var line = new String(buffer, begin, length, StandardCharsets.ISO_8859_1);
                begin += length + 1;
                return line;
            }
        }
        throw new Fault("a line is cut off, or too long");
    }

    /** Reads more behind what is not consumed, which moves to the front; false at the end of the file. */
    private boolean fill() throws IOException {
        held -= begin;
        System.arraycopy(buffer, begin, buffer, 0, held);
        begin = 0;
        if (held == buffer.length) {
            buffer = Arrays.copyOf(buffer, 2 * held);
        }
        var read = file.read(buffer, held, buffer.length - held);
        held += Math.max(0, read);
        return read > 0;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
