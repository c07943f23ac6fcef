"""The workload `restarts`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import Workload
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import process_figures
from ringside.workloads.restarts.evidence import LEVELS, PASSES, contradictions, expected, times_ns
from ringside.workloads.tables import declared

_OUTPUT_BYTES = 1 << 20
# The time of each answer is kept until the end, and the evidence is computed message by message.
_MOST_MESSAGES = 1_000_000
_REHEARSED_MESSAGES = 20


@declared(__file__)
class Restarts(Workload):
    def check(self, point: Point) -> None:
        if (total := int(point["units"]) * int(point["messages"])) > _MOST_MESSAGES:
            raise UsageError(
                f"units={point['units']} messages={point['messages']}: {total:,} messages in a pass are more "
                f"than {_MOST_MESSAGES:,}"
            )

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
