"""The workload `accounts`: its factors, metrics, evidence and figures."""

from collections.abc import Mapping
from functools import lru_cache

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.units import count
from ringside.workloads import evidence
from ringside.workloads.base import Workload, repeats
from ringside.workloads.evidence import FACTOR, MODULUS, first_number
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import held_figures, repeat_figures
from ringside.workloads.tables import declared

OPENING_BALANCE = 1000
_MOST_AMOUNT = 1000
# A unit reads the clock before and after one of this many transfers.
_TIMED = 16
# How much of the phase transfers and audits take at least, all units together: the rest is drawing numbers
# and waiting for a CPU outside of a transfer. Units and auditors need some time to start.
_COVERED, _START_NS = 0.02, 50_000_000
# The evidence is computed transfer by transfer.
_MOST_TRANSFERS = 4_000_000
_MOST_READS = 4_000_000_000


@lru_cache(maxsize=16)
def expected(accounts: int, units: int, transfers: int, hot: int, seed: int) -> int:
    """The fold over the final balances: the same in whatever order the transfers were made."""
    balances = [OPENING_BALANCE] * accounts
    others = accounts - 1
    for unit in range(units):
        x = first_number(seed + unit)
        for _ in range(transfers):
            x = FACTOR * x % MODULUS
            drawn, amount = divmod(x, _MOST_AMOUNT)
            x = FACTOR * x % MODULUS
            source = 0 if drawn % 100 < hot else x % accounts
            x = FACTOR * x % MODULUS
            target = x % others
            balances[source] -= amount + 1
            balances[target + (target >= source)] += amount + 1
    return evidence.fold(balance % MODULUS for balance in balances)


@declared(__file__)
class Accounts(Workload):
    def check(self, point: Point) -> None:
        units, transfers, every = point.numbers("units", "transfers", "every")
        if units * transfers > _MOST_TRANSFERS:
            raise UsageError(
                f"units={units} transfers={transfers}: {units * transfers:,} transfers are more than "
                f"{_MOST_TRANSFERS:,}; take fewer, and repeats"
            )
        audits = transfers // every
        if audits < int(point["auditors"]):
            raise UsageError(
                f"auditors={point['auditors']}: with transfers={transfers} and every={every} a unit asks "
                f"only {audits} of the auditors; take a smaller `every`"
            )
        if (reads := units * audits * int(point["accounts"])) > _MOST_READS:
            raise UsageError(f"every={every}: audits read {reads:,} balances, more than {_MOST_READS:,}")

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        accounts, units, transfers, hot = point.numbers("accounts", "units", "transfers", "hot")
        once, times = expected(accounts, units, transfers, hot, seed), repeats(point)
        result = {
            "balances": str(evidence.fold_again(once, accounts, times)),
            "transfers": str(times * units * transfers),
            "audits": str(times * units * (transfers // int(point["every"]))),
            "wrong": "0",
        }
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        return {"transfer": self.work(point) * CYCLE_NS / self.cores(point)}

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError for impossible counts of audits, and times that do not fit into their phase."""
        point, result = trial.cell.point, trial.result
        if not (phases := trial.phases.get("transfer")):
            raise ValueError("no line ::phase name=transfer")
        units, transfers, every, auditors = point.numbers("units", "transfers", "every", "auditors")
        audits = transfers // every
        # At an auditor's first audit each unit has asked each auditor once at most; at its last, no unit has
        # more audits before it than there are other auditors.
        counted = units * every
        last = (counted * (audits - auditors + 1), counted * audits)
        bounds = {"first": (every, counted * auditors), "last": last}
        for name, (least, most) in bounds.items():
            numbers = [evidence.whole_number(text) for text in result.get(name, "").split(",")]
            if len(numbers) != auditors or None in numbers:
                raise ValueError(f"{name} must be {count(auditors, 'whole number')}, one for each auditor")
            for auditor, number in enumerate(numbers):
                if number is not None and not least <= number <= most:
                    raise ValueError(
                        f"{name}: auditor {auditor} counted {count(number, 'transfer')} at its {name} audit; "
                        f"{least:,} to {most:,} are possible while units wait for their audits"
                    )
        timed, phase_ns = units * -(-transfers // _TIMED), phases[-1]
        covered_ns = evidence.most_together_ns(result, "transfer", units * transfers, units, phase_ns, timed)
        covered_ns += evidence.most_together_ns(result, "audit", units * audits, units, phase_ns)
        if covered_ns < _COVERED * (phase_ns - _START_NS):
            phase, covered = map(evidence.milliseconds, (phase_ns, covered_ns))
            raise ValueError(
                f"the phase transfer took {phase}, but all transfers and audits in it only {covered} or less"
            )

    def figures(self, trial: Trial) -> dict[str, float]:
        point, report = trial.cell.point, trial.report
        figures = repeat_figures(self, trial) | held_figures(trial, "opened", "held_pss_bytes")
        transfers = self.work(point)
        if transfer_ns := trial.phase_ns("transfer"):
            figures["transfer_ns"] = transfer_ns / transfers
        figures |= evidence.times_figures(trial.result, ("transfer", "audit"))
        if "cpu_s" in figures:
            figures["cpu_per_transfer_s"] = figures["cpu_s"] / transfers
        if report:
            thousands = repeats(point) * transfers / 1000
            switches = {"waits": report.voluntary_switches, "preempted": report.involuntary_switches}
            figures |= {f"{name}_per_1000": n / thousands for name, n in switches.items() if n is not None}
        return figures


ACCOUNTS = Accounts()
