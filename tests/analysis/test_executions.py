"""Executions of commands, described, and how they change with a parameter."""

from __future__ import annotations

from ringside.model.design import Cell
from ringside.stats.paired import paired_ratio
from ringside.stats.samples import describe
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE
from tests.support.analyses import CPU, HOP, NOISE, analysis, exactly, near, point, scaled

P, Q, R = point(n=1), point(n=2), point(n=4)


def test_cells_with_figures_are_described() -> None:
    made = analysis({("A", P): {"hop_ns": scaled(100.0)}, ("B", P): {"cpu_s": scaled(3.0)}})
    described = made.executions.descriptions
    assert list(described) == [Cell("A", P)]
    assert described[Cell("A", P)] == describe(scaled(100.0))


def test_means_of_all_metrics() -> None:
    values = {"hop_ns": (1.0, 3.0, None, 8.0), "cpu_s": (2.0, 4.0), "rate": (None, None)}
    made = analysis({("A", P): values, ("B", P): {"hop_ns": scaled(1.0)}})
    assert made.executions.means[Cell("A", P)] == {"hop_ns": 4.0, "cpu_s": 3.0}
    assert made.executions.means[Cell("B", P)] == {"hop_ns": near(sum(NOISE) / 7)}


def test_each_point_over_the_first_of_the_same_command() -> None:
    made = analysis(
        {
            ("A", P): {HOP.name: scaled(100.0), CPU.name: scaled(1.0)},
            ("A", Q): {HOP.name: scaled(150.0)},
            ("A", R): {HOP.name: scaled(400.0)},
            ("B", P): {HOP.name: scaled(10.0)},
            ("B", Q): {HOP.name: scaled(5.0)},
            # Without figures there is no ratio.
            ("B", R): {CPU.name: scaled(5.0)},
            ("C", P): {CPU.name: scaled(5.0)},
            ("C", Q): {HOP.name: scaled(5.0)},
        },
        failed=[("C", R)],
    )
    assert made.executions.over_first_point == {
        Cell("A", Q): exactly(1.5),
        Cell("A", R): exactly(4.0),
        Cell("B", Q): exactly(0.5),
    }


def test_intervals_have_the_confidence_of_the_run() -> None:
    """That of a run until intervals are narrow is higher."""
    spread = [110.0 + number for number in range(10)]
    values = {("A", P): {HOP.name: [100.0] * 10}, ("A", Q): {HOP.name: spread}}
    both = [dict(enumerate(each)) for each in (spread, [100.0] * 10)]
    plain, wide = (analysis(values, until=until).executions.over_first_point for until in (None, 0.05))
    assert plain == {Cell("A", Q): paired_ratio(both[0], both[1], 0.95)}
    assert wide == {Cell("A", Q): paired_ratio(both[0], both[1], SEQUENTIAL_CONFIDENCE)}
    assert plain != wide
