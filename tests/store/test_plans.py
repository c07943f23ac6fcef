import dataclasses
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import StoreError
from ringside.model.design import Experiment, ExperimentLimits, Point, Show
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import RunPlan, SuiteSelection, read_plan
from tests.support import ROOT, stores
from tests.support.errors import error_of

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
    until_decided=True,
    time_s=60.0,
    margin=0.03,
)
CONTENDERS = {
    "a": dataclasses.replace(stores.CONTENDERS["erlang"], kind="bare"),
    "b": stores.CONTENDERS["go"],
}
SUITE = SuiteSelection("s", settings={}, seed=4, id="1-s")
WHOLE = RunPlan(EXPERIMENT, POINTS, CONTENDERS).values()


def test_a_plan_comes_out_as_it_went_in(store: Store) -> None:
    published = Catalogue([ROOT]).published("2007-ring-showdown")
    for source, suite in ((published, SUITE), (None, None)):
        values = RunPlan(EXPERIMENT, POINTS, CONTENDERS, source, suite).values()
        run = store.run(store.begin_run("x", 1, values, {}, {}).id)
        assert run.suite.get("id") == (suite.id if suite else None)
        assert read_plan(run) == RunPlan(EXPERIMENT, POINTS, CONTENDERS, source, suite)


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
        # The selection of a run becomes the command that a report shows.
        WHOLE | {"suite": {"name": "mine"}},
        WHOLE | {"suite": {"id": "1"}},
        WHOLE | {"selection": {}},
        WHOLE | {"selection": {"name": "mine", "only": 5}},
        WHOLE | {"selection": {"name": "mine", "settings": {"nodes": 10}}},
        WHOLE | {"selection": {"name": "mine", "outside": [1]}},
        WHOLE | {"suite": {"id": "1", "name": "mine", "until": "soon"}},
    ],
)
def test_a_plan_that_cannot_be_read_is_one_line(values: dict[str, Any]) -> None:
    run = Run("1-x", "x", "", None, 1, values, {})
    assert "the plan of run 1-x cannot be read: " in error_of(StoreError, read_plan, run)
