from __future__ import annotations

import io

import pytest
from rich.console import Console

from ringside.cli.progress import Estimate, LiveProgress
from ringside.measure.runs.stopping import StoppingRule
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.store.plans import PlannedContender, plan_values
from ringside.units import duration
from ringside.workloads.ring import RING


def cell(name: str, nodes: int = 10) -> Cell:
    levels = (("nodes", nodes), ("messages", 10), ("mode", "token"), ("trace", 0), ("cores", 1))
    return Cell(name, Point(levels))


def run_of(*cells: Cell) -> Run:
    """The record of a run of these cells that has just begun."""
    names = tuple(each.contender for each in cells)
    experiment = Experiment(
        name="e", title="E", workload="ring", contenders=names, factors={}, baseline=names[0], blocks=2
    )
    points = tuple({each.point: None for each in cells})
    plan = plan_values(experiment, points, {name: PlannedContender(title=name) for name in names})
    return Run("r", "e", "", None, 1, plan, {})


def test_time_left_is_estimated_from_trials() -> None:
    cells = [cell("a"), cell("a", 1000), cell("b"), cell("b", 1000)]
    estimate = Estimate(cells, 2, RING)
    assert estimate.left_s() is None
    estimate.on_trial_end(cells[0], 1.0)
    # Cells without a trial cost in proportion to the work: 1 + 2·100 for a, as much for b.
    assert estimate.left_s() == pytest.approx(1 + 200 + 2 + 200)
    for other in cells[1:]:
        estimate.on_trial_end(other, 3.0)
    assert estimate.left_s() == pytest.approx(1 + 3 * 3)
    for each in cells:
        estimate.on_trial_end(each, 1.0)
    assert estimate.left_s() == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_runs_is_shown_and_failures_stay(is_terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=80, color_system=None)
    with LiveProgress(console) as progress:
        progress.on_begin(run_of(cell("a")), StoppingRule(2), [cell("a")], RING)
        progress.on_trial(1, cell("a"))
        progress.on_tick()
        failed = Trial(1, 0, cell("a"), Outcome.CRASHED, "it said \x1b[31mno")
        progress.on_trial_end(failed, 1.0)
    shown = out.getvalue()
    assert "block 1 of 2" in shown
    assert "crashed: it said ·[31mno" in shown
    assert "\x1b[31m" not in shown


def test_a_long_rehearsal_is_said_once_where_no_line_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("ringside.cli.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with LiveProgress(Console(file=out, width=80)) as progress:
        progress.on_warm_up(cell("a"))
        for now[0] in (105.0, 111.0, 112.0):
            progress.on_tick()
        progress.on_trial(1, cell("a"))
        now[0] = 200.0
        progress.on_tick()
    assert out.getvalue().count("so far") == 1
    assert "warming up a: 10 s so far\n" in out.getvalue()


@pytest.mark.parametrize(
    ("rule", "goal"),
    [
        (StoppingRule(7), "in 7 blocks"),
        (StoppingRule(40, decided=True), "until all is decided, 40 blocks at most"),
        (
            StoppingRule(40, decided=True, time_s=90),
            "until all is decided, 1 min 30 s or 40 blocks at most",
        ),
        (StoppingRule(100_000, decided=True, time_s=30), "until all is decided, 30 s at most"),
        (
            StoppingRule(500, until=0.02),
            "until each interval is narrower than 0.02 of its ratio, 500 blocks at most",
        ),
        (StoppingRule(100_000, time_s=30), "until the time is over, 30 s at most"),
    ],
)
def test_when_a_run_ends_is_said_first(rule: StoppingRule, goal: str) -> None:
    out = io.StringIO()
    with LiveProgress(Console(file=out, width=120)) as progress:
        progress.on_begin(run_of(cell("a"), cell("b")), rule, [cell("a"), cell("b")], RING)
        progress.on_trial(3, cell("a"))
    shown = out.getvalue()
    assert shown.startswith(f"run r: 2 cells {goal}\n")
    # How many blocks there will be is known of the first one only.
    assert ("block 3 of" in shown) is rule.is_fixed
