import java.util.Arrays;

/** A case as the input has it. */
record CaseText(int number, int size, String first, String second) {
    private static final int LARGEST = 100_000;

    int bytes() {
        return first.length() + second.length();
    }

    /** The smallest scalar product over all orders of the two vectors. */
    long smallestProduct() throws CaseReader.Fault {
        var upwards = sorted(first);
        var downwards = sorted(second);
        long product = 0;
        for (int i = 0; i < size; i++) {
            product += (long) upwards[i] * downwards[size - 1 - i];
        }
        return product;
    }

    private int[] sorted(String text) throws CaseReader.Fault {
        var words = text.isEmpty() ? new String[0] : text.split(" ", -1);
        if (words.length != size) {
            throw new CaseReader.Fault(
                    "case %d: a vector has %d numbers instead of %d".formatted(number, words.length, size));
        }
        var numbers = new int[size];
        for (int i = 0; i < size; i++) {
            numbers[i] = parse(words[i]);
        }
        Arrays.sort(numbers);
        return numbers;
    }

    private int parse(String word) throws CaseReader.Fault {
        try {
            var value = Integer.parseInt(word);
            if (-LARGEST <= value && value <= LARGEST) {
                return value;
            }
        } catch (NumberFormatException notOne) {
            // Refused below.
        }
        throw new CaseReader.Fault("case %d: numbers must be from %d to %d".formatted(number, -LARGEST, LARGEST));
    }
}
