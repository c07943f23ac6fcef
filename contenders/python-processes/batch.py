"""The batch on a pool of processes: the main process reads and writes, chunks of cases go to the workers."""

import operator
import os
import signal
import sys
import time
from collections import deque
from concurrent.futures.process import BrokenProcessPool

import arguments
import workers
from arguments import complain, one_of, refuse, report, whole_number

LEAST, MOST = -100_000, 100_000  # of a vector's numbers
MOST_SIZE = 1_000_000
COUNT_BYTES = 20  # of a line with one number, its newline included
BUFFER_BYTES = 1 << 20
# A chunk is full with so many cases at most, or so much text. Its answers are few enough to come in one piece
# (PIPE_BUF): a worker that is killed then leaves no half ones, for the rest of which the pool would wait.
CHUNK_CASES = 100
CHUNK_BYTES = 256 << 10
CHUNKS_PER_CORE = 4  # under way

clock = time.monotonic_ns


class InputError(Exception):
    """An error in the input, and its position."""


class Batch:
    """Hands over the chunks, and gathers their answers in the same order."""

    def __init__(self, pool, most_chunks):
        self._pool = pool
        self._most_chunks = most_chunks
        self._under_way = deque()
        self.cases = 0
        self.ns = {"read": 0, "compute": 0, "write": 0, "wait_ahead": 0, "wait_empty": 0}

    def run(self, path, chunk_cases):
        begin = clock()
        for chunk in read_chunks(path, chunk_cases):
            self.ns["read"] += clock() - begin
            if len(self._under_way) == self._most_chunks:
                self._gather("wait_ahead")
            self._under_way.append(self._pool.submit(compute, chunk))
            begin = clock()
        self.ns["read"] += clock() - begin
        while self._under_way:
            self._gather("wait_empty")

    def _gather(self, wait):
        """The answers to the oldest chunk."""
        begin = clock()
        oldest = self._under_way.popleft()
        answers, compute_ns = oldest.result()
        there = clock()
        first, self.cases = self.cases + 1, self.cases + len(answers)
        lines = [f"Case #{number}: {answer}\n" for number, answer in enumerate(answers, first)]
        sys.stdout.write("".join(lines))
        self.ns[wait] += there - begin
        self.ns["compute"] += compute_ns
        self.ns["write"] += clock() - there


def batches(path, cores, repeats, chunk_cases):
    cases = 0
    for _ in range(repeats):
        begin = clock()
        cases += batch(path, cores, chunk_cases)
        report(f"::phase name=work ns={clock() - begin}")
    report(f"::result cases={cases}")


def batch(path, cores, chunk_cases):
    """Computes the input once, in a pool of its own. Returns the number of its cases."""
    pool = workers.start(cores)
    work = Batch(pool, CHUNKS_PER_CORE * cores)
    work.run(path, chunk_cases)
    # Not `with`, which would wait for the workers when something has gone wrong, too.
    workers.shut_down(pool)
    for name, ns in work.ns.items():
        report(f"::phase name={name} ns={ns}")
    return work.cases


def read_chunks(path, most_cases):
    chunk = []
    size_bytes = 0
    for case in read_cases(path):
        chunk.append(case)
        _, _, first, second = case
        size_bytes += len(first) + len(second)
        if len(chunk) == most_cases or size_bytes >= CHUNK_BYTES:
            yield chunk
            chunk = []
            size_bytes = 0
    if chunk:
        yield chunk


def compute(chunk):
    """In a worker: the answers to a chunk's cases, and how long that took."""
    begin = clock()
    answers = [smallest_product(*case) for case in chunk]
    return answers, clock() - begin


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
    """The path of the input, how many cores, how many times, and how many cases a chunk has. The pool has
    queues of its own."""
    given = arguments.read()
    cores = whole_number(given, "cores", "1", 1)
    one_of(given, "capacity", "own", ["own"])
    repeats = whole_number(given, "repeats", "1", 1, 3000)
    if not given.get("input"):
        refuse("input", "the path of a file", given.get("input", ""))
    return given["input"], cores, repeats, whole_number(given, "piece", str(CHUNK_CASES), 1, CHUNK_CASES)


def give_up(status, why):
    complain(why)
    workers.kill()
    os._exit(status)  # At once: what was not written yet is of no use.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    path, cores, repeats, chunk_cases = settings()
    try:
        batches(path, cores, repeats, chunk_cases)
    except InputError as error:
        give_up(2, f"input {path!a}: {error}")
    except BrokenProcessPool:
        give_up(1, "a worker was killed")
    except OSError as error:
        give_up(1, f"the answers cannot be written, or no worker started: {error.strerror}")


if __name__ == "__main__":
    main()
