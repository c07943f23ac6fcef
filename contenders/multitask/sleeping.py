"""Shared by the programs of `sleepers`: arguments, numbers and instants, the collector's books. The same in
each folder of a Python contender."""

import sys
import time

import arguments
from arguments import one_of, report, whole_number

MODULUS = 2147483647
FACTOR = 48271
SECOND_NS = 1_000_000_000
REPORTS = 10

clock = time.monotonic_ns


def settings():
    given = arguments.read()
    whole_number(given, "cores", "1", 1)
    return {
        "tasks": whole_number(given, "tasks", "", 1, 1_000_000),
        "seconds": whole_number(given, "seconds", "", 2, 3600),
        "seed": whole_number(given, "seed", "0", 0, 4_294_967_295),
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
    }


def instants(tasks, seconds, seed, begin):
    """The number of each task, and the instant at which it wakes."""
    last_second = begin + (seconds - 1) * SECOND_NS
    number = 1 + seed % (MODULUS - 1)
    for _ in range(tasks):
        number = FACTOR * number % MODULUS
        yield number, last_second + number * SECOND_NS // MODULUS


def read_line():
    if sys.stdin is not None:  # It was not closed before the program began.
        sys.stdin.readline()


class Collector:
    """Takes numbers, with how late each task woke, and reports after each tenth of them."""

    def __init__(self, tasks, begin):
        self.tasks = tasks
        self.begin = begin
        self.reports = min(REPORTS, tasks)
        self.reported = 0
        self.next_report = -(-tasks // self.reports)
        self.numbers = []
        self.late_ns = []

    def take(self, number, late_ns):
        self.numbers.append(number)
        self.late_ns.append(late_ns)
        if len(self.numbers) == self.next_report:
            report(f"::phase name=wake ns={clock() - self.begin}")
            self.reported += 1
            self.next_report = -(-(self.reported + 1) * self.tasks // self.reports)

    def report_result(self):
        self.numbers.sort()
        self.late_ns.sort()
        order = 0
        for number in self.numbers:
            order = (31 * order + number) % MODULUS
        late = f"late_p50_ns={self.late(50)} late_p99_ns={self.late(99)} late_max_ns={self.late(100)}"
        report(f"::result sum={sum(self.numbers)} order={order} {late}")

    def late(self, percent):
        """The smallest lateness that so many percent of the tasks do not exceed."""
        return self.late_ns[-(-self.tasks * percent // 100) - 1]
