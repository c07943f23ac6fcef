"""The workload `accounts`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.accounts.evidence import LEVELS, TIMES, contradictions, expected, times_ns
from ringside.workloads.base import Workload, repeats
from ringside.workloads.evidence import MODULUS, ORDER_BASE
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import held_figures, repeat_figures
from ringside.workloads.tables import declared

# The evidence is computed transfer by transfer.
_MOST_TRANSFERS = 4_000_000
_MOST_READS = 4_000_000_000


@declared(__file__)
class Accounts(Workload):
    def check(self, point: Point) -> None:
        units, transfers, every = (int(point[name]) for name in ("units", "transfers", "every"))
        if units * transfers > _MOST_TRANSFERS:
            raise UsageError(
                f"units={units} transfers={transfers}: {units * transfers:,} transfers are more than "
                f"{_MOST_TRANSFERS:,}; take fewer, and repeats"
            )
        audits = transfers // every
        if audits < int(point["auditors"]):
            raise UsageError(
                f"auditors={point['auditors']}: a unit asks for an audit {audits} times in transfers={transfers} "
                f"with every={every}, and not each auditor would be asked; take a smaller `every`"
            )
        if (reads := units * audits * int(point["accounts"])) > _MOST_READS:
            raise UsageError(f"every={every}: audits read {reads:,} balances, more than {_MOST_READS:,}")

    def awaits(self, point: Point) -> tuple[str, ...]:
        return ("opened",)

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        units, transfers, hot = (int(point[name]) for name in ("units", "transfers", "hot"))
        accounts, times = int(point["accounts"]), repeats(point)
        once, folded = expected(accounts, units, transfers, hot, seed), 0
        for _ in range(times):
            folded = (pow(ORDER_BASE, accounts, MODULUS) * folded + once) % MODULUS
        result = {
            "balances": str(folded),
            "transfers": str(times * units * transfers),
            "audits": str(times * units * (transfers // int(point["every"]))),
            "wrong": "0",
        }
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        return {"transfer": self.work(point) * CYCLE_NS / self.cores(point)}

    def contradiction(self, trial: Trial, seed: int) -> str | None:
        point, phases = trial.cell.point, trial.phases.get("transfer", ())
        result = (trial.report.result if trial.report else None) or {}
        if not phases:
            return "no line ::phase name=transfer"
        levels = [int(point[name]) for name in ("units", "transfers", "every", "auditors")]
        return next(contradictions(result, phases[-1], *levels), None)

    def work(self, point: Point) -> int:
        return int(point["units"]) * int(point["transfers"])

    def figures(self, trial: Trial) -> dict[str, float]:
        point, report = trial.cell.point, trial.report
        figures = repeat_figures(self, trial) | held_figures(trial, "opened", "held_pss_bytes")
        transfers = self.work(point)
        if transfer_ns := trial.phase_ns("transfer"):
            figures["transfer_ns"] = transfer_ns / transfers
        for what in TIMES:
            if values := times_ns((report.result if report else None) or {}, what):
                figures |= {f"{what}_s.{level}": ns / 1e9 for level, ns in zip(LEVELS, values, strict=True)}
        if "cpu_s" in figures:
            figures["cpu_per_transfer_s"] = figures["cpu_s"] / transfers
        if report:
            thousands = repeats(point) * transfers / 1000
            switches = {"waits": report.voluntary_switches, "preempted": report.involuntary_switches}
            figures |= {f"{name}_per_1000": n / thousands for name, n in switches.items() if n is not None}
        return figures

    def repeated_unit_ns(self, point: Point) -> float:
        return float(self.work(point))


ACCOUNTS = Accounts()
