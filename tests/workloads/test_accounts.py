"""The evidence and the figures of `accounts`, and programs without isolation."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.measure.runs.trials import validated
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.workloads.accounts.workload import ACCOUNTS
from tests.support.cases import cases, tables
from tests.support.points import ok_trial, point
from tests.support.programs import assert_wrong

MODULUS = 2147483647
MS = 10**6
# 4 units make 100 transfers each, and 10 audits of 2 auditors, in 10 ms.
LEVELS = {"accounts": 20, "units": 4, "transfers": 100, "auditors": 2, "every": 10}
RESULT = {
    **{"first": "10,70", "last": "390,400"},
    **{"transfer_p50_ns": "1000", "transfer_p99_ns": "20000", "transfer_max_ns": "100000"},
    **{"audit_p50_ns": "50000", "audit_p99_ns": "90000", "audit_max_ns": "100000"},
}


@given(
    st.integers(2, 9), st.integers(1, 4), st.integers(1, 60), st.integers(0, 100), st.integers(0, 2**32 - 1)
)
def test_evidence_is_the_contracts(accounts: int, units: int, transfers: int, hot: int, seed: int) -> None:
    balances = [1000] * accounts
    for unit in range(units):
        x = 1 + (seed + unit) % (MODULUS - 1)
        for _ in range(transfers):
            x1 = 48271 * x % MODULUS
            x2 = 48271 * x1 % MODULUS
            x = 48271 * x2 % MODULUS
            source = 0 if x1 // 1000 % 100 < hot else x2 % accounts
            target = [each for each in range(accounts) if each != source][x % (accounts - 1)]
            balances[source] -= 1 + x1 % 1000
            balances[target] += 1 + x1 % 1000
    folded = sum(31**i * balance for i, balance in enumerate(reversed(balances * 3))) % MODULUS
    levels = {"accounts": accounts, "units": units, "transfers": transfers, "hot": hot, "every": 1}
    assert ACCOUNTS.evidence(point(ACCOUNTS, repeats=3, **levels), seed, None).result == {
        "balances": str(folded),
        "transfers": str(3 * units * transfers),
        "audits": str(3 * units * transfers),
        "wrong": "0",
    }
    # Sums modulo 2^64 are the sums themselves.
    assert sum(balances) == 1000 * accounts
    assert all(abs(balance) < 2**53 for balance in balances)


def trial(transfer: int = 10 * MS, **result: str) -> Trial:
    report = TrialOutcome("ok", result=RESULT | result, voluntary_switches=8, involuntary_switches=2)
    return ok_trial(ACCOUNTS, {"phases": {"transfer": (transfer,)}, "report": report}, repeats=1, **LEVELS)


def test_figures_of_a_trial() -> None:
    seen = validated(trial(), ACCOUNTS, 1)
    assert (seen.outcome, seen.detail) == (Outcome.OK, "")
    figures = ACCOUNTS.figures(seen)
    assert figures["transfer_ns"] == pytest.approx(25_000)
    assert (figures["transfer_s.p99"], figures["audit_s.p50"]) == pytest.approx((20e-6, 50e-6))
    assert (figures["waits_per_1000"], figures["preempted_per_1000"]) == pytest.approx((20, 5))


@pytest.mark.parametrize(("changes", "reason"), cases(__file__, "reports_that_cannot_be_true"))
def test_reports_that_cannot_be_true(changes: dict[str, Any], reason: str) -> None:
    seen = validated(trial(**changes), ACCOUNTS, 1)
    assert seen.outcome is Outcome.WRONG_EVIDENCE
    assert reason in seen.detail


WRONG = tables(__file__, "wrong_accounts.toml")


@pytest.mark.parametrize("how", WRONG)
def test_a_program_without_isolation_has_no_figures(how: str, tmp_path: Path) -> None:
    levels = {"accounts": 10, "units": 4, "transfers": 400, "auditors": 2, "every": 20, "hot": 50}
    assert_wrong(WRONG[how], tmp_path, "accounts", **levels)
