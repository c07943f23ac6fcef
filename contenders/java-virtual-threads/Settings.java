import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The arguments, {@code key=value} each. A value that cannot be used ends the program with status 2 and one line;
 * unknown keys are ignored. */
final class Settings {
    static final long MOST = 1_000_000_000;

    private final Map<String, String> given = new HashMap<>();

    Settings(String[] arguments) {
        for (var argument : arguments) {
            var pair = argument.split("=", 2);
            given.put(pair[0], pair.length == 2 ? pair[1] : "");
        }
    }

    /** The value of a key that must be there. */
    String text(String key) {
        return given.getOrDefault(key, "");
    }

    /** The value of a key that must be there. */
    long wholeNumber(String key, long least, long most) {
        var text = text(key);
        if (text.matches("[0-9]{1,18}")) {
            var number = Long.parseLong(text);
            if (least <= number && number <= most) {
                return number;
            }
        }
        throw refuse(key, "a whole number from %d to %d".formatted(least, most));
    }

    long wholeNumber(String key, long least, long most, long otherwise) {
        return given.containsKey(key) ? wholeNumber(key, least, most) : otherwise;
    }

    int cores() {
        return (int) wholeNumber("cores", 1, 1024, 1);
    }

    int port() {
        return (int) wholeNumber("port", 0, 65535, 0);
    }

    /** The address on which a server listens. */
    InetAddress host() {
        var text = given.getOrDefault("host", "127.0.0.1");
        try {
            if (text.matches("[0-9.]+")) {
                return InetAddress.getByName(text);
            }
        } catch (UnknownHostException unknown) {
            // Refused below.
        }
        throw refuse("host", "an IPv4 address");
    }

    int repeats() {
        return (int) wholeNumber("repeats", 1, 3000, 1);
    }

    boolean flag(String key) {
        return oneOf(key, "0", "1").equals("1");
    }

    /** The first choice is the default. */
    String oneOf(String key, String... choices) {
        return given.containsKey(key) ? needed(key, choices) : choices[0];
    }

    String needed(String key, String... choices) {
        var text = text(key);
        if (List.of(choices).contains(text)) {
            return text;
        }
        throw refuse(key, String.join(" or ", choices));
    }

    /** Does not return. */
    RuntimeException refuse(String key, String wanted) {
        var text = text(key).replaceAll("[^ -~]", "?");
        System.err.println("%s must be %s, not \"%s\"".formatted(key, wanted, text));
        System.exit(2);
        return new IllegalStateException();
    }
}
