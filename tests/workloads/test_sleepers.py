"""The evidence and the figures of `sleepers`."""

import dataclasses
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.measure.runs.trials import validated
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import ExpectedLines, Phase, TrialOutcome
from ringside.workloads.evidence import MODULUS
from ringside.workloads.sleepers.workload import SLEEPERS, instant_ns, numbers, order, reported_after
from tests.support.cases import cases
from tests.support.points import ok_trial, point

SEEDS = st.integers(0, 2**32 - 1)
SECOND = 10**9
TASKS, SECONDS, SEED = 25, 3, 7
INSTANTS = [instant_ns(number, SECONDS) for number in numbers(TASKS, SEED)]
LATE = {"late_p50_ns": "2000", "late_p99_ns": "30000", "late_max_ns": "400000"}


@given(st.integers(1, 300), SEEDS)
def test_numbers_are_those_of_the_contract(tasks: int, seed: int) -> None:
    x, drawn = 1 + seed % 2147483646, []
    for _ in range(tasks):
        x = 48271 * x % 2147483647
        drawn.append(x)
    assert list(numbers(tasks, seed)) == sorted(drawn)
    assert len(set(drawn)) == tasks
    folded = 0
    for number in sorted(drawn):
        folded = (31 * folded + number) % 2147483647
    evidence = SLEEPERS.evidence(point(SLEEPERS, tasks=tasks), seed, None)
    assert evidence.result == {"sum": str(sum(drawn)), "order": str(folded)}
    assert evidence.lines == ExpectedLines(total=0)
    assert order(tasks, seed) == folded


@given(st.integers(1, MODULUS - 1), st.integers(2, 3600))
def test_instants_lie_in_the_last_second_in_the_order_of_the_numbers(number: int, seconds: int) -> None:
    assert (seconds - 1) * SECOND <= instant_ns(number, seconds) < seconds * SECOND
    assert instant_ns(number, seconds) >= instant_ns(number - 1, seconds)


@given(st.integers(1, 1_000_000))
def test_reports_come_after_each_tenth(tasks: int) -> None:
    after = reported_after(tasks)
    assert len(after) == min(10, tasks)
    assert after[-1] == tasks
    assert all(left < right for left, right in pairwise(after))
    # As a program finds them that counts.
    if tasks < 200:
        shares = min(10, tasks)
        counted = [n for n in range(1, tasks + 1) if n * shares // tasks > (n - 1) * shares // tasks]
        assert after == counted


def trial(**changes: Any) -> Trial:
    """An honest trial, with changes: each number comes 20 µs late, and is read 1 ms after that; the process
    had run for 50 ms at the beginning."""
    wakes = [INSTANTS[after - 1] + 20_000 for after in reported_after(TASKS)]
    wakes[-1] = max(wakes[-1], INSTANTS[0] + 400_000)
    values = {"start": [4_000_000], "wake": wakes, "read": None, "result": LATE} | changes
    phases: Mapping[str, tuple[int, ...]] = {
        name: tuple(values[name]) for name in ("start", "wake") if values[name]
    }
    read = {name: tuple(ns + 51_000_000 for ns in each) for name, each in phases.items()}
    read |= values["read"] or {}
    lines = tuple(
        Phase(t_ns, name, ns)
        for name, each in phases.items()
        for t_ns, ns in zip(read[name], each, strict=True)
    )
    report = TrialOutcome("ok", result=values["result"])
    return ok_trial(
        SLEEPERS, {"phases": phases, "phase_lines": lines, "report": report}, tasks=TASKS, seconds=SECONDS
    )


def refusal(**changes: Any) -> str:
    seen = validated(trial(**changes), SLEEPERS, SEED)
    return "" if seen.outcome is Outcome.OK else f"{seen.outcome}: {seen.detail}"


def test_an_honest_trial_is_accepted() -> None:
    assert refusal() == ""
    # A failed trial stays as it was.
    crashed = dataclasses.replace(trial(start=[]), outcome=Outcome.CRASHED, detail="status 1")
    assert validated(crashed, SLEEPERS, SEED) == crashed


def test_tasks_that_were_not_all_asleep_at_one_time() -> None:
    assert refusal(start=[INSTANTS[0]]) == ""
    assert "25 tasks took 2.4" in (text := refusal(start=[INSTANTS[0] + 400_000_000]))
    assert text.endswith("they were not all asleep at one time")


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_tenth_that_comes_too_early_by_either_clock(place: int) -> None:
    wakes = list(trial().phases["wake"])
    due = INSTANTS[reported_after(TASKS)[place] - 1]
    early = [*wakes[:place], due - 1, *wakes[place + 1 :]]
    assert "some woke early" in refusal(wake=early)
    # The program says that it is late, and the probe has read it before.
    read = {"wake": tuple(ns + (-30_000 if each == place else 51_000_000) for each, ns in enumerate(wakes))}
    assert refusal(read=read).startswith("wrong-evidence")


def test_times_that_no_clock_shows() -> None:
    wakes = trial().phases["wake"]
    ahead = (*wakes[:-1], wakes[-1] + 200_000_000)
    read = {"wake": tuple(ns + 51_000_000 for ns in wakes)}
    assert "and the program had run for" in refusal(wake=ahead, read=read)


def test_lines_that_are_missing_or_too_many() -> None:
    wakes = trial().phases["wake"]
    assert "9 lines ::phase name=wake instead of 10" in refusal(wake=wakes[1:])
    assert "11 lines" in refusal(wake=[*wakes, wakes[-1]])
    assert "0 lines ::phase name=start" in refusal(start=[])
    assert "2 lines ::phase name=start" in refusal(start=[1000, 2000])


@pytest.mark.parametrize("change", cases(__file__, "lateness_that_is_none"))
def test_lateness_that_is_none(change: dict[str, str]) -> None:
    assert "must be whole numbers" in refusal(result=LATE | change)


def test_lateness_that_is_missing_or_longer_than_the_trial() -> None:
    assert "must be whole numbers" in refusal(result={})
    assert "must be whole numbers" in refusal(result=None)
    longest = trial().phases["wake"][-1] - INSTANTS[0]
    assert refusal(result=LATE | {"late_max_ns": str(longest)}) == ""
    assert "a task was" in refusal(result=LATE | {"late_max_ns": str(longest + 1)})
