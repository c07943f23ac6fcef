"""Figures of runs beside a source's own."""

from __future__ import annotations

from ringside.analysis.posts import Direction, Explained, Place, PostData
from ringside.cli import context
from ringside.model.results import Answer, Finding, Interval
from ringside.stats.interval import median_interval
from tests.support.analyses import interval, near, whole
from tests.support.planted import BLOCKS, Levels, run_of

JAM = context.catalogue().published("2011-go-code-jam")
RING = context.catalogue().published("2007-ring-showdown")
SMALL: Levels = {"nodes": 100, "messages": 1000}
LARGE: Levels = {"nodes": 1000, "messages": 1000}
# Erlang's figures at the larger point are the same in each block, the others vary by some per cent.
RUN = run_of(
    "ring",
    "mine",
    [
        ("erlang", SMALL, "cpu_s", 1.0),
        ("multitask", SMALL, "cpu_s", 6.0),
        ("multitask", LARGE, "cpu_s", 30.0),
    ],
    [("erlang", LARGE, "cpu_s", 2.0)],
    source=RING.name,
)
# Of another source, so that its figures come second.
OTHER = run_of("ring", "other", [("erlang", LARGE, "cpu_s", 50.0)], [], source="2011-go-c10k")
DATA = PostData.of(RING, [OTHER, RUN])
AT_SMALL, AT_LARGE = Place("ring", {"nodes": 100}), Place("ring", {"messages": 1000})


def test_directions_follow_intervals() -> None:
    assert Direction.of(interval(1.02, 1.1, 1.2)) is Direction.MORE
    assert Direction.of(interval(0.5, 0.6, 0.7)) is Direction.LESS
    assert Direction.of(interval(0.97, 1.0, 1.03)) is Direction.SAME
    assert Direction.of(interval(0.8, 1.0, 1.3)) is Direction.UNCLEAR
    # An estimate without an interval shows nothing.
    assert Direction.of(Interval(5.0, None, None, 3)) is Direction.UNCLEAR


def test_half_of_a_gap_by_logarithms_is_most_of_it() -> None:
    gap = interval(8.5, 9, 9.5)
    assert Explained.of(gap, interval(2.9, 3.1, 3.3)) is Explained.MOST
    assert Explained.of(gap, interval(2.5, 2.8, 2.9)) is Explained.SOME
    assert Explained.of(gap, interval(0.9, 5, 20)) is Explained.NONE
    assert Explained.of(gap, interval(0.2, 0.3, 0.4)) is Explained.NONE


def test_a_value_is_the_median_of_the_sources_own_run() -> None:
    """At the last point that has the levels, which is the largest."""
    assert DATA.value("cpu_s", "erlang", AT_LARGE) == median_interval([2.0] * len(BLOCKS))
    found = whole(DATA.value("cpu_s", "multitask", AT_SMALL))
    expected = whole(median_interval([6.0 * noise for noise in BLOCKS]))
    assert (found.estimate, found.low, found.high) == near((expected.estimate, expected.low, expected.high))
    assert DATA.value("cpu_s", "go", AT_LARGE) is None
    assert DATA.value("hop_ns", "erlang", AT_LARGE) is None
    assert DATA.value("cpu_s", "erlang", Place("ring", {"nodes": 7})) is None
    assert DATA.value("cpu_s", "erlang", Place("batch", {})) is None


def test_a_ratio_is_one_over_the_other_inside_blocks() -> None:
    ratio = whole(DATA.ratio("cpu_s", "multitask", "erlang", AT_LARGE))
    assert (ratio.estimate, ratio.n) == (near(15.0, rel=0.05), len(BLOCKS))
    turned = whole(DATA.ratio("cpu_s", "erlang", "multitask", AT_LARGE))
    assert turned.estimate == near(1 / ratio.estimate)
    # Both vary by the same factors.
    at_small = whole(DATA.ratio("cpu_s", "multitask", "erlang", AT_SMALL))
    assert (at_small.estimate, at_small.low, at_small.high) == (near(6.0), near(6.0), near(6.0))
    between = whole(DATA.ratio("cpu_s", "multitask", "erlang", AT_LARGE, of=AT_SMALL))
    assert between.estimate == near(30.0)
    assert DATA.ratio("cpu_s", "go", "erlang", AT_LARGE) is None
    assert DATA.ratio("hop_ns", "multitask", "erlang", AT_LARGE) is None


def test_levels_and_points_are_those_of_the_sources_own_runs() -> None:
    assert DATA.own() == [RUN]
    assert DATA.levels("ring", "nodes") == [100, 1000]
    assert DATA.levels("ring", "colour") == DATA.levels("batch", "nodes") == []
    assert DATA.points("batch") == []
    assert len(DATA.points("ring")) == 2


def test_a_figure_of_then_is_at_its_levels() -> None:
    figure = RING.figures[-1]
    levels = dict(figure.point.items())
    assert DATA.then(figure.metric, figure.contender, **levels) == figure.value
    assert DATA.then("rate", figure.contender, **levels) is None
    assert DATA.then(figure.metric, "go", **levels) is None


def test_conclusions_that_turn_with_the_runtimes() -> None:
    """Those that both decide, one way and the other; the conditions do not matter."""
    ids = [each.id for each in JAM.claims][:4]
    assert len(ids) == 4

    def data(*answers: Answer, older: PostData | None = None) -> PostData:
        findings = {id: Finding(answer, "") for id, answer in zip(ids, answers, strict=False)}
        return PostData(JAM, [], findings, older)

    before = data(Answer.CONFIRMED, Answer.REFUTED, Answer.OTHER_CONDITIONS, Answer.INCONCLUSIVE)
    now = data(Answer.REFUTED, Answer.REFUTED, Answer.CONFIRMED, Answer.CONFIRMED, older=before)
    turned, both = now.turned()
    assert ([each.id for each in turned], both) == (ids[:1], 3)
    assert [now.is_known(id) for id in ids] == [True] * 4
    assert [before.is_known(id) for id in ids] == [True, True, True, False]
    assert before.turned() == ([], 0)
    assert before.finding("nothing of it").answer is Answer.NOT_TESTED
