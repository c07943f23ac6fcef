"""Shared by the programs of `accounts`: arguments, the numbers that units draw, the books of auditors and
units, the result. The same in each folder of a Python contender."""

import sys
import time
from array import array

import arguments
from arguments import one_of, report, whole_number

MODULUS = 2147483647
FACTOR = 48271
OPENING_BALANCE = 1000
# A unit reads the clock before and after one of so many transfers.
TIMED = 16

clock = time.monotonic_ns


class Problem:
    """The arguments, and what all repeats of the work come to."""

    def __init__(self, kinds=("",)):
        given = arguments.read()
        whole_number(given, "cores", "1", 1)
        self.accounts = whole_number(given, "accounts", "", 2, 100_000)
        self.units = whole_number(given, "units", "", 1, 10_000)
        self.transfers = whole_number(given, "transfers", "", 1, 1_000_000)
        self.auditors = whole_number(given, "auditors", "", 1, 1000)
        self.every = whole_number(given, "every", "", 1, 1_000_000)
        self.hot = whole_number(given, "hot", "0", 0, 100)
        self.seed = whole_number(given, "seed", "0", 0, 4_294_967_295)
        self.hold = one_of(given, "hold", "0", ("0", "1")) == "1"
        self.kind = one_of(given, "sharing", kinds[0], kinds)
        self.repeats = whole_number(given, "repeats", "1", 1, 3000)
        self.folded = self.finished = self.audits = self.wrong = 0

    def books(self):
        """Waits for a line where that is asked for, before the first of all transfers."""
        if self.hold:
            self.hold = False
            report("::await name=opened")
            sys.stdin.readline()
        return Books(self)

    def transfers_of(self, unit):
        """From which account, to which, and how much: as the unit draws it."""
        x = 1 + (self.seed + unit) % (MODULUS - 1)
        accounts, others, hot = self.accounts, self.accounts - 1, self.hot
        for _ in range(self.transfers):
            x = FACTOR * x % MODULUS
            drawn, amount = divmod(x, 1000)
            x = FACTOR * x % MODULUS
            source = 0 if drawn % 100 < hot else x % accounts
            x = FACTOR * x % MODULUS
            target = x % others
            yield source, target + (target >= source), amount + 1


class Books:
    """The records of units and auditors in one repeat."""

    def __init__(self, problem):
        self.problem = problem
        self.transfer_ns = array("q")
        self.audit_ns = array("q")
        self.counted = 0
        # For each auditor, how many transfers had been counted at its first audit and at its last.
        self.first = [None] * problem.auditors
        self.last = [None] * problem.auditors
        self.begin_ns = clock()

    def audited(self, auditor, total):
        problem = self.problem
        problem.audits += 1
        problem.wrong += total != OPENING_BALANCE * problem.accounts
        self.last[auditor] = self.counted
        if self.first[auditor] is None:
            self.first[auditor] = self.counted

    def end(self, bank):
        """All units and auditors have ended."""
        report(f"::phase name=transfer ns={clock() - self.begin_ns}")
        for balance in bank.balances():
            self.problem.folded = (31 * self.problem.folded + balance % MODULUS) % MODULUS

    def report_result(self):
        of = self.problem
        counts = f"balances={of.folded} transfers={of.finished} audits={of.audits} wrong={of.wrong}"
        audits = f"first={joined(self.first)} last={joined(self.last)}"
        times = f"{percentiles('transfer', self.transfer_ns)} {percentiles('audit', self.audit_ns)}"
        report(f"::result {counts} {audits} {times}")


def joined(numbers):
    return ",".join(str(number or 0) for number in numbers)


def percentiles(name, times):
    """The smallest time that so many percent do not exceed; 0 where there is none."""
    times = sorted(times) or [0]
    p50, p99, most = (times[-(-len(times) * percent // 100) - 1] for percent in (50, 99, 100))
    return f"{name}_p50_ns={p50} {name}_p99_ns={p99} {name}_max_ns={most}"
