"""The batch on Parallel Python: the program reads and writes, chunks of cases go to the workers."""

import operator
import sys
import time
from collections import deque

import ppft

import arguments
from arguments import one_of, refuse, report, whole_number
from workers import Workers

MOST_SIZE = 1_000_000
COUNT_BYTES = 20  # of a line with one number, its newline included
BUFFER_BYTES = 1 << 20
CHUNK_CASES = 100  # A chunk is full with so many,
CHUNK_BYTES = 256 << 10  # or with so much text.
CHUNKS_PER_CORE = 4  # under way

clock = time.monotonic_ns


class InputError(Exception):
    """An error in the input, and its position."""


class Batch:
    """Hands over the chunks, and gathers their answers in the same order."""

    def __init__(self, server, most_chunks):
        # The workers get functions as text, with those that they call and the names of the modules.
        self._chunks = ppft.Template(
            server, compute, (smallest_product, sorted_numbers), ("operator", "time")
        )
        self._most_chunks = most_chunks
        self._under_way = deque()
        self.cases = 0
        self.ns = {"read": 0, "compute": 0, "write": 0, "wait_ahead": 0, "wait_empty": 0}

    def run(self, path):
        begin = clock()
        for chunk in read_chunks(path):
            self.ns["read"] += clock() - begin
            if len(self._under_way) == self._most_chunks:
                self._gather("wait_ahead")
            self._under_way.append(self._chunks.submit(chunk))
            begin = clock()
        self.ns["read"] += clock() - begin
        while self._under_way:
            self._gather("wait_empty")

    def _gather(self, wait):
        """The answers to the oldest chunk."""
        begin = clock()
        oldest = self._under_way.popleft()
        answers, compute_ns, problem = oldest()  # ppft's way to wait for it
        there = clock()
        if problem:
            raise InputError(problem)
        first, self.cases = self.cases + 1, self.cases + len(answers)
        lines = [f"Case #{number}: {answer}\n" for number, answer in enumerate(answers, first)]
        sys.stdout.write("".join(lines))
        self.ns[wait] += there - begin
        self.ns["compute"] += compute_ns
        self.ns["write"] += clock() - there


def batches(path, cores, workers, repeats):
    cases = 0
    for _ in range(repeats):
        begin = clock()
        cases += batch(path, cores, workers)
        report(f"::phase name=work ns={clock() - begin}")
    report(f"::result cases={cases}")


def batch(path, cores, workers):
    """Computes the input once, with a server of its own. Returns the number of its cases."""
    work = Batch(workers.start(cores), CHUNKS_PER_CORE * cores)
    work.run(path)
    workers.end()
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
            yield chunk
            chunk = []
            size_bytes = 0
    if chunk:
        yield chunk


# The workers have these three, with what they are sent with, and nothing else of this file.


def compute(chunk):
    """The answers to a chunk's cases, how long that took, and what is wrong, if anything."""
    begin = time.monotonic_ns()
    try:
        answers = [smallest_product(*case) for case in chunk]
        return answers, time.monotonic_ns() - begin, None
    except ValueError as error:
        return [], 0, str(error)


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
        raise ValueError(f"case {number}: a vector must be {size} whole numbers")
    if numbers and not -100_000 <= numbers[0] <= numbers[-1] <= 100_000:
        raise ValueError(f"case {number}: numbers must be from -100000 to 100000")
    return numbers


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


def settings():
    """The path of the input, how many cores, and how many times. ppft has a queue of its own."""
    given = arguments.read()
    cores = whole_number(given, "cores", "1", 1)
    one_of(given, "capacity", "own", ["own"])
    repeats = whole_number(given, "repeats", "1", 1, 3000)
    if not given.get("input"):
        refuse("input", "the path of a file", given.get("input", ""))
    return given["input"], cores, repeats


def main():
    path, cores, repeats = settings()
    workers = Workers()
    try:
        batches(path, cores, workers, repeats)
    except InputError as error:
        workers.give_up(2, f"input {path!a}: {error}")
    except OSError as error:
        workers.give_up(1, f"the answers cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
