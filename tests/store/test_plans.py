from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import StoreError
from ringside.model.design import DEFAULT_MARGIN, Experiment, ExperimentLimits, Point, Show
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import (
    PLAN_VERSION,
    KeptSelection,
    PlannedContender,
    RunPlan,
    plan_values,
    read_plan,
)
from tests.support import ROOT

POINTS = (Point((("nodes", 2), ("mode", "token"))), Point((("nodes", 3), ("mode", "token"))))
EXPERIMENT = Experiment(
    name="x",
    title="X",
    workload="ring",
    contenders=("a", "b"),
    factors={"nodes": (2, "all"), "mode": ("token",)},
    baseline="b",
    blocks=3,
    note="n",
    published="p",
    limits=ExperimentLimits(5.0, 6, 7, 8),
    show=Show(("hop_ns", "cpu_s"), "nodes", (("a", "b"),)),
    at=({"nodes": 2}, {"mode": "token"}),
    until=0.02,
    until_decided=True,
    time_s=60.0,
    margin=0.03,
)
CONTENDERS = {
    "a": PlannedContender(
        title="t",
        family="actors",
        model="m",
        language="l",
        queue="q",
        scheduler="s",
        parallel=True,
        kind="bare",
        runtime="r",
        runs_on="o",
        command=("{runtime}", "x"),
        files={"x": "0" * 64},
        version="1",
        receipt="r 1",
        executable="/bin/r",
        origin="Debian 13 r 1",
        content="c",
    ),
    "b": PlannedContender(title="u", unavailable="no", remedy="install it", log="$ make\n"),
}
SUITE: KeptSelection = {
    "id": "1-s",
    "name": "s",
    "only": [],
    "settings": {},
    "blocks": None,
    "until": None,
    "margin": None,
    "seed": 4,
}


def run_of(values: dict[str, Any]) -> Run:
    """A run with this plan, as it comes from a store."""
    return Run("1-x", "x", "", None, 1, json.loads(json.dumps(values)), {})


def test_a_plan_comes_out_as_it_went_in() -> None:
    published = Catalogue([ROOT]).published("2007-ring-showdown")
    values = plan_values(EXPERIMENT, POINTS, CONTENDERS, published, SUITE)
    assert values["version"] == PLAN_VERSION
    assert run_of(values).suite == SUITE
    assert read_plan(run_of(values)) == RunPlan(EXPERIMENT, POINTS, CONTENDERS, published, SUITE)


def test_a_plan_without_a_suite_and_a_source(tmp_path: Path) -> None:
    values = plan_values(EXPERIMENT, POINTS, CONTENDERS)
    store = Store(tmp_path / "s.sqlite")
    run = store.run(store.begin_run("x", 1, values, {}, {}).id)
    assert read_plan(run) == RunPlan(EXPERIMENT, POINTS, CONTENDERS, None, None)
    assert run.suite == {}


# As revision 3dbd790 wrote it: no version, no class of contenders.
VERSION_1: dict[str, Any] = {
    "experiment": {
        "name": "quick",
        "title": "Quick",
        "workload": "ring",
        "contenders": ["go", "limit", "erlang"],
        "factors": {"nodes": [100, 400], "cores": ["all"]},
        "baseline": "go",
        "blocks": 6,
        "note": "A note.",
        "published": "2007",
        "limits": {"wall_s": 120.0, "memory_bytes": None, "output_bytes": None, "processes": 1024},
        "show": {"metrics": ["hop_ns"], "sweep": None, "ratios": [["limit", "go"]]},
        "at": [{"nodes": 100}],
        "until": None,
    },
    "suite": {
        "name": "showdown",
        "blocks": 6,
        "seed": None,
        "until": None,
        "only": ["go"],
        "settings": {},
        "id": "20261122-132258-showdown",
    },
    "points": [{"nodes": 100, "cores": 1}, {"nodes": 400, "cores": 1}],
    "contenders": {
        "go": {
            "title": "Go goroutines",
            "model": "m",
            "language": "Go",
            "queue": "0 (rendezvous)",
            "scheduler": "preemptive",
            "parallel": True,
            "runtime": "go",
            "runs_on": "The toolchain of Go",
            "command": ["{build}/ring"],
            "files": {"go.mod": "ab"},
            "version": "1.26.8",
            "receipt": "go version go1.26.8",
            "executable": "/usr/bin/go",
            "content": "cd",
        },
        "limit": {
            "title": "The floor",
            "model": "m",
            "language": "C",
            "queue": "30",
            "scheduler": "cooperative",
            "parallel": False,
            "runtime": "cc",
            "command": ["{build}/ring"],
            "files": {},
            "version": "12",
            "receipt": "cc 12",
            "executable": "/usr/bin/cc",
            "content": "ef",
        },
        "erlang": {
            "title": "Erlang",
            "model": "m",
            "language": "Erlang",
            "queue": "unbounded",
            "scheduler": "preemptive",
            "parallel": True,
            "runtime": "otp",
            "command": ["{runtime}"],
            "files": {},
            "unavailable": "needs erl: not found",
            "remedy": "apt-get install erlang",
            "log": "",
        },
    },
    "published": {
        "name": "2007",
        "title": "A post",
        "date": "2007-01-01",
        "hardware": "h",
        "software": {"go": "0"},
        "metric_note": "seconds",
        "figures": [
            {
                "workload": "ring",
                "point": {"nodes": 100},
                "contender": "go",
                "metric": "cpu_s",
                "value": 1.5,
                "as_published": "1.5",
            }
        ],
        "claims": [{"text": "c"}],
    },
}


def test_plans_of_version_1_are_read() -> None:
    plan = read_plan(run_of(VERSION_1))
    assert plan.experiment == Experiment(
        name="quick",
        title="Quick",
        workload="ring",
        contenders=("go", "limit", "erlang"),
        factors={"nodes": (100, 400), "cores": ("all",)},
        baseline="go",
        blocks=6,
        note="A note.",
        published="2007",
        limits=ExperimentLimits(120.0, None, None, 1024),
        show=Show(("hop_ns",), None, (("limit", "go"),)),
        at=({"nodes": 100},),
    )
    assert plan.points == (Point((("nodes", 100), ("cores", 1))), Point((("nodes", 400), ("cores", 1))))
    assert plan.suite == VERSION_1["suite"]
    assert plan.published
    assert [figure.value for figure in plan.published.figures] == [1.5]
    assert [(claim.id, claim.workload) for claim in plan.published.claims] == [("", "")]


def test_contenders_of_version_1_get_what_it_lacked() -> None:
    contenders = read_plan(run_of(VERSION_1)).contenders
    assert {name: each.kind for name, each in contenders.items()} == {
        "go": "idiomatic",
        "limit": "floor",
        "erlang": "idiomatic",
    }
    # Where it was not kept, what a contender ran on was its language.
    assert {name: each.runs_on for name, each in contenders.items()} == {
        "go": "The toolchain of Go",
        "limit": "C",
        "erlang": "Erlang",
    }
    assert (contenders["go"].version, contenders["go"].unavailable) == ("1.26.8", "")
    assert (contenders["erlang"].version, contenders["erlang"].unavailable) == (None, "needs erl: not found")


@pytest.mark.parametrize("version", [1, 2])
def test_runs_of_earlier_versions_had_all_their_blocks(version: int) -> None:
    """They knew no margin, so it is the usual one, and did not end once all was decided."""
    values = copy.deepcopy(VERSION_1)
    if version > 1:
        values = plan_values(EXPERIMENT, POINTS, CONTENDERS, None, SUITE) | {"version": version}
        for field in ("margin", "until_decided", "time_s"):
            del values["experiment"][field]
        del values["suite"]["margin"]
    experiment = read_plan(run_of(values)).experiment
    assert (experiment.until_decided, experiment.time_s) == (False, None)
    assert experiment.margin == DEFAULT_MARGIN


def test_a_plan_of_the_first_experiments_lacks_what_came_later() -> None:
    early = copy.deepcopy(VERSION_1)
    for field in ("at", "until", "show", "note", "published"):
        del early["experiment"][field]
    for field in ("suite", "published"):
        del early[field]
    del early["contenders"]["limit"]["language"]
    plan = read_plan(run_of(early))
    assert (plan.contenders["limit"].language, plan.contenders["limit"].runs_on) == ("", "")
    assert (plan.experiment.at, plan.experiment.until, plan.experiment.show) == ((), None, Show())
    assert (plan.suite, plan.published) == (None, None)


@pytest.mark.parametrize(
    "kept",
    [
        {"suite": {"name": "mine"}},
        {"suite": {"id": "1"}},
        {"selection": {}},
        {"selection": {"name": "mine", "only": 5}},
        {"selection": {"name": "mine", "settings": {"nodes": 10}}},
        {"selection": {"name": "mine", "outside": [1]}},
        {"suite": {"id": "1", "name": "mine", "until": "soon"}},
    ],
)
def test_what_chose_a_run_must_be_whole(kept: dict[str, Any]) -> None:
    """It becomes the command that a report shows."""
    values = plan_values(EXPERIMENT, POINTS, CONTENDERS) | kept
    with pytest.raises(StoreError, match="the plan of run 1-x cannot be read: "):
        read_plan(run_of(values))


def test_a_later_version_is_refused_in_one_line() -> None:
    later = plan_values(EXPERIMENT, POINTS, CONTENDERS) | {"version": PLAN_VERSION + 1}
    message = (
        f"run 1-x has a plan of version {PLAN_VERSION + 1}, this ringside reads up to {PLAN_VERSION}: use "
        "the ringside that wrote it"
    )
    with pytest.raises(StoreError, match=message) as caught:
        read_plan(run_of(later))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"version": PLAN_VERSION},
        VERSION_1 | {"points": 5},
        VERSION_1 | {"experiment": {**VERSION_1["experiment"], "blocks": "six"}},
        VERSION_1 | {"experiment": {**VERSION_1["experiment"], "margin": "5%"}},
        VERSION_1 | {"contenders": {"go": {"model": "m"}}},
        VERSION_1 | {"contenders": {"go": "m"}},
        VERSION_1 | {"contenders": {"go": {"title": "Go", "kind": "fast"}}},
        VERSION_1 | {"contenders": ["go"]},
    ],
)
def test_a_plan_that_cannot_be_read_is_one_line(values: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="the plan of run 1-x cannot be read: ") as caught:
        read_plan(run_of(values))
    assert "\n" not in str(caught.value)
