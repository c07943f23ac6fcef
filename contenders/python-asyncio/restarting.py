"""Shared by the programs of `restarts`: arguments, the collector's books, what a unit does. The same in each
folder of a Python contender."""

import time
from array import array

import arguments
from arguments import report, whole_number

MODULUS = 2147483647
FACTOR = 48271

clock = time.monotonic_ns


class Failure(Exception):
    """The error with which a message makes its unit fail."""


class State:
    """The state that a unit loses when it fails: how many numbers it handled since it began, and their fold."""

    def __init__(self, unit):
        self.unit = unit
        self.born_ns = clock()
        self.handled = self.folded = 0

    def handle(self, number, fails):
        """The answer to a message."""
        if fails:
            raise Failure(number)
        self.handled += 1
        self.folded = (31 * self.folded + number) % MODULUS
        return self.unit, self.handled, self.folded, self.born_ns


def settings():
    given = arguments.read()
    whole_number(given, "cores", "1", 1)
    return {
        "units": whole_number(given, "units", "", 1, 100_000),
        "messages": whole_number(given, "messages", "", 2, 1_000_000),
        "every": whole_number(given, "every", "", 2, 1_000_000),
        "seed": whole_number(given, "seed", "0", 0, 4_294_967_295),
    }


class Collector:
    """Knows each unit's next message, and takes the answers and the failures."""

    def __init__(self, units, messages, every, seed):
        self.messages = messages
        self.failing_below = MODULUS // every
        self.numbers = [1 + (seed + unit) % (MODULUS - 1) for unit in range(units)]
        self.folds = [0] * units
        self.sent_ns = [0] * units
        # When the message was sent that made the unit fail; 0 when it has answered since.
        self.failed_ns = [0] * units
        self.answers = self.failures = self.fresh = 0
        self.times = {"answer": array("q"), "recovery": array("q"), "calm": array("q")}

    def passes(self):
        """Each pass is over when `open` is 0: so many units have messages left."""
        for name in ("warm", "failing", "calm"):
            self.name = name
            self.others = self.times["answer" if name == "failing" else "calm"]
            del self.others[:]
            self.left = [self.messages] * len(self.numbers)
            self.open = len(self.left)
            begin = clock()
            yield
            report(f"::phase name={name} ns={clock() - begin}")

    def message(self, unit):
        """The unit's next message, which is sent now: its number, and whether it makes the unit fail."""
        number = self.numbers[unit] = FACTOR * self.numbers[unit] % MODULUS
        self.left[unit] -= 1
        fails = (
            number < self.failing_below
            and self.name == "failing"
            and self.left[unit] > 0
            and not self.failed_ns[unit]
        )
        self.sent_ns[unit] = clock()
        return number, fails

    def failed(self, unit):
        self.failures += 1
        self.failed_ns[unit] = self.sent_ns[unit]

    def answered(self, unit, handled, folded, born_ns):
        """Takes an answer, and returns whether the unit has another message."""
        now = clock()
        if failed_ns := self.failed_ns[unit]:
            self.fresh += born_ns >= failed_ns
            self.times["recovery"].append(now - failed_ns)
            self.failed_ns[unit] = 0
        else:
            self.others.append(now - self.sent_ns[unit])
        self.answers += 1
        self.folds[unit] = (31 * self.folds[unit] + folded + handled) % MODULUS
        if self.left[unit]:
            return True
        self.open -= 1
        return False

    def report_result(self):
        order = 0
        for folded in self.folds:
            order = (31 * order + folded) % MODULUS
        counts = f"answers={self.answers} failures={self.failures} fresh={self.fresh} order={order}"
        report(f"::result {counts} {' '.join(percentiles(*each) for each in self.times.items())}")


def percentiles(name, times):
    """The smallest time that so many percent do not exceed; 0 where there is none."""
    times = sorted(times) or [0]
    p50, p99, most = (times[-(-len(times) * percent // 100) - 1] for percent in (50, 99, 100))
    return f"{name}_p50_ns={p50} {name}_p99_ns={p99} {name}_max_ns={most}"
