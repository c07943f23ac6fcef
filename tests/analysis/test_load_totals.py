"""What the loads at each contender counted."""

from __future__ import annotations

from ringside.analysis.distributions import LoadTotals, load_totals
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LoadMessage


def trial(block: int, name: str, *loads: LoadMessage) -> Trial:
    return Trial(block, 0, Cell(name, Point(())), Outcome.OK, "", loads=loads)


def load(answered: int, messages: int, unfinished: int, **errors: int) -> LoadMessage:
    return LoadMessage(
        step="measured",
        name="all",
        requests=answered,
        messages=messages,
        unfinished=unfinished,
        errors=errors,
        late_requests=10_000,
    )


def test_loads_are_added_up_and_warm_ups_are_not() -> None:
    trials = [
        trial(0, "old", load(1, 2, 3, timeout=4)),
        trial(0, "new", load(1, 2, 3, timeout=4)),
        trial(1, "new", load(10, 20, 30, timeout=40, reset=50)),
        trial(1, "old", load(100, 200, 300), load(7, 8, 9, reset=6)),
        trial(2, "old", load(1000, 2000, 3000, timeout=1)),
        trial(2, "silent"),
    ]
    totals = load_totals(trials)
    assert totals == {
        "old": LoadTotals(answered=1107, messages=2208, unfinished=3309, errors=7),
        "new": LoadTotals(answered=10, messages=20, unfinished=30, errors=90),
        "silent": LoadTotals(0, 0, 0, 0),
    }
    assert list(totals) == ["old", "new", "silent"]
