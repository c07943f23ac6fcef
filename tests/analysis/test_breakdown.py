"""Where the time of programs went."""

from __future__ import annotations

from tests.analysis.test_pictures import batch
from tests.support.analyses import analysis, point, scaled

P = point(nodes=10, mode="x")


def test_where_the_time_went_is_shown_at_the_most_cores() -> None:
    rows = batch((1, 2, 4), (100, 200)).breakdown
    assert [(row.cell.contender, row.cell.point["cores"], row.cell.point["cases"]) for row in rows] == [
        (name, 4, cases) for cases in (100, 200) for name in ("go", "erlang")
    ]
    assert [row.diagnosis for row in rows] == ["go on 4: 50.0", None, "go on 4: 100.0", None]
    # What there is no figure of is left out.
    assert [{name: each.estimate for name, each in row.figures.items()} for row in rows[:2]] == [
        {"cpu_s": 2.0},
        {"cpu_s": 4.0},
    ]


def test_where_the_time_went_on_one_number_of_cores_and_in_failures() -> None:
    rows = batch((2,), (100, 200), failed=[("limit", point(cores=2, cases=100, mode="x"))]).breakdown
    assert len(rows) == 4
    assert analysis({("go", P): {"hop_ns": scaled(1)}}).breakdown == ()
