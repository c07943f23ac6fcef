"""The workload `restarts`: its factors, metrics, evidence and figures."""

from collections.abc import Mapping
from functools import lru_cache

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.units import count
from ringside.workloads import evidence
from ringside.workloads.base import Workload
from ringside.workloads.evidence import FACTOR, MODULUS, ORDER_BASE, first_number
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import process_figures
from ringside.workloads.tables import declared

# The passes over all messages. Units fail in the second; the first lets all code run once.
PASSES = ("warm", "failing", "calm")
FAILING = 1
# A program's reports on answers without failures, answers beside failures, and replaced units.
TIMES = ("calm", "answer", "recovery")
# How much of a pass the times of its answers cover at least: a program may do something else between two.
_COVERED = 0.5


@lru_cache(maxsize=16)
def expected(units: int, messages: int, every: int, seed: int) -> tuple[int, int]:
    """The report of a correct program's collector: the number of failures, and H of the contract."""
    order = failures = 0
    for unit in range(units):
        x = first_number(seed + unit)
        folded = state = handled = 0
        fails = False
        for number in range(len(PASSES)):
            for left in range(messages - 1, -1, -1):
                x = FACTOR * x % MODULUS
                fails = number == FAILING and left > 0 and not fails and x < MODULUS // every
                if fails:
                    failures += 1
                    state = handled = 0
                else:
                    handled += 1
                    state = (ORDER_BASE * state + x) % MODULUS
                    folded = (ORDER_BASE * folded + state + handled) % MODULUS
        order = (ORDER_BASE * order + folded) % MODULUS
    return failures, order


# Programs keep the time of each answer until the end, and the evidence is computed message by message.
_MOST_MESSAGES = 1_000_000


@declared(__file__)
class Restarts(Workload):
    def check(self, point: Point) -> None:
        if (total := int(point["units"]) * int(point["messages"])) > _MOST_MESSAGES:
            raise UsageError(
                f"units={point['units']} messages={point['messages']}: {total:,} messages in a pass are more "
                f"than {_MOST_MESSAGES:,}"
            )

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        failures, order = expected(*point.numbers("units", "messages", "every"), seed)
        result = {
            "answers": str(len(PASSES) * self.work(point) - failures),
            "failures": str(failures),
            "fresh": str(failures),
            "order": str(order),
        }
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        # One collector takes all answers.
        passes = dict.fromkeys(PASSES, self.work(point) * CYCLE_NS)
        return {"start": int(point["units"]) * CYCLE_NS / self.cores(point), **passes}

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError for times that cannot be true of a pass: a unit has one message at a time."""
        phases, point = trial.phases, trial.cell.point
        failures, _ = expected(*point.numbers("units", "messages", "every"), seed)
        for name in ("start", *PASSES):
            if (lines := len(phases.get(name, ()))) != 1:
                raise ValueError(f"{count(lines, 'line')} ::phase name={name} instead of 1")
        units, total, most_ns = int(point["units"]), self.work(point), evidence.most_together_ns
        # How many there are of each, by the pass.
        passes = {"calm": {"calm": total}, "failing": {"answer": total - 2 * failures, "recovery": failures}}
        for name, numbers in passes.items():
            (passed_ns,) = phases[name]
            covered_ns = sum(most_ns(trial.result, *own, units, passed_ns) for own in numbers.items())
            if covered_ns < _COVERED * passed_ns:
                passed, covered = map(evidence.milliseconds, (passed_ns, covered_ns))
                raise ValueError(
                    f"some unit always had a message in the {passed} of the pass {name}, but all times of "
                    f"{' and '.join(numbers)} together are only {covered} or less"
                )

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = process_figures(trial.report) | evidence.times_figures(trial.result, TIMES)
        if figures.get("calm_s.p99") and (others := figures.get("answer_s.p99")):
            figures["others_over_calm"] = others / figures["calm_s.p99"]
        if start_ns := trial.phase_ns("start"):
            figures["start_ns"] = start_ns / int(point["units"])
        failing_ns, calm_ns = trial.phase_ns("failing"), trial.phase_ns("calm")
        if calm_ns:
            figures["deliveries_per_s"] = self.work(point) / calm_ns * 1e9
            if failing_ns:
                figures["kept_share"] = calm_ns / failing_ns
        return figures


RESTARTS = Restarts()
