"""The figures that each workload makes of its trials."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LoadMessage, Sample
from ringside.workloads import WORKLOADS, measurement
from tests.support import served
from tests.support.points import PROCESS, REPORT, point
from tests.workloads.test_serving import MARKS

CASES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "figures.toml").read_text(encoding="utf-8")
)
HISTOGRAMS = ("latency", "lateness", "connect", "first_byte")


def case(name: str) -> dict[str, Any]:
    own = CASES[name]
    return {**case(own["like"]), **own} if "like" in own else own


def load(row: Mapping[str, Any]) -> LoadMessage:
    """A histogram is named by its median."""
    fields = {key: value for key, value in row.items() if key not in HISTOGRAMS}
    summaries = {key: served.summary(row[key]) for key in HISTOGRAMS if key in row}
    if upstreams := fields.get("upstreams"):
        medians = {
            key: served.summary(value) for key, value in upstreams.items() if key in ("overhead", "slowest")
        }
        fields["upstreams"] = msgspec.to_builtins({**upstreams, **medians})
    fields["histograms"] = msgspec.to_builtins(summaries)
    return msgspec.convert({"type": "load", "name": "all", **fields}, LoadMessage)


def trial(known: Mapping[str, Any]) -> Trial:
    name = known["workload"]
    at = point(WORKLOADS[name], **known["levels"]) if "levels" in known else Point(())
    marks = known.get("marks", {})
    report = known.get("report")
    return Trial(
        1,
        0,
        Cell("go", at),
        Outcome.OK,
        "",
        report=None
        if report is None
        else msgspec.structs.replace(
            REPORT, **{key: None if value is False else value for key, value in report.items()}
        ),
        phases={phase: tuple(ns) for phase, ns in known.get("phases", {}).items()},
        marks=MARKS
        if marks == "server"
        else {
            mark: Sample(fields.get("t_ns", 1), **{k: v for k, v in fields.items() if k != "t_ns"})
            for mark, fields in marks.items()
        },
        loads=tuple(map(load, known.get("loads", ()))),
        input_bytes=known.get("input_bytes"),
    )


@pytest.mark.parametrize("name", CASES)
def test_figures_of_a_trial(name: str) -> None:
    known = case(name)
    measured = measurement(known["workload"])
    figures = measured.figures(trial(known))
    right = known["figures"] | (PROCESS if known.get("process") and not known.get("partly") else {})
    if known.get("partly"):
        assert not figures.keys() & {*known.get("without", ())}
        figures = {metric: figures[metric] for metric in right}
    assert figures == pytest.approx(right)
    assert measured.repeats_of(trial(known)) == tuple(known.get("repeats", ()))
