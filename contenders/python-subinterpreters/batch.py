"""The batch on a pool of interpreters: the main one reads and writes, chunks of cases go to the others."""

import operator
import os
import signal
import sys
import time

import arguments
from arguments import complain, one_of, refuse, report, whole_number
from interpreters import Failed, Queue, Unit, create_queue

LEAST, MOST = -100_000, 100_000  # of a vector's numbers
MOST_SIZE = 1_000_000
COUNT_BYTES = 20  # of a line with one number, its newline included
BUFFER_BYTES = 1 << 20
# A chunk is full with so many cases, or so much text.
CHUNK_CASES = 100
CHUNK_BYTES = 256 << 10
CHUNKS_PER_CORE = 4  # under way

clock = time.monotonic_ns


class InputError(Exception):
    """An error in the input, and its position."""


class Batch:
    """Hands over the chunks, and writes their answers in the same order."""

    def __init__(self, most_chunks):
        self.chunks, self.answers = create_queue(), create_queue()
        self._most_chunks = most_chunks
        self._early = {}  # answers before whose turn others come
        self._handed_over = self._gathered = 0
        self.cases = 0
        self.ns = {"read": 0, "compute": 0, "write": 0, "wait_ahead": 0, "wait_empty": 0}

    def run(self, path):
        begin = clock()
        for chunk in read_chunks(path):
            self.ns["read"] += clock() - begin
            while self._handed_over - self._gathered == self._most_chunks:
                self._gather("wait_ahead")
            self.chunks.put((self._handed_over, chunk))
            self._handed_over += 1
            begin = clock()
        self.ns["read"] += clock() - begin
        while self._gathered < self._handed_over:
            self._gather("wait_empty")

    def _gather(self, wait):
        """Waits for the answers to a chunk, and writes those whose turn it is."""
        begin = clock()
        number, answers, compute_ns = self.answers.get()
        there = clock()
        if isinstance(answers, str):
            raise InputError(answers)
        self._early[number] = answers
        while self._gathered in self._early:
            answers = self._early.pop(self._gathered)
            first, self.cases = self.cases + 1, self.cases + len(answers)
            lines = [f"Case #{number}: {answer}\n" for number, answer in enumerate(answers, first)]
            sys.stdout.write("".join(lines))
            self._gathered += 1
        self.ns[wait] += there - begin
        self.ns["compute"] += compute_ns
        self.ns["write"] += clock() - there


def batches(path, cores, repeats):
    cases = 0
    for _ in range(repeats):
        begin = clock()
        cases += batch(path, cores)
        report(f"::phase name=work ns={clock() - begin}")
    report(f"::result cases={cases}")


def batch(path, cores):
    """Computes the input once, in interpreters of its own. Returns the number of its cases."""
    work = Batch(CHUNKS_PER_CORE * cores)
    names = {"chunks": work.chunks.id, "answers": work.answers.id}
    units = [Unit("import batch; batch.compute(chunks, answers)", **names) for _ in range(cores)]
    work.run(path)
    for _ in units:
        work.chunks.put(None)
    for unit in units:
        unit.end()
    for name, ns in work.ns.items():
        report(f"::phase name={name} ns={ns}")
    return work.cases


def read_chunks(path):
    chunk = []
    size_bytes = 0
    for case in read_cases(path):
        chunk.append(case)
        _, _, first, second = case
        size_bytes += len(first) + len(second)
        if len(chunk) == CHUNK_CASES or size_bytes >= CHUNK_BYTES:
            yield tuple(chunk)
            chunk = []
            size_bytes = 0
    if chunk:
        yield tuple(chunk)


def compute(chunks, answers):
    """In another interpreter: the answers to each chunk's cases, and how long that took."""
    chunks, answers = Queue(chunks), Queue(answers)
    while chunk := chunks.get():
        number, cases = chunk
        begin = clock()
        try:
            products = tuple(smallest_product(*case) for case in cases)
        except InputError as error:
            products = str(error)
        answers.put((number, products, clock() - begin))


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
    """The path of the input, how many cores, and how many times. The queues have no bound."""
    given = arguments.read()
    cores = whole_number(given, "cores", "1", 1)
    one_of(given, "capacity", "own", ["own", "unbounded"])
    repeats = whole_number(given, "repeats", "1", 1, 3000)
    if not given.get("input"):
        refuse("input", "the path of a file", given.get("input", ""))
    return given["input"], cores, repeats


def give_up(status, why):
    complain(why)
    os._exit(status)  # At once: what was not written yet is of no use.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    path, cores, repeats = settings()
    try:
        batches(path, cores, repeats)
    except InputError as error:
        give_up(2, f"input {path!a}: {error}")
    except OSError as error:
        give_up(1, f"the answers cannot be written: {error.strerror}")
    except Failed as error:
        give_up(1, f"no more interpreters: {error}")


if __name__ == "__main__":
    main()
