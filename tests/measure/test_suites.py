"""What `run` is to do, and which runs belong together: without starting anything."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.cli.context import known_workloads
from ringside.errors import UsageError
from ringside.measure.suites import Selection, experiments, selection_of
from ringside.model.design import Goal
from tests.support.fake_contenders import write_fake

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


def test_all_of_a_selection_is_kept() -> None:
    selection = Selection(
        "both", ("one",), {"nodes": ("7",)}, 9, 0.02, 0.03, 4, full=True, sandbox=True, outside=("./mine",)
    )
    kept = json.loads(json.dumps(selection.kept()))
    assert "id" not in kept
    assert selection_of(kept) == selection
    for name, none in {"full": False, "sandbox": False, "outside": ()}.items():
        earlier = {key: value for key, value in kept.items() if key != name}
        assert selection_of(earlier) == dataclasses.replace(selection, **{name: none})  # type: ignore[arg-type]


# --- the full form, sandboxes, contenders from outside ---


def test_the_full_form(catalogue: Catalogue, workplace: Path) -> None:
    (workplace / "experiments" / "large.toml").write_text(
        'title = "Large"\nparts = ["first"]\nfull = ["second", "first"]\n'
    )
    names = [each.name for each in experiments(catalogue, Selection("large", full=True))]
    assert names == ["second", "first"]
    assert [each.name for each in experiments(catalogue, Selection("large"))] == ["first"]
    for name in ("both", "first"):
        with pytest.raises(UsageError) as refused:
            experiments(catalogue, Selection(name, full=True))
        assert str(refused.value) == f"`{name}` has no full form: leave out --full"


@pytest.mark.parametrize("name", ["first", "both"])
def test_sandboxes(catalogue: Catalogue, name: str) -> None:
    assert not any(each.sandbox for each in experiments(catalogue, Selection(name)))
    assert all(each.sandbox for each in experiments(catalogue, Selection(name, sandbox=True)))


def test_what_the_command_line_does_not_change_stays(catalogue: Catalogue, workplace: Path) -> None:
    file = workplace / "experiments" / "first.toml"
    file.write_text(file.read_text().replace("blocks = 3", 'blocks = 3\nuntil = "end"\nmargin = "3%"'))
    (experiment,) = experiments(Catalogue(), Selection("first"))
    assert (experiment.blocks, experiment.until_decided, experiment.margin) == (3, False, 0.03)


@pytest.fixture
def outside(catalogue: Catalogue, workplace: Path) -> Callable[..., Catalogue]:
    """The catalogue with contenders from outside, which have the workloads that are named."""

    def add(**workloads: str) -> Catalogue:
        words = []
        for name, workload in workloads.items():
            write_fake(workplace / "outside" / name)
            manifest = workplace / "outside" / name / "contender.toml"
            manifest.write_text(manifest.read_text().replace("[workload.ring]", f"[workload.{workload}]"))
            words.append(f"outside/{name}")
        return Catalogue(workloads=known_workloads(), outside=words)

    return add


def test_contenders_from_outside_take_part(outside: Callable[..., Catalogue]) -> None:
    catalogue = outside(mine="ring")
    assert chosen(catalogue, "first") == [("first", ("one", "mine"))]
    assert chosen(catalogue, "both") == [("first", ("one", "mine")), ("second", ("one", "two", "mine"))]
    assert chosen(catalogue, "first", "mine") == [("first", ("mine",))]


def test_a_contender_from_outside_needs_a_part(outside: Callable[..., Catalogue], workplace: Path) -> None:
    (workplace / "experiments" / "mixed.toml").write_text(
        'title = "Mixed"\nparts = ["first", "feed-quick", "second"]\n'
    )
    catalogue = outside(yours="ring", mine="jobs")
    for name, workloads in (("first", "ring"), ("both", "ring"), ("mixed", "ring, feed")):
        with pytest.raises(UsageError) as refused:
            experiments(catalogue, Selection(name))
        assert str(refused.value) == f"--with: contender `mine` takes no part in {workloads}"


def test_a_workload_needs_contenders(outside: Callable[..., Catalogue], catalogue: Catalogue) -> None:
    known = Catalogue(workloads=known_workloads())
    with pytest.raises(UsageError) as refused:
        experiments(known, Selection("ring"))
    assert str(refused.value) == (
        "`ring` is a workload: name its contenders with --only or --with, or an experiment (`ringside list "
        "experiments`)"
    )
    assert chosen(known, "ring", "one") == [("ring", ("one",))]
    assert chosen(outside(mine="ring"), "ring") == [("ring", ("mine",))]


def test_a_contender_that_fits_no_part_is_named(catalogue: Catalogue, workplace: Path) -> None:
    manifest = workplace / "contenders" / "three" / "contender.toml"
    manifest.write_text(manifest.read_text().replace("[workload.ring]", "[workload.jobs]"))
    with pytest.raises(UsageError) as refused:
        experiments(Catalogue(), Selection("both", ("one", "three")))
    assert str(refused.value) == "contender `three` takes no part in `both`"
