"""Rules for every measurement that comes with ringside."""

from typing import Any

import pytest

from ringside.errors import UsageError
from ringside.model.design import Level
from ringside.workloads import WORKLOADS, measurement, undeclared_metrics, workload
from ringside.workloads.base import Measurement
from tests.support import ROOT
from tests.support.analyses import near
from tests.support.cases import cases, tables
from tests.support.points import ok_trial, point

PROTOCOL = ROOT / "docs" / "PROTOCOL.md"
OWN = ("accounts", "batch", "fanout", "feed", "fib", "jobs", "restarts", "ring", "sleepers")
MEASUREMENTS = tuple(measurement(name) for name in (*OWN, "command", "target"))


def test_workloads_by_name() -> None:
    assert tuple(WORKLOADS)[: len(OWN)] == OWN
    for name in OWN:
        assert workload(name) is WORKLOADS[name] is measurement(name)
        assert workload(name).name == name
    with pytest.raises(
        UsageError, match="there is no workload `rings`; known: accounts, batch, fanout, feed, fib"
    ):
        workload("rings")
    # These have no contract, so that no contender can take part in them.
    assert (measurement("command").name, measurement("target").name) == ("command", "target")
    with pytest.raises(UsageError, match="there is no workload `command`"):
        workload("command")


@pytest.mark.parametrize("measured", MEASUREMENTS, ids=lambda measured: measured.name)
def test_metrics_are_declared_once_and_can_stand_in_a_sentence(measured: Measurement) -> None:
    assert undeclared_metrics(measured) == []
    names = [metric.name for metric in measured.metrics]
    assert len(names) == len(set(names))
    for metric in measured.metrics:
        # `CPU time`, not `cPU`; no bare `p99`, and no words that are cut short.
        assert metric.noun[:2].islower() or metric.noun[:2].isupper() or metric.noun[:1] == "p"
        assert "/" not in metric.noun
        assert " " in metric.noun or metric.noun in ("instructions", "latency", "makespan", "rate", "RSS")
        assert metric.explanation[-1:] not in ("", ".")


@pytest.mark.parametrize("name", OWN)
def test_each_explains_its_evidence_and_has_a_contract(name: str) -> None:
    workload = WORKLOADS[name]
    assert workload.evidence_note.endswith(".")
    assert workload.evidence_note[0].isupper()
    assert f"\n### {name}\n" in PROTOCOL.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OWN)
def test_slopes_and_laws_are_over_factors(name: str) -> None:
    workload = WORKLOADS[name]
    for slope in workload.slopes:
        for factor in (slope.over, *slope.regardless_of):
            workload.factor(factor)
    for law in workload.scaling_laws:
        workload.factor(law.over)
        assert law.kind == ("cores" if law.over == "cores" else "size")
    for curve in workload.curves:
        assert curve.y_title
        for factor, level in curve.where.items():
            assert workload.factor(factor).check(level) == level


@pytest.mark.parametrize("name", OWN)
def test_trials_without_a_report_have_no_figures(name: str) -> None:
    figures = WORKLOADS[name].figures(ok_trial(WORKLOADS[name]))
    assert figures == {}


SHARES = tables(__file__, "program_share.toml")["case"]


@pytest.mark.parametrize("case", SHARES)
def test_the_share_of_the_program(case: dict[str, Any]) -> None:
    measured = WORKLOADS[case["workload"]]
    own = measured.program_share(case["headline"], point(measured, **case.get("levels", {})), case["figures"])
    assert (own and own[0]) == (near(case["share"]) if "share" in case else None)


@pytest.mark.parametrize(("name", "levels", "message"), cases(__file__, "points_without_sense"))
def test_points_that_make_no_sense_are_refused(name: str, levels: dict[str, Level], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        point(WORKLOADS[name], **levels)


@pytest.mark.parametrize(("name", "levels", "short"), cases(__file__, "a_rehearsal_is_short"))
def test_a_rehearsal_is_short(name: str, levels: dict[str, Level], short: dict[str, Level]) -> None:
    rehearsed = WORKLOADS[name].rehearsal(point(WORKLOADS[name], **levels)).as_dict()
    assert short.items() <= rehearsed.items()
