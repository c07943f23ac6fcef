"""The batch, one case at a time: it is read, computed and written before the next one is read."""

import operator
import os
import signal
import sys
import time

import arguments
from arguments import complain, one_of, refuse, report, whole_number

LEAST, MOST = -100_000, 100_000  # of a vector's numbers
MOST_SIZE = 1_000_000
COUNT_BYTES = 20  # of a line with one number, its newline included
BUFFER_BYTES = 1 << 20

clock = time.monotonic_ns


class InputError(Exception):
    """An error in the input, and its position."""


def batches(path, repeats):
    cases = 0
    for _ in range(repeats):
        begin = clock()
        cases += batch(path)
        report(f"::phase name=work ns={clock() - begin}")
    report(f"::result cases={cases}")


def batch(path):
    """Computes the input once. Returns the number of its cases."""
    cases = read_ns = compute_ns = write_ns = 0
    begin = clock()
    for number, size, first, second in read_cases(path):
        read = clock()
        answer = smallest_product(number, size, first, second)
        computed = clock()
        sys.stdout.write(f"Case #{number}: {answer}\n")
        written = clock()
        cases = number
        read_ns += read - begin
        compute_ns += computed - read
        write_ns += written - computed
        begin = written
    read_ns += clock() - begin

    report(f"::phase name=read ns={read_ns}")
    report(f"::phase name=compute ns={compute_ns}")
    report(f"::phase name=write ns={write_ns}")
    return cases


def read_cases(path):
    """Each case as its number, the vectors' size, and the text of both."""
    try:
        with open(path, "rb", buffering=BUFFER_BYTES) as file:
            count = read_count(file, "the number of cases")
            for number in range(1, count + 1):
                size = read_count(file, f"case {number}: a size", MOST_SIZE)
                yield number, size, read_vector(file, number, size), read_vector(file, number, size)
            if file.read(1):
                raise InputError(f"it goes on after case {count}, the last")
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}") from None


def read_count(file, what, most=10**18):
    line = file.readline(COUNT_BYTES)
    if not line.endswith(b"\n"):
        raise InputError(f"{what} is cut off, or too long")
    if not line[:-1].isdigit() or int(line) > most:
        raise InputError(f"{what} must be a whole number from 0 to {most}")
    return int(line)


def read_vector(file, number, size):
    # So long is a line at most: "-100000" and a space or the newline for each number.
    line = file.readline(8 * size + 1)
    if not line.endswith(b"\n"):
        raise InputError(f"case {number}: a vector of {size} numbers is cut off, or too long")
    return line


def smallest_product(number, size, first, second):
    """The answer to a case, from the text of its vectors: the largest meet the smallest."""
    upwards = sorted_numbers(number, size, first)
    downwards = reversed(sorted_numbers(number, size, second))
    return sum(map(operator.mul, upwards, downwards))


def sorted_numbers(number, size, text):
    try:
        numbers = sorted(map(int, text.split()))
    except ValueError:
        numbers = None
    # int() takes 1_000 for a number.
    if numbers is None or len(numbers) != size or b"_" in text:
        raise InputError(f"case {number}: a vector must be {size} whole numbers")
    if numbers and not LEAST <= numbers[0] <= numbers[-1] <= MOST:
        raise InputError(f"case {number}: numbers must be from {LEAST} to {MOST}")
    return numbers


def settings():
    """The path of the input, and how many times. There is no queue, and one core is used."""
    given = arguments.read()
    whole_number(given, "cores", "1", 1)
    one_of(given, "capacity", "own", ["own"])
    repeats = whole_number(given, "repeats", "1", 1, 3000)
    if not given.get("input"):
        refuse("input", "the path of a file", given.get("input", ""))
    return given["input"], repeats


def give_up(status, why):
    complain(why)
    os._exit(status)  # At once: what was not written yet is of no use.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    path, repeats = settings()
    try:
        batches(path, repeats)
    except InputError as error:
        give_up(2, f"input {path!a}: {error}")
    except OSError as error:
        give_up(1, f"the answers cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
