"""What `run` is to do, and which runs belong together: without starting anything."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure.suites import Selection, experiments, runs_of, selection_of, single_run
from ringside.model.design import Goal
from ringside.model.results import Run
from ringside.store import Store

Add = Callable[..., None]


@pytest.fixture
def catalogue(workplace: Path, add_fake: Add, add_experiment: Add) -> Catalogue:
    """A suite of two experiments, with a contender in both, one in the second alone, and one in neither."""
    for name in ("one", "two", "three"):
        add_fake(name)
    add_experiment("first", "one", blocks=3)
    add_experiment("second", "one", "two", blocks=4)
    (workplace / "experiments" / "both.toml").write_text('title = "Both"\nparts = ["first", "second"]\n')
    return Catalogue()


def chosen(catalogue: Catalogue, name: str, *only: str) -> list[tuple[str, tuple[str, ...]]]:
    made = experiments(catalogue, Selection(name, only))
    return [(experiment.name, experiment.contenders) for experiment in made]


def test_an_experiment_by_itself(catalogue: Catalogue) -> None:
    (experiment,) = experiments(catalogue, Selection("second"))
    assert experiment == catalogue.experiment("second")
    assert chosen(catalogue, "second", "two") == [("second", ("two",))]
    assert chosen(catalogue, "second", "three", "one") == [("second", ("one", "three"))]


def test_a_suite_is_its_experiments_in_order(catalogue: Catalogue) -> None:
    assert chosen(catalogue, "both") == [("first", ("one",)), ("second", ("one", "two"))]


def test_of_a_suite_each_experiment_takes_the_contenders_that_are_its_own(catalogue: Catalogue) -> None:
    assert chosen(catalogue, "both", "one") == [("first", ("one",)), ("second", ("one",))]
    # An experiment that is left without contenders is left out.
    assert chosen(catalogue, "both", "two") == [("second", ("two",))]
    # What no experiment lists can take part in all of them.
    assert chosen(catalogue, "both", "three") == [("first", ("three",)), ("second", ("three",))]
    assert chosen(catalogue, "both", "two", "three") == [("first", ("three",)), ("second", ("two", "three"))]


def test_settings_go_where_the_workload_has_the_factor(catalogue: Catalogue, workplace: Path) -> None:
    (workplace / "experiments" / "mixed.toml").write_text(
        'title = "Mixed"\nparts = ["first", "feed-quick"]\n'
    )
    ring, feed = experiments(catalogue, Selection("mixed", settings={"nodes": ("7",), "seconds": ("2",)}))
    assert ring.factors["nodes"] == ("7",)
    assert "seconds" not in ring.factors
    assert feed.factors["seconds"] == ("2",)
    assert "nodes" not in feed.factors


def test_blocks_and_until_are_those_of_the_command_line(catalogue: Catalogue) -> None:
    for experiment in experiments(catalogue, Selection("both", blocks=9, until=0.02)):
        assert (experiment.blocks, experiment.until) == (9, 0.02)
    assert [experiment.blocks for experiment in experiments(catalogue, Selection("both"))] == [3, 4]


@pytest.mark.parametrize(
    ("goal", "until", "decided"),
    [(None, None, True), ("decided", None, True), ("end", None, False), (0.02, 0.02, False)],
)
def test_each_goal(catalogue: Catalogue, goal: Goal | None, until: float | None, decided: bool) -> None:
    for experiment in experiments(catalogue, Selection("both", until=goal)):
        assert (experiment.until, experiment.until_decided) == (until, decided)


@pytest.mark.parametrize(("margin", "expected"), [(None, 0.05), (0.0, 0.0), (0.01, 0.01)])
def test_margins(catalogue: Catalogue, margin: float | None, expected: float) -> None:
    """0 is a margin, unlike none."""
    made = experiments(catalogue, Selection("both", margin=margin))
    assert [experiment.margin for experiment in made] == [expected] * 2


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (Selection("both", settings={"colour": ("1",)}), "no part of `both` has a factor `colour`"),
        (Selection("both", ("nobody",)), "nobody"),
        (Selection("none"), "none"),
    ],
)
def test_what_fits_nothing_is_wrong_use(catalogue: Catalogue, selection: Selection, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        experiments(catalogue, selection)


def test_a_contender_of_another_workload_takes_no_part(catalogue: Catalogue, workplace: Path) -> None:
    manifest = workplace / "contenders" / "three" / "contender.toml"
    manifest.write_text(manifest.read_text().replace("[workload.ring]", "[workload.jobs]"))
    with pytest.raises(UsageError, match="contender `three` takes no part in `both`"):
        experiments(Catalogue(), Selection("both", ("three",)))


@pytest.mark.parametrize(
    "selection",
    [
        Selection("both"),
        Selection("both", ("one", "two"), {"nodes": ("7", "8"), "mode": ("token",)}, 9, 0.02, 0.03, 2**62),
        Selection("both", until="decided", margin=0.0),
        Selection("both", until="end"),
    ],
)
def test_a_selection_is_kept_with_the_runs_of_its_suite(selection: Selection) -> None:
    kept = json.loads(json.dumps(selection.as_suite("1-both")))
    assert kept["id"] == "1-both"
    again = selection_of(kept)
    assert again == dataclasses.replace(selection, settings=selection.settings or {})


def test_a_selection_of_earlier_suites_has_no_margin_and_the_earliest_no_until() -> None:
    kept = Selection("both", blocks=2, until=0.02).as_suite("1-both")
    del kept["margin"]
    assert selection_of(kept) == Selection("both", (), {}, 2, 0.02)
    del kept["until"]
    assert selection_of(kept) == Selection("both", (), {}, 2)


# --- runs ---


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite")


def begin(store: Store, suite: str | None = None) -> Run:
    plan: dict[str, Any] = {"suite": {"id": suite} if suite else None}
    return store.begin_run("x", 1, plan, {}, {})


def test_a_run_by_its_id_is_that_run_alone(store: Store) -> None:
    first, second = begin(store, "s"), begin(store, "s")
    assert runs_of(store, first.id) == [first]
    assert single_run(store, second.id) == second


def test_a_suite_is_all_of_its_runs(store: Store) -> None:
    first, _, second = begin(store, "s"), begin(store, "other"), begin(store, "s")
    assert runs_of(store, "s") == [first, second]


def test_the_latest_is_the_latest_run_with_the_others_of_its_suite(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(f"2026-01-01T00:00:0{second}.000+00:00" for second in range(9))
    monkeypatch.setattr("ringside.store.database.now", lambda: next(times))
    first, second = begin(store, "s"), begin(store, "s")
    assert runs_of(store, "latest") == [first, second]
    alone = begin(store)
    assert runs_of(store, "latest") == [alone]
    assert single_run(store, "latest") == alone


def test_what_means_several_runs_is_no_single_run(store: Store) -> None:
    runs = [begin(store, "s") for _ in range(2)]
    with pytest.raises(UsageError, match=f"s is a suite of runs: name one of {runs[0].id}, {runs[1].id}"):
        single_run(store, "s")


def test_unknown_runs_and_suites(store: Store) -> None:
    with pytest.raises(UsageError, match="holds no run yet"):
        runs_of(store, "latest")
    begin(store)
    with pytest.raises(UsageError, match="there is no run `x`"):
        runs_of(store, "x")
