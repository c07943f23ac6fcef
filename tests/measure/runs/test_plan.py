import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure.host import Capacity
from ringside.measure.runs import plan
from ringside.measure.runs.plan import experiments, suite_selection
from ringside.model.catalogue import Contender, Runtime, WorkloadEntry
from ringside.model.design import Experiment, Goal, Level, Point, Show
from ringside.store.plans import Selection, SuiteSelection
from ringside.workloads import workload
from ringside.workloads.ring.workload import RING
from tests.support import ROOT
from tests.support.cases import cases
from tests.support.errors import error_of
from tests.support.fake_contenders import Add, change_workload, edit, manifest_of, write_fake
from tests.support.points import point

LEVELS = st.lists(st.integers(2, 1000), min_size=1, max_size=4, unique=True)


def experiment(**factors: tuple[Level, ...]) -> Experiment:
    return Experiment("x", "X", "ring", ("a", "b"), factors, "a", 3)


def contender(entry: WorkloadEntry) -> Contender:
    return Contender(
        name="a",
        folder=Path(),
        title="",
        runtime=Runtime(name="r", executable=("r",), version=("r",)),
        workloads={"ring": entry},
    )


@given(nodes=LEVELS, messages=LEVELS)
def test_every_combination_of_levels_is_a_point(nodes: list[int], messages: list[int]) -> None:
    points = plan.points(experiment(nodes=tuple(nodes), messages=tuple(messages)), RING, cores=2)
    assert [(point["nodes"], point["messages"]) for point in points] == [
        (node, message) for node in nodes for message in messages
    ]


def test_defaults_fill_in_and_factors_keep_the_workloads_order() -> None:
    (default,) = plan.points(experiment(messages=(5,)), RING, cores=2)
    assert str(default) == "nodes=100 messages=5 mode=pipelined capacity=own trace=0 repeats=auto cores=1"


def test_cores_are_resolved_and_levels_that_mean_the_same_are_one_point() -> None:
    twice = plan.points(experiment(nodes=(3, "3", 4)), RING, cores=1)
    assert [point["nodes"] for point in twice] == [3, 4]
    points = plan.points(experiment(cores=(1, "all")), RING, cores=2)
    assert [point["cores"] for point in points] == [1, 2]
    assert [point["cores"] for point in plan.points(experiment(cores=(1, "all")), RING, cores=1)] == [1]
    walk = plan.points(experiment(cores=("walk",)), RING, cores=6)
    assert [point["cores"] for point in walk] == [1, 2, 4, 6]


def test_entries_of_at_stand_in_place_of_the_factors_levels() -> None:
    base = Experiment(
        "x",
        "X",
        "ring",
        ("a",),
        {"nodes": (2, 3), "messages": (5,)},
        "a",
        1,
        at=({"nodes": 7}, {"messages": 9}, {"nodes": 3, "messages": 9}),
    )
    points = plan.points(base, RING, cores=1)
    assert [(point["nodes"], point["messages"]) for point in points] == [(7, 5), (2, 9), (3, 9)]
    # The command line's setting applies to all of them.
    changed = plan.with_settings(base, {"nodes": ["4"]})
    assert changed.at == ({}, {"messages": 9}, {"messages": 9})
    points = plan.points(changed, RING, cores=1)
    assert [(point["nodes"], point["messages"]) for point in points] == [(4, 5), (4, 9)]


@pytest.mark.parametrize(("factor", "level", "message"), cases(__file__, "bad_levels"))
def test_bad_levels_are_refused_in_one_line(factor: str, level: Level, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan.points(experiment(**{factor: (level,)}), RING, cores=2)


def test_levels_that_do_not_go_together_are_refused() -> None:
    of = Experiment("x", "X", "fib", ("a",), {"load": ("single",), "clients": (2,)}, "a", 1)
    assert "load=single has one client" in error_of(UsageError, plan.points, of, workload("fib"), cores=2)


def test_only_keeps_the_order_and_moves_the_baseline() -> None:
    base = Experiment("x", "X", "ring", ("a", "b", "c"), {}, "a", 3)
    assert plan.with_contenders(base, ["c", "b"]).contenders == ("b", "c")
    assert plan.with_contenders(base, ["c", "b"]).baseline == "b"
    assert plan.with_contenders(base, ["c", "a"]).baseline == "a"
    assert plan.with_contenders(base, ["d", "a", "d"]).contenders == ("a", "d")
    other = Experiment("x", "X", "ring", ("a", "b", "c"), {}, "c", 3)
    assert plan.with_contenders(other, ["c", "a"]).baseline == "c"


def test_only_keeps_the_ratios_of_those_who_take_part() -> None:
    ratios = (("b", "a"), ("c", "a"), ("c", "b"))
    base = Experiment("x", "X", "ring", ("a", "b", "c"), {}, "a", 3, show=Show(("hop_ns",), "nodes", ratios))
    changed = plan.with_contenders(base, ["b", "c"])
    assert changed.show == Show(("hop_ns",), "nodes", (("c", "b"),))


def test_a_contenders_largest_level_is_a_reason() -> None:
    limited = contender(WorkloadEntry(("x",), most={"nodes": 10}))
    assert plan.past_limit(limited, RING, Point((("nodes", 10),))) is None
    assert plan.past_limit(limited, RING, Point((("messages", 11),))) is None
    reason = plan.past_limit(limited, RING, Point((("nodes", 11),)))
    assert reason == "past this contender's limit: nodes up to 10"


def test_a_contenders_only_levels_are_a_reason_at_all_others() -> None:
    offered = tuple(capability.name for capability in RING.capabilities)
    only = contender(WorkloadEntry(("x",), capabilities=offered, only={"mode": ("token",), "trace": (0, 1)}))
    assert plan.past_limit(only, RING, Point((("mode", "token"),))) is None
    assert plan.past_limit(only, RING, Point((("nodes", 5),))) is None
    assert plan.past_limit(only, RING, Point((("trace", "1"),))) is None
    reason = plan.past_limit(only, RING, Point((("mode", "pipelined"),)))
    assert reason == "not for this contender: its mode can only be token"
    reason = plan.past_limit(only, RING, Point((("mode", "token"), ("trace", 2))))
    assert reason == "not for this contender: its trace can only be 0 or 1"


@pytest.mark.parametrize(
    ("levels", "headline", "reason"),
    [
        ((("mode", "pipelined"), ("trace", 0), ("repeats", 1), ("capacity", "own")), "hop_ns", None),
        ((("mode", "token"),), "hop_ns", "mode=token needs the capability `token`, which its manifest"),
        ((("capacity", 30),), "hop_ns", "capacity=30 needs the capability `capacity`"),
        ((("trace", 1),), "hop_ns", "trace=1 needs the capability `trace`"),
        ((("repeats", 2),), "hop_ns", "repeats=2 needs the capability `repeats`"),
        ((("trace", 0),), "held_pss_bytes", "the metric held_pss_bytes needs the capability `hold`"),
    ],
)
def test_no_capability(levels: tuple[tuple[str, Level], ...], headline: str, reason: str | None) -> None:
    came = plan.past_limit(contender(WorkloadEntry(("x",))), RING, Point(levels), headline)
    if reason is None:
        assert came is None
    else:
        assert came.startswith(f"not for this contender: {reason}")
    entry = WorkloadEntry(("x",), capabilities=tuple(each.name for each in RING.capabilities))
    assert plan.past_limit(contender(entry), RING, Point(levels), headline) is None


def test_a_machine_must_have_the_cores_of_every_point() -> None:
    points = [point(RING, cores=2), point(RING, cores=4), point(RING, cores=1)]
    plan.check_machine(points, RING, Capacity(4, 0))
    with pytest.raises(UsageError, match="needs 4 CPUs, and only 1 is available here"):
        plan.check_machine(points, RING, Capacity(1, 0))
    with pytest.raises(UsageError, match="needs 4 CPUs, and only 3 are available here"):
        plan.check_machine(points, RING, Capacity(3, 0))


def test_a_machine_must_lend_the_descriptors_of_every_point() -> None:
    feed = workload("feed")
    points = [point(feed, connections=connections) for connections in (10, 5000, 20)]
    needed, hint = feed.descriptors(points[1])
    assert needed > 5000
    plan.check_machine(points, feed, Capacity(4, needed))
    with pytest.raises(
        UsageError, match=f"needs {needed:,} descriptors .* limit here is {needed - 1:,}:"
    ) as no:
        plan.check_machine(points, feed, Capacity(4, needed - 1))
    assert hint in str(no.value)


def test_engines_reach_servers_that_listen_where_they_are_told() -> None:
    near, far = (contender(WorkloadEntry(("x",), host=host)) for host in (False, True))
    reason = plan.past_limit(near, RING, Point(()), engines=1)
    assert reason.endswith("its manifest does not declare `host = true`")
    assert plan.past_limit(near, RING, Point(())) is plan.past_limit(far, RING, Point(()), engines=1) is None


# --- what the command line chooses ---


@pytest.fixture
def catalogue(add_fake: Add, add_experiment: Add, add_suite: Add) -> Catalogue:
    """A suite of two experiments, with a contender in both, one in the second alone, and one in neither."""
    for name in ("one", "two", "three"):
        add_fake(name)
    add_experiment("first", "one", blocks=3)
    add_experiment("second", "one", "two", blocks=4)
    add_suite("both", "first", "second")
    return Catalogue()


def chosen(catalogue: Catalogue, name: str, *only: str) -> list[tuple[str, tuple[str, ...]]]:
    made = experiments(catalogue, Selection(name, only))
    return [(experiment.name, experiment.contenders) for experiment in made]


def test_an_experiment_by_itself(catalogue: Catalogue) -> None:
    (experiment,) = experiments(catalogue, Selection("second"))
    assert experiment == catalogue.experiment("second")
    assert chosen(catalogue, "second", "two") == [("second", ("two",))]
    assert chosen(catalogue, "second", "three", "one") == [("second", ("one", "three"))]


def test_of_a_suite_each_experiment_takes_the_contenders_that_are_its_own(catalogue: Catalogue) -> None:
    assert chosen(catalogue, "both", "one") == [("first", ("one",)), ("second", ("one",))]
    # An experiment that is left without contenders is left out.
    assert chosen(catalogue, "both", "two") == [("second", ("two",))]
    # A contender that no experiment lists can take part in all of them.
    assert chosen(catalogue, "both", "three") == [("first", ("three",)), ("second", ("three",))]
    assert chosen(catalogue, "both", "two", "three") == [("first", ("three",)), ("second", ("two", "three"))]


def test_settings_go_where_the_workload_has_the_factor(catalogue: Catalogue, add_suite: Add) -> None:
    add_suite("mixed", "first", "feed-quick")
    ring, feed = experiments(catalogue, Selection("mixed", settings={"nodes": ("7",), "seconds": ("2",)}))
    assert ring.factors["nodes"] == ("7",)
    assert "seconds" not in ring.factors
    assert feed.factors["seconds"] == ("2",)
    assert "nodes" not in feed.factors


def test_a_suite_that_is_gone_keeps_how_it_was_chosen(catalogue: Catalogue) -> None:
    """Its file can be removed while its run goes on; title and note are those of the file."""
    selection = Selection("gone", until="end")
    assert suite_selection(selection, "id", catalogue) == SuiteSelection("gone", until="end", id="id")


@pytest.mark.parametrize(("goal", "decided"), [(None, True), ("decided", True), ("end", False)])
def test_each_goal(catalogue: Catalogue, goal: Goal | None, decided: bool) -> None:
    for experiment in experiments(catalogue, Selection("both", until=goal)):
        assert experiment.until_decided is decided


def test_what_the_command_line_changes_and_what_stays(catalogue: Catalogue, workplace: Path) -> None:
    before = experiments(catalogue, Selection("both"))
    assert [experiment.blocks for experiment in before] == [3, 4]
    changed = experiments(catalogue, Selection("both", blocks=9, sandbox=True))
    assert changed == [dataclasses.replace(each, blocks=9, sandbox=True) for each in before]
    # An experiment that ends at other goals than the usual ones.
    file = workplace / "experiments" / "first.toml"
    edit(file, ("blocks = 3", 'blocks = 3\nuntil = "end"\nmargin = "3%"'))
    (own,) = experiments(Catalogue(), Selection("first"))
    assert (own.blocks, own.until_decided, own.margin, own.sandbox) == (3, False, 0.03, False)
    (decided,) = experiments(Catalogue(), Selection("first", until="decided"))
    assert decided == dataclasses.replace(own, until_decided=True)


def test_engines_are_for_servers() -> None:
    (fib,) = experiments(Catalogue([ROOT]), Selection("fib-rate", engines=2))
    assert fib.engines == 2
    with pytest.raises(UsageError, match="programs of the workload `ring` get no load: leave it out"):
        experiments(Catalogue([ROOT]), Selection("showdown-ring", engines=2))


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


@pytest.mark.parametrize(
    "selection",
    [
        Selection("both"),
        Selection("both", ("one", "two"), {"nodes": ("7", "8"), "mode": ("token",)}, 9, "end", 0.03, 2**62),
        Selection("both", until="decided", margin=0.0),
        Selection("both", until="end", full=True, sandbox=True, engines=2, outside=("./mine",)),
    ],
)
def test_all_of_a_selection_is_kept(selection: Selection) -> None:
    kept = msgspec.json.decode(msgspec.json.encode(selection))
    assert msgspec.convert({"id": "1-both", "title": "Both", "note": "", **kept}, Selection) == selection


# --- the full form, sandboxes, contenders from outside ---


def test_the_full_form(catalogue: Catalogue, add_suite: Add) -> None:
    add_suite("large", "first", more='full = ["second", "first"]\n')
    names = [each.name for each in experiments(catalogue, Selection("large", full=True))]
    assert names == ["second", "first"]
    assert [each.name for each in experiments(catalogue, Selection("large"))] == ["first"]
    for name in ("both", "first"):
        message = f"`{name}` has no full form: leave out --full"
        assert error_of(UsageError, experiments, catalogue, Selection(name, full=True)) == message


@pytest.fixture
def outside(catalogue: Catalogue, workplace: Path) -> Callable[..., Catalogue]:
    """The catalogue with contenders from outside, which have the workloads that are named."""

    def add(**workloads: str) -> Catalogue:
        words = []
        for name, of in workloads.items():
            write_fake(workplace / "outside" / name)
            if of != "ring":
                change_workload(workplace / "outside" / name / "contender.toml", of)
            words.append(f"outside/{name}")
        return Catalogue(outside=words)

    return add


def test_contenders_from_outside_take_part(outside: Callable[..., Catalogue]) -> None:
    catalogue = outside(mine="ring")
    assert chosen(catalogue, "first") == [("first", ("one", "mine"))]
    assert chosen(catalogue, "both") == [("first", ("one", "mine")), ("second", ("one", "two", "mine"))]
    assert chosen(catalogue, "first", "mine") == [("first", ("mine",))]


def test_a_contender_from_outside_needs_a_part(outside: Callable[..., Catalogue], add_suite: Add) -> None:
    add_suite("mixed", "first", "feed-quick", "second")
    catalogue = outside(yours="ring", mine="jobs")
    for name, workloads in (("first", "ring"), ("both", "ring"), ("mixed", "ring, feed")):
        message = f"--with: contender `mine` takes no part in {workloads}"
        assert error_of(UsageError, experiments, catalogue, Selection(name)) == message


def test_a_workload_needs_contenders(outside: Callable[..., Catalogue]) -> None:
    known = Catalogue()
    assert error_of(UsageError, experiments, known, Selection("ring")) == (
        "`ring` is a workload: name its contenders with --only or --with, or an experiment (`ringside list "
        "experiments`)"
    )
    assert chosen(known, "ring", "one") == [("ring", ("one",))]
    assert chosen(outside(mine="ring"), "ring") == [("ring", ("mine",))]


def test_a_contender_that_fits_no_part_is_named(catalogue: Catalogue, workplace: Path) -> None:
    change_workload(manifest_of(workplace, "three"), "jobs")
    message = "contender `three` takes no part in `both`"
    assert error_of(UsageError, experiments, Catalogue(), Selection("both", ("one", "three"))) == message
