from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import StoreError
from ringside.model.design import Experiment, ExperimentLimits, Point, Show
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import (
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


WHOLE = plan_values(EXPERIMENT, POINTS, CONTENDERS)


def run_of(values: dict[str, Any]) -> Run:
    """A run with this plan, as it comes from a store."""
    return Run("1-x", "x", "", None, 1, json.loads(json.dumps(values)), {})


def test_a_plan_comes_out_as_it_went_in() -> None:
    published = Catalogue([ROOT]).published("2007-ring-showdown")
    values = plan_values(EXPERIMENT, POINTS, CONTENDERS, published, SUITE)
    assert run_of(values).suite == SUITE
    assert read_plan(run_of(values)) == RunPlan(EXPERIMENT, POINTS, CONTENDERS, published, SUITE)


def test_a_plan_without_a_suite_and_a_source(tmp_path: Path) -> None:
    values = plan_values(EXPERIMENT, POINTS, CONTENDERS)
    store = Store(tmp_path / "s.sqlite")
    run = store.run(store.begin_run("x", 1, values, {}, {}).id)
    assert read_plan(run) == RunPlan(EXPERIMENT, POINTS, CONTENDERS, None, None)
    assert run.suite == {}


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


@pytest.mark.parametrize(
    "values",
    [
        {},
        WHOLE | {"points": 5},
        WHOLE | {"experiment": {**WHOLE["experiment"], "blocks": "six"}},
        WHOLE | {"experiment": {**WHOLE["experiment"], "margin": "5%"}},
        WHOLE | {"contenders": {"a": {"model": "m"}}},
        WHOLE | {"contenders": {"go": "m"}},
        WHOLE | {"contenders": {"go": {"title": "Go", "kind": "fast"}}},
        WHOLE | {"contenders": ["go"]},
    ],
)
def test_a_plan_that_cannot_be_read_is_one_line(values: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="the plan of run 1-x cannot be read: ") as caught:
        read_plan(run_of(values))
    assert "\n" not in str(caught.value)
