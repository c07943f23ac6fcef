"""A source's figures beside those of a run."""

from collections.abc import Mapping

from ringside.analysis.published import ThenAndNow, ThenAndNowRow, then_and_now
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Figure, Published
from ringside.model.design import Level, Point
from ringside.store import Store
from ringside.workloads.ring.workload import RING
from tests.support.analyses import Planted, exactly, near
from tests.support.points import point
from tests.support.runs import experiment, make_run

PAIRS = (("stackless-pypy", "erlang"), ("go", "erlang"), ("go", "stackless-pypy"))


def figure(name: str, value: float, metric: str = "cpu_s", workload: str = "ring", **at: Level) -> Figure:
    return Figure(workload=workload, point=at, contender=name, metric=metric, value=value)


def source(*figures: Figure) -> Published:
    return Published("2007", "A post", "2007", "a laptop", {}, "", figures, ())


def tables(
    published: Published, points: list[Point], values: Mapping[str, float | None] | None = None
) -> tuple[ThenAndNow, ...]:
    """Seven blocks: the CPU time of each contender, and a hundredth of it as the hop."""
    cpu = {"erlang": 2.0, "stackless-pypy": 12.0, "go": 3.0, **(values or {})}
    run = Planted(
        {
            (name, place): {
                "cpu_s": dict.fromkeys(range(1, 8), value),
                "hop_ns": dict.fromkeys(range(1, 8), value / 100),
            }
            if value
            else {}
            for place in points
            for name, value in cpu.items()
        },
        RING,
        pairs=PAIRS,
    )
    return then_and_now(published, run)


def test_figures_and_ratios_stand_side_by_side() -> None:
    """The source's `stackless` stands for every contender of that family."""
    here = point(RING, nodes=10, messages=20)
    post = source(
        figure("erlang", 5.0, nodes=10, messages=20),
        figure("stackless", 60.0, nodes=10, messages=20),
        figure("erlang", 7.0, nodes=99, messages=20),
        figure("erlang", 8.0, workload="fib", nodes=10),
        figure("multitask", 9.0, nodes=10, messages=20),
    )
    (table,) = tables(post, [here])
    assert table == ThenAndNow(
        post,
        RING.metric("cpu_s"),
        (
            ThenAndNowRow(here, "erlang", 5.0, exactly(2.0)),
            ThenAndNowRow(here, "stackless-pypy", 60.0, exactly(12.0)),
        ),
        (ThenAndNowRow(here, "stackless-pypy / erlang", 12.0, exactly(6.0)),),
    )


def test_a_name_that_only_begins_alike_is_of_no_family() -> None:
    here = point(RING)
    (table,) = tables(source(figure("g", 1.0), figure("go", 4.0), figure("stack", 1.0)), [here])
    assert [(row.label, row.then) for row in table.figures] == [("go", 4.0)]


def test_a_contender_has_its_own_figure_before_that_of_its_family() -> None:
    for figures in (both := (figure("stackless", 60.0), figure("stackless-pypy", 12.0)), both[::-1]):
        (table,) = tables(source(*figures), [point(RING)])
        assert [(row.label, row.then) for row in table.figures] == [("stackless-pypy", 12.0)]


def test_each_metric_has_a_table_and_what_is_over_zero_no_ratio() -> None:
    hops = figure("erlang", 4.0, "hop_ns"), figure("go", 8.0, "hop_ns")
    for zero, other in (("erlang", "go"), ("go", "erlang")):
        (cpu,) = tables(source(figure(zero, 0.0), figure(other, 8.0)), [point(RING)])
        assert (sorted(row.then for row in cpu.figures), cpu.ratios) == ([0.0, 8.0], ())
    hop, cpu = tables(source(figure("erlang", 0.0), *hops), [point(RING)])
    assert (hop.metric.name, cpu.metric.name) == ("hop_ns", "cpu_s")
    assert [(row.label, row.then, row.now) for row in hop.ratios] == [("go / erlang", 2.0, exactly(1.5))]
    assert [row.now for row in hop.figures] == [exactly(0.02), exactly(0.03)]
    assert ([row.then for row in cpu.figures], cpu.ratios) == ([0.0], ())


def test_what_was_not_measured_now_is_missing() -> None:
    here = point(RING)
    post = source(figure("erlang", 2.0), figure("go", 4.0))
    (table,) = tables(post, [here], {"go": None})
    assert [(row.label, row.now) for row in table.figures] == [("erlang", exactly(2.0)), ("go", None)]
    assert [(row.label, row.now) for row in table.ratios] == [("go / erlang", None)]


def test_nothing_in_common() -> None:
    here = point(RING, nodes=10)
    assert tables(source(), [here]) == ()
    assert tables(source(figure("erlang", 1.0, nodes=11)), [here]) == ()
    assert tables(source(figure("erlang", 1.0, workload="fib")), [here]) == ()
    assert tables(source(figure("erlang", 1.0, metric="unknown")), [here]) == ()


def test_a_factor_that_the_source_does_not_know_must_be_at_its_default_if_it_varies() -> None:
    several = [point(RING, nodes=10, trace=trace) for trace in (0, 1)]
    post = source(figure("erlang", 5.0, nodes=10))
    (table,) = tables(post, several)
    assert [row.point for row in table.figures] == [several[0]]
    # If the run has only one level, that is the one to compare with.
    (table,) = tables(post, several[1:])
    assert [row.point for row in table.figures] == [several[1]]
    # A source that knows the factor has a figure for each level.
    traced = source(figure("erlang", 5.0, nodes=10, trace=1), figure("erlang", 4.0, nodes=10, trace=0))
    (table,) = tables(traced, several)
    assert [(row.point, row.then) for row in table.figures] == [(several[0], 4.0), (several[1], 5.0)]


def test_the_ring_of_2007(store: Store) -> None:
    run = make_run(store, experiment("ring-showdown", blocks=6))
    (table,) = RunAnalysis(run, store.trials(run)).then_and_now
    assert table.source.name == "2007-ring-showdown"
    assert len(table.figures) == 9 * 5
    largest = [row for row in table.ratios if row.point["nodes"] == row.point["messages"] == 10000]
    ratios = {row.label: row.then for row in largest}
    # The ratios that the source printed follow from its figures.
    assert ratios["stackless-pypy / erlang"] == near(12.1354003906)
    assert ratios["multitask / erlang"] == near(534.609375)
    assert ratios["multitask / stackless-greenlet"] == near(44.0537071536, rel=1e-5)
    assert all(row.now for row in largest)
    # It printed 0.0 s for Erlang at the smallest point: no ratio.
    smallest = [row for row in table.ratios if row.point["nodes"] == row.point["messages"] == 100]
    assert [row.label for row in smallest if row.label.endswith("/ erlang")] == []
