"""Rows of a run that do not fit together."""

from __future__ import annotations

import pytest

from ringside.analysis.coherence import check_coherent
from ringside.errors import StoreError
from ringside.model.design import Cell, Level, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.workloads.command import COMMAND
from ringside.workloads.ring import RING
from tests.support import points

RUN = Run("run-1", "x", "2030", None, 1, {}, {})


def changed(**levels: Level | None) -> Point:
    """A point of the ring with other levels for some factors, without those that are None, unchecked."""
    merged = {**points.point(RING).as_dict(), **levels}
    return Point(tuple((name, level) for name, level in merged.items() if level is not None))


def check(point: Point, *trials: Trial) -> None:
    check_coherent(RUN, RING, [points.point(RING), point], [Cell("go", point)], trials)


@pytest.mark.parametrize(
    "levels",
    [
        {},
        {"nodes": 2},
        # More than is possible now: earlier versions may have had a wider range.
        {"nodes": 10**9},
        {"cores": 1},
        {"cores": 4096},
        {"mode": "token"},
        # Factors that earlier versions did not have.
        {"capacity": None},
        {"repeats": None},
    ],
)
def test_points_of_this_and_of_earlier_versions(levels: dict[str, Level | None]) -> None:
    check(changed(**levels))


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("nodes", None),
        ("nodes", -1),
        ("nodes", "many"),
        ("nodes", "3"),
        ("cores", None),
        ("cores", 0),
        ("cores", "all"),
        ("mode", None),
        ("mode", "sideways"),
        ("mode", 3),
        ("trace", 7),
        ("trace", "1"),
    ],
)
def test_points_that_no_run_has(name: str, level: Level | None) -> None:
    with pytest.raises(StoreError) as refused:
        check(changed(**{name: level}))
    assert str(refused.value) == f"run run-1 cannot be read: a point has no usable {name}"


def test_trials_of_cells_that_the_run_does_not_have() -> None:
    here, there = changed(), changed(nodes=7)
    mine = Trial(1, 0, Cell("go", here), Outcome.OK, "")
    check(here, mine)
    for cell in (Cell("erlang", here), Cell("go", there)):
        with pytest.raises(StoreError) as refused:
            check(here, mine, Trial(1, 0, cell, Outcome.OK, ""))
        assert str(refused.value) == (
            "run run-1 cannot be read: it has a trial of a cell that it does not have"
        )


def test_points_of_commands_are_free() -> None:
    point = Point((("n", "anything"),))
    check_coherent(RUN, COMMAND, [point], [Cell("A", point)], [])
    with pytest.raises(StoreError, match="a cell that it does not have"):
        check_coherent(RUN, COMMAND, [point], [], [Trial(1, 0, Cell("A", point), Outcome.OK, "")])
