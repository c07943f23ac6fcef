"""The batch on a pool of threads: a thread reads, the pool computes, the main thread writes."""

import operator
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, Full, Queue
from typing import NamedTuple

import arguments
from arguments import complain, one_of, refuse, report, whole_number

LEAST, MOST = -100_000, 100_000  # of a vector's numbers
MOST_SIZE = 1_000_000
COUNT_BYTES = 20  # of a line with one number, its newline included
BUFFER_BYTES = 1 << 20
UNDER_WAY_BYTES = 48 << 20  # from the reading of a case until its answer is written
CASE_BYTES = 2048  # what a case takes besides its text: a future and what belongs to it

CAPACITIES = {"own": 0, "1": 1, "100": 100, "10000": 10_000, "unbounded": 0}  # 0: a Queue without bound

clock = time.monotonic_ns


class InputError(Exception):
    """An error in the input, and its position."""


class Answer(NamedTuple):
    number: int
    value: int
    taken: int  # of the allowance
    compute_ns: int


class AllRead(NamedTuple):
    cases: int
    read_ns: int


class Allowance:
    """Bounds the work in progress: a taker waits until enough has been given back."""

    def __init__(self, bytes_):
        self._all = self._left = bytes_
        self._given_back = threading.Condition()
        self.waited_ns = 0

    def take(self, bytes_):
        taken = min(bytes_, self._all)  # A case larger than all of it goes alone.
        with self._given_back:
            if self._left < taken:
                begin = clock()
                self._given_back.wait_for(lambda: self._left >= taken)
                self.waited_ns += clock() - begin
            self._left -= taken
        return taken

    def give_back(self, taken):
        with self._given_back:
            self._left += taken
            self._given_back.notify()


class TimedQueue:
    """A queue that tells how long it was waited for. `put` may be called by many, `get` by one."""

    def __init__(self, capacity):
        self._queue = Queue(capacity)
        self._lock = threading.Lock()
        self.wait_full_ns = 0
        self.wait_empty_ns = 0

    def put(self, item):
        try:
            self._queue.put_nowait(item)
        except Full:
            begin = clock()
            self._queue.put(item)
            with self._lock:
                self.wait_full_ns += clock() - begin

    def get(self):
        try:
            return self._queue.get_nowait()
        except Empty:
            begin = clock()
            item = self._queue.get()
            self.wait_empty_ns += clock() - begin
            return item


def batches(path, cores, capacity, repeats):
    cases = 0
    for _ in range(repeats):
        begin = clock()
        cases += batch(path, cores, capacity)
        report(f"::phase name=work ns={clock() - begin}")
    report(f"::result cases={cases}")


def batch(path, cores, capacity):
    """Computes the input once. Returns the number of its cases."""
    answers = TimedQueue(capacity)
    allowance = Allowance(UNDER_WAY_BYTES)
    pool = ThreadPoolExecutor(cores)
    threading.Thread(target=read, args=(path, pool, allowance, answers), daemon=True).start()

    compute_ns = write_ns = 0
    early = {}  # answers before whose turn others come
    number = 1
    all_read = None
    while all_read is None or number <= all_read.cases:
        item = answers.get()
        if isinstance(item, Exception):
            raise item
        if isinstance(item, AllRead):
            all_read = item
            continue
        compute_ns += item.compute_ns
        begin = clock()
        early[item.number] = item
        while number in early:
            answer = early.pop(number)
            sys.stdout.write(f"Case #{number}: {answer.value}\n")
            allowance.give_back(answer.taken)
            number += 1
        write_ns += clock() - begin
    pool.shutdown()  # The last thread may not have come back from the queue.

    report(f"::phase name=read ns={all_read.read_ns}")
    report(f"::phase name=compute ns={compute_ns}")
    report(f"::phase name=write ns={write_ns}")
    report(f"::phase name=wait_ahead ns={allowance.waited_ns}")
    report(f"::phase name=wait_full ns={answers.wait_full_ns}")
    report(f"::phase name=wait_empty ns={answers.wait_empty_ns}")
    return all_read.cases


def read(path, pool, allowance, answers):
    """Hands the cases to the pool. A thread of its own."""
    try:
        cases = read_ns = 0
        begin = clock()
        for case in read_cases(path):
            read_ns += clock() - begin
            cases, _, first, second = case
            taken = allowance.take(len(first) + len(second) + CASE_BYTES)
            pool.submit(compute, case, taken, answers)
            begin = clock()
        read_ns += clock() - begin
        answers.put(AllRead(cases, read_ns))
    except Exception as error:
        answers.put(error)  # It is for the main thread to end the program.


def compute(case, taken, answers):
    """A case, in a thread of the pool's."""
    try:
        begin = clock()
        value = smallest_product(*case)
        number, *_ = case
        answers.put(Answer(number, value, taken, clock() - begin))
    except Exception as error:
        answers.put(error)


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
    given = arguments.read()
    cores = whole_number(given, "cores", "1", 1)
    capacity = CAPACITIES[one_of(given, "capacity", "own", CAPACITIES)]
    repeats = whole_number(given, "repeats", "1", 1, 3000)
    if not given.get("input"):
        refuse("input", "the path of a file", given.get("input", ""))
    return given["input"], cores, capacity, repeats


def give_up(status, why):
    complain(why)
    os._exit(status)  # At once: what was not written yet is of no use.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    path, cores, capacity, repeats = settings()
    try:
        batches(path, cores, capacity, repeats)
    except InputError as error:
        give_up(2, f"input {path!a}: {error}")
    except OSError as error:
        give_up(1, f"the answers cannot be written: {error.strerror}")
    except (MemoryError, RuntimeError) as error:
        give_up(1, f"{threading.active_count()} threads, and no more: {error}")


if __name__ == "__main__":
    main()
