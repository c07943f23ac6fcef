import java.util.Arrays;

/** What the collector of the restarts knows of its units: each one's next message, its answers and failures. */
final class RestartsBooks {
    private static final long MODULUS = 2147483647;
    private static final long FACTOR = 48271;

    private static final class Unit {
        long number;
        long left;
        long folded;
        long sent;
        // When the message was sent that made it fail, until it has answered since.
        long failed;
        boolean hasFailed;
    }

    /** Times in nanoseconds, so many of them. */
    private static final class Times {
        final long[] ns;
        int count;

        Times(int most) {
            ns = new long[most];
        }

        void add(long time) {
            ns[count++] = time;
        }

        /** The smallest that so many percent do not exceed; 0 where there is none. */
        String percentiles(String name) {
            Arrays.sort(ns, 0, count);
            return "%1$s_p50_ns=%2$d %1$s_p99_ns=%3$d %1$s_max_ns=%4$d".formatted(name, at(50), at(99), at(100));
        }

        private long at(long percent) {
            return count == 0 ? 0 : ns[(int) ((count * percent + 99) / 100 - 1)];
        }
    }

    private final int messages;
    private final long failingBelow;
    private final Unit[] units;
    private final Times answer;
    private final Times recovery;
    private final Times calm;
    private boolean failing;
    private Times others;
    private int open;
    private long answers;
    private long failures;
    private long fresh;

    RestartsBooks(int units, int messages, long failingBelow, long seed) {
        this.messages = messages;
        this.failingBelow = failingBelow;
        this.units = new Unit[units];
        for (int unit = 0; unit < units; unit++) {
            this.units[unit] = new Unit();
            this.units[unit].number = 1 + (seed + unit) % (MODULUS - 1);
        }
        answer = new Times(Math.multiplyExact(units, messages));
        recovery = new Times(units * messages);
        calm = new Times(units * messages);
    }

    /** Units with messages left in this pass. */
    int open() {
        return open;
    }

    void begin(String pass) {
        failing = pass.equals("failing");
        others = failing ? answer : calm;
        others.count = 0;
        for (var unit : units) {
            unit.left = messages;
        }
        open = units.length;
    }

    /** The unit's next message, which is sent now. */
    Restarts.Message message(int index) {
        var unit = units[index];
        unit.number = FACTOR * unit.number % MODULUS;
        unit.left--;
        var fails = failing && unit.number < failingBelow && unit.left > 0 && !unit.hasFailed;
        unit.sent = System.nanoTime();
        return new Restarts.Message(unit.number, fails);
    }

    void failed(int index) {
        failures++;
        units[index].failed = units[index].sent;
        units[index].hasFailed = true;
    }

    /** Takes an answer, and returns whether the unit has another message. */
    boolean answered(Restarts.Event event) {
        var now = System.nanoTime();
        var unit = units[event.unit()];
        if (unit.hasFailed) {
            fresh += event.born() - unit.failed >= 0 ? 1 : 0;
            recovery.add(now - unit.failed);
            unit.hasFailed = false;
        } else {
            others.add(now - unit.sent);
        }
        answers++;
        unit.folded = (31 * unit.folded + event.folded() + event.handled()) % MODULUS;
        if (unit.left == 0) {
            open--;
        }
        return unit.left > 0;
    }

    void report() {
        long order = 0;
        for (var unit : units) {
            order = (31 * order + unit.folded) % MODULUS;
        }
        Protocol.report(
                "::result answers=%d failures=%d fresh=%d order=%d %s %s %s",
                answers, failures, fresh, order, answer.percentiles("answer"), recovery.percentiles("recovery"),
                calm.percentiles("calm"));
    }
}
