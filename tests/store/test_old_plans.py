"""A store for each version of plans after the first (`test_old_store.py`), written by an earlier revision:
`plan2` by fd2c989^, before verdicts had a margin; `plan3` by 9c65de7^, before samples were stored by column.
Their trials are made up (`tests/runs.py` of that revision); the JSON files have the medians and
intervals that the revision computed."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import analyse, analysis_of
from ringside.model.design import DEFAULT_MARGIN
from ringside.store import Store
from ringside.store.plans import PLAN_VERSION, read_plan
from tests.support import TESTS

STORES = TESTS / "stores"
VERSIONS = {"plan2": 2, "plan3": 3}


@pytest.fixture(params=list(VERSIONS))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Store, dict[str, Any]]:
    """The name of a fixture, its store, and its figures by run and cell."""
    name = str(request.param)
    path = tmp_path / "store.sqlite"
    path.write_bytes(lzma.decompress((STORES / f"{name}.sqlite.xz").read_bytes()))
    return name, Store(path, create=False), json.loads((STORES / f"{name}.json").read_text(encoding="utf-8"))


def test_every_version_of_a_plan_has_a_store() -> None:
    """But for the present one."""
    assert [1, *VERSIONS.values(), 4] == list(range(1, PLAN_VERSION + 1))


def test_its_runs_and_plans_are_read(old: tuple[str, Store, dict[str, Any]]) -> None:
    name, store, figures = old
    runs = store.runs()
    assert [run.id for run in runs] == list(figures)
    for run in runs:
        assert run.plan["version"] == VERSIONS[name]
        plan = read_plan(run)
        assert plan.experiment.margin == DEFAULT_MARGIN
        assert plan.experiment.name == run.experiment
        assert set(plan.contenders) == set(plan.experiment.contenders)


def test_its_figures_are_those_of_its_time(old: tuple[str, Store, dict[str, Any]]) -> None:
    _, store, figures = old
    for run in store.runs():
        analysis = analysis_of(store, run)
        computed = {f"{cell.contender} {cell.point}": each.metrics for cell, each in analysis.cells.items()}
        assert set(computed) == set(figures[run.id])
        for cell, metrics in figures[run.id].items():
            for metric, values in metrics.items():
                value = computed[cell][metric]
                known = [value.estimate, value.low, value.high, value.n]
                assert known == [None if each is None else pytest.approx(each) for each in values], metric


def test_it_takes_new_runs_beside_the_old(old: tuple[str, Store, dict[str, Any]]) -> None:
    from tests.support.runs import experiment, make_run

    _, store, figures = old
    one_point = {"nodes": 10, "messages": 10}
    run = make_run(store, experiment(contenders=("erlang", "go"), factors=one_point, blocks=6))
    assert [each.id for each in store.runs()] == [*figures, run.id]
    assert analyse(run, store.trials(run)).blocks_done == 6
