"""Figures that no honest program can have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.model.results import Diagnostic
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.render.tables import points as tables
from ringside.workloads.base import Slope
from tests.analyses import Exact, analyse, analysis, ok, point, scaled

HERE = point(nodes=10)


def flagged(run: RunAnalysis) -> dict[str, Diagnostic]:
    from ringside.analysis.plausibility import CODES

    return {each.code: each for each in run.diagnostics if each.code in CODES}


def ring(hops: Mapping[str, float], **more: str) -> RunAnalysis:
    values = {(name, HERE): {"hop_ns": scaled(hop)} for name, hop in hops.items()}
    return analysis(values, floor="limit", baseline="go", **more)  # type: ignore[arg-type]


def test_a_contender_far_below_the_floor_is_marked() -> None:
    run = ring({"go": 200.0, "limit": 100.0, "perl": 10.0})
    (found,) = flagged(run).values()
    assert (found.code, found.subjects) == ("faster-than-floor", ("perl",))
    assert found.values["times"]["perl"] == pytest.approx(10, rel=0.05)
    assert run.implausible == {"perl"}
    table = tables.point_table(run, HERE)
    assert {row[0].text for row in table.rows} == {"go", "limit", "perl (!)"}
    assert table.notes == ("(!) has figures that no honest program can have: see the warnings.",)


@pytest.mark.parametrize("perl", [100.0, 98.0, 97.0])
def test_one_that_is_near_the_floor_is_not(perl: float) -> None:
    run = ring({"go": 200.0, "limit": 100.0, "perl": perl})
    assert flagged(run) == {}
    table = tables.point_table(run, HERE)
    assert table.notes == ()
    assert "perl" in {row[0].text for row in table.rows}


def test_the_floor_has_a_rate_too() -> None:
    values = {
        (name, HERE): {"rate": scaled(rate)} for name, rate in {"go": 5, "limit": 10, "perl": 90}.items()
    }
    run = analysis(values, floor="limit", baseline="go", metrics=["rate"])
    assert flagged(run)["faster-than-floor"].subjects == ("perl",)


def test_memory_below_the_floors_is_possible() -> None:
    values = {
        (name, HERE): {"memory_bytes": scaled(size)} for name, size in {"limit": 9e6, "go": 1e6}.items()
    }
    assert flagged(analysis(values, floor="limit", baseline="go", metrics=["memory_bytes"])) == {}


def test_nothing_takes_less_than_a_cycle() -> None:
    values = {(name, HERE): {"hop_ns": scaled(hop)} for name, hop in {"go": 200.0, "perl": 0.01}.items()}
    found = flagged(analysis(values, baseline="go"))["below-a-cycle"]
    assert found.subjects == ("perl",)
    assert found.values["amounts"]["perl"] == pytest.approx(0.01)
    values = {("go", HERE): {"hop_ns": scaled(0.3)}}
    assert flagged(analysis(values)) == {}


class Grown(Exact):
    metrics = (*Exact.metrics, *())
    slopes = (Slope("per_node", "B", "Per node", "growth", over="nodes", metric="memory_bytes"),)

    def metric(self, name: str):  # type: ignore[no-untyped-def]
        return next((each for each in self.metrics if each.name == name), self.metrics[0])


def growth(per_node: float, threads: tuple[float, float]) -> dict[str, Diagnostic]:
    """Of ten and of a thousand nodes, with so many threads."""
    values = {}
    for nodes, count in zip((10, 1010), threads, strict=True):
        memory = [1e6 + nodes * per_node for _ in range(7)]
        values["perl", point(nodes=nodes)] = {
            "hop_ns": scaled(100.0),
            "memory_bytes": memory,
            "peak_threads": [count] * 7,
        }
    return flagged(analysis(values, measurement=Grown()))


@pytest.mark.parametrize(
    ("per_node", "threads", "is_flagged"),
    [
        (0.0, (1, 1), True),
        (-300.0, (1, 1), True),
        (250.0, (1, 1), False),  # a small object
        (2700.0, (4, 4), False),  # a goroutine
        (2700.0, (11, 1011), True),  # a thread
        (9000.0, (11, 1011), False),
    ],
)
def test_a_unit_takes_memory(per_node: float, threads: tuple[float, float], is_flagged: bool) -> None:
    assert ("too-little-memory" in growth(per_node, threads)) == is_flagged


@pytest.mark.parametrize(
    ("errors", "least_ns", "count"),
    [({}, 20_000, None), ({"unsolicited": 3}, 20_000, 21), ({}, 300, 7), ({"timeout": 2}, 1000, None)],
)
def test_answers_come_after_they_were_asked(errors: dict[str, int], least_ns: int, count: int | None) -> None:
    import dataclasses

    plain = analysis({("perl", HERE): {"hop_ns": scaled(100.0)}})
    load = LoadMessage(
        step="s", name="all", errors=errors, histograms={"latency": LatencySummary(count=9, min_ns=least_ns)}
    )
    trials = [
        dataclasses.replace(ok(block, "perl", HERE, hop_ns=100.0), loads=(load,)) for block in range(1, 8)
    ]
    run = analyse(plain.run, trials, Exact())
    found = flagged(run).get("answered-unasked")
    assert (found.values["counts"] if found else None) == (count and {"perl": count})
