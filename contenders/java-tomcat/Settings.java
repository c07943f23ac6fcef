import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The arguments, {@code key=value} each. A value that cannot be used ends the program with status 2 and one line;
 * unknown keys are ignored. */
final class Settings {
    static final long MOST = 1_000_000_000;

    private final Map<String, String> values = new HashMap<>();

    Settings(String[] arguments) {
        for (var argument : arguments) {
            var pair = argument.split("=", 2);
            values.put(pair[0], pair.length == 2 ? pair[1] : "");
        }
    }

    String text(String key) {
        return values.getOrDefault(key, "");
    }

    long wholeNumber(String key, long least, long most, long otherwise) {
        if (!values.containsKey(key)) {
            return otherwise;
        }
        if (text(key).matches("[0-9]{1,18}")) {
            var number = Long.parseLong(text(key));
            if (least <= number && number <= most) {
                return number;
            }
        }
        throw refuse(key, "a whole number from %d to %d".formatted(least, most));
    }

    /** The address on which a server listens. */
    InetAddress host() {
        var text = values.getOrDefault("host", "127.0.0.1");
        try {
            if (text.matches("[0-9.]+")) {
                return InetAddress.getByName(text);
            }
        } catch (UnknownHostException unknown) {
            // Refused below.
        }
        throw refuse("host", "an IPv4 address");
    }

    String oneOf(String key, String... choices) {
        if (List.of(choices).contains(text(key))) {
            return text(key);
        }
        throw refuse(key, String.join(" or ", choices));
    }

    /** Does not return. */
    RuntimeException refuse(String key, String wanted) {
        System.err.printf("%s must be %s, not \"%s\"%n", key, wanted, text(key).replaceAll("[^ -~]", "?"));
        System.exit(2);
        return new IllegalStateException();
    }
}
