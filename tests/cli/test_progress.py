import io
import re

import pytest
from rich.console import Console

from ringside.cli.progress import LiveProgress
from ringside.measure.runs.loop import StoppingRule
from ringside.model.catalogue import Unavailable
from ringside.model.design import Cell, Point, Show
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.workloads.command import COMMAND
from ringside.workloads.ring.workload import RING
from tests.support.analyses import planned
from tests.support.cases import cases
from tests.support.programs import CATALOGUE


def cell(name: str, nodes: int = 10) -> Cell:
    levels = (("nodes", nodes), ("messages", 10), ("mode", "token"), ("trace", 0), ("cores", 1))
    return Cell(name, Point(levels))


def run_of(*cells: Cell) -> Run:
    """The record of a run of these cells that has just begun."""
    points = tuple({each.point: None for each in cells})
    return planned([each.contender for each in cells], points, workload="ring", ended=False)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_runs_is_shown_and_failures_stay(is_terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=80, color_system=None)
    with LiveProgress(console) as progress:
        progress.on_begin(run_of(cell("a")), StoppingRule(2), [cell("a")], RING)
        progress.on_trial(1, cell("a"))
        progress.on_tick()
        failed = Trial(1, 0, cell("a"), Outcome.CRASHED, "it said \x1b[31mno")
        progress.on_trial_end(failed)
    shown = out.getvalue()
    assert "block 1 of 2" in shown
    assert "crashed: it said ·[31mno" in shown
    assert "\x1b[31m" not in shown


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("ringside.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_brief_trials_do_not_redraw_the_line_each_time(clock: list[float]) -> None:
    with LiveProgress(Console(file=(out := io.StringIO()), force_terminal=True), quiet=True) as progress:
        for block in range(1, 101):
            progress.on_trial(block, cell("a"))
            clock[0] += 0.001
    assert 2 <= len(set(re.findall(r"block \d+", out.getvalue()))) <= 3


@pytest.mark.parametrize(
    ("rule", "limits", "left"),
    [
        (StoppingRule(7), "7 blocks at most", "block 2 of 7, about 1 min 12 s left"),
        (StoppingRule(7, decided=True, time_s=60), "7 blocks at most", "block 2, about 1 min 12 s left"),
        (StoppingRule(40, decided=True), "40 blocks at most", "block 2"),
        (
            StoppingRule(40, decided=True, time_s=90),
            "1 min 30 s or 40 blocks at most",
            "block 2, about 1 min 18 s left",
        ),
        (StoppingRule(100_000, time_s=240), "4 min 00 s at most", "block 2, about 4 min left"),
    ],
)
def test_each_block_has_the_time_left(clock: list[float], rule: StoppingRule, limits: str, left: str) -> None:
    out = io.StringIO()
    with LiveProgress(Console(file=out, width=120)) as progress:
        progress.on_begin(run_of(cell("a"), cell("b")), rule, [cell("a"), cell("b")], RING)
        for name in ("a", "b"):
            progress.on_warm_up(cell(name))
        for block in (1, 2):
            progress.on_trial(block, cell("a"))
            progress.on_trial(block, cell("b"))
            clock[0] += 12
    lines = out.getvalue().splitlines()
    assert lines[:2] == [f"run run-1: 2 cells, {limits}", "warming up"]
    assert lines[3:] == [left]


def test_machines_of_a_cluster_are_at_several_blocks(clock: list[float]) -> None:
    out = io.StringIO()
    with LiveProgress(Console(file=out)) as progress:
        progress.on_begin(run_of(cell("a")), StoppingRule(7), [cell("a")], RING)
        for block in (1, 2, 1, 3, 2):
            clock[0] += 10.0
            progress.on_trial(block, cell("a"))
    assert re.findall(r"block (\d)", out.getvalue()) == ["1", "2", "3"]


def test_a_suite_says_what_is_done_what_is_next_and_the_time_left(clock: list[float]) -> None:
    out, missing = io.StringIO(), Unavailable(CATALOGUE.contender("go"), "not here", "install it")
    with LiveProgress(Console(file=out, width=120)) as progress:
        for number in (1, 2):
            progress.on_part(number, [("ring", 30.0), ("jobs", 75.0)])
            progress.on_prepared(missing)
            progress.on_begin(run_of(cell("a")), StoppingRule(7), [cell("a")], RING)
            progress.on_trial(1, cell("a"))
            # Twice as long as planned, and so may be the rest.
            clock[0] += 90
    assert out.getvalue().splitlines() == [
        "part 1 of 2, about 2 min left: ring (then jobs)",
        "go: not here (install it)",
        "part 1 of 2, about 2 min left: ring (then jobs): block 1 of 7",
        "part 2 of 2, about 3 min left: jobs",
        "part 2 of 2, about 3 min left: jobs: block 1 of 7",
    ]


@pytest.mark.parametrize(("judged", "most", "time_s", "before", "dues"), cases(__file__, "slow_commands"))
def test_slow_commands(
    judged: str, most: int, time_s: float, before: int, dues: list[str], clock: list[float]
) -> None:
    out = io.StringIO()
    fast, slow = (Cell(name, Point(())) for name in "AB")
    with LiveProgress(Console(file=out, width=200), quiet=True, paces=True) as progress:
        rule = StoppingRule(most, decided=True, time_s=time_s or None, min_timed_blocks=3)
        run = planned(["A", "B"], [fast.point], workload="command", show=Show((judged,)), ended=False)
        progress.on_begin(run, rule, [fast, slow], COMMAND)
        for block, factor in enumerate((1, 1, 3, 3), before + 1):
            for each, seconds in ((slow, 5 * factor), (fast, 2 * factor)):
                progress.on_trial(block, each)
                for _ in range(seconds):
                    clock[0] += 1
                    progress.on_tick()
                report = TrialOutcome("ok", wall_ns=seconds * 10**9, cpu_user_ns=1, cpu_system_ns=1)
                progress.on_trial_end(Trial(block, 0, each, Outcome.OK, "", report=report))
    lines = out.getvalue().splitlines()
    paces = [line for line in lines if "a block takes" in line]
    # The second block is as expected, the third is not.
    ratio = "2.50 in wall time" if judged == "wall_s" else "1.00 in CPU time"
    assert paces == [
        f"a block takes {block}, {due}; so far B / A {ratio}"
        for block, due in (("7.00 s", dues[0]), ("11.7 s", dues[-1]))
    ]
    left = ", about 1 s left" if time_s else ""
    assert most == 4 or any(f"block {before + 3}{left}: B (" in line for line in lines)
    assert len(lines) < 10
