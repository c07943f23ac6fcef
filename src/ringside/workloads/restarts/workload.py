"""The workload `restarts`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import CORES, LARGEST_SEED, Factor, ProgramChecks, Workload
from ringside.workloads.metric_table import metric_tables
from ringside.workloads.phases import CYCLE_NS, PhaseRule
from ringside.workloads.process import CPU_S, PEAK, process_figures
from ringside.workloads.restarts.evidence import LEVELS, PASSES, contradictions, expected, times_ns

_OUTPUT_BYTES = 1 << 20
# The time of each answer is kept until the end, and the evidence is computed message by message.
_MOST_MESSAGES = 1_000_000
_REHEARSED_MESSAGES = 20


class Restarts(Workload):
    name = "restarts"
    title = "Units that fail"
    factors = (
        Factor("units", 100, "units with a state of their own, each with one message at a time", 1, 100_000),
        Factor("messages", 500, "messages to each unit, in each of three passes", 2, _MOST_MESSAGES),
        Factor(
            "every",
            100,
            "in the second pass one of so many messages, chosen by the seed, makes its unit fail",
            2,
            1_000_000,
        ),
        CORES,
    )
    (metrics,) = metric_tables(__file__)
    compared = ("recovery_s.p50", "recovery_s.p99", "kept_share", "answer_s.p99", PEAK.name)
    check_module = "ringside.workloads.restarts.check"
    secondary = ("others_over_calm", "deliveries_per_s", "recovery_s.max", "start_ns", CPU_S.name)
    phase_of: Mapping[str, str] = {"start_ns": "start", "deliveries_per_s": "calm"}
    scatters = (("recovery_s.p50", "deliveries_per_s"),)
    evidence_note = (
        "Every trial had to print the number of answers and of failures, how many answers came from a unit "
        "that began after a failure, and a fold of what each unit had handled since it began, answer by "
        "answer: only one that lost its state with each failure, and no message of another, has it."
    )
    phase_rules: Mapping[str, PhaseRule] = {
        name: PhaseRule(after=before, exact=True)
        for before, name in zip(("start", *PASSES), PASSES, strict=False)
    }
    checks = ProgramChecks(
        small={"units": 3, "messages": 8, "every": 3},
        required=("units", "messages", "every"),
        bad=(
            *("units=0", "messages=1", "every=1", "units=abc", "units=", "messages=", "every=", "seed=-1"),
            *("units=100001", "messages=1000001", "every=1000001", "units=-3", "messages=2.5", "cores=0"),
            "seed=4294967296",
        ),
        sizes=(
            ({"units": 20, "messages": 60, "every": 5}, LARGEST_SEED),
            ({"units": 1, "messages": 40, "every": 2}, 0),
            ({"units": 7, "messages": 2, "every": 2}, 2**31 - 3),
            ({"units": 50, "messages": 20, "every": 1000}, 1),
        ),
        phases=frozenset({"start", *PASSES}),
    )

    def check(self, point: Point) -> None:
        if (total := int(point["units"]) * int(point["messages"])) > _MOST_MESSAGES:
            raise UsageError(
                f"units={point['units']} messages={point['messages']}: {total:,} messages in a pass are more "
                f"than {_MOST_MESSAGES:,}"
            )

    def arguments(self, point: Point) -> dict[str, str]:
        return {}

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        of = expected(*_levels(point), seed)
        result = {
            "answers": str(len(PASSES) * self.work(point) - of.failures),
            "failures": str(of.failures),
            "fresh": str(of.failures),
            "order": str(of.order),
        }
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        units, messages, _ = _levels(point)
        # One collector takes all answers.
        passes = dict.fromkeys(PASSES, units * messages * CYCLE_NS)
        return {"start": units * CYCLE_NS / self.cores(point), **passes}

    def contradiction(self, trial: Trial, seed: int) -> str | None:
        units, messages, every = _levels(trial.cell.point)
        result = (trial.report.result if trial.report else None) or {}
        failures = expected(units, messages, every, seed).failures
        return next(contradictions(trial.phases, result, units, messages, failures), None)

    def output_bytes(self, point: Point) -> int:
        return _OUTPUT_BYTES

    def work(self, point: Point) -> int:
        return int(point["units"]) * int(point["messages"])

    def rehearsal(self, point: Point) -> Point:
        """Few messages, of which some make their units fail: all code has run then."""
        return point.but(messages=min(int(point["messages"]), _REHEARSED_MESSAGES), every=2)

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = process_figures(trial.report)
        result = (trial.report.result if trial.report else None) or {}
        for name, what in (("recovery_s", "recovery"), ("answer_s", "answer"), ("calm_s", "calm")):
            # 0: there was none.
            if (values := times_ns(result, what)) and values[-1]:
                figures |= {f"{name}.{level}": ns / 1e9 for level, ns in zip(LEVELS, values, strict=True)}
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


def _levels(point: Point) -> tuple[int, int, int]:
    return int(point["units"]), int(point["messages"]), int(point["every"])


RESTARTS = Restarts()
