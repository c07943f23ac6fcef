"""Observations, looks at what is decided, and looks taken again from the trials of a run."""

import dataclasses
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ringside.analysis.examination import Observations, RunExamination, judge_trials, nominal_confidence
from ringside.model.design import Cell, Experiment, Metric, Point, Show
from ringside.model.results import Comparison, Obstacle, Outcome, Trial, Verdict
from ringside.stats.series import SeriesKind
from ringside.workloads.base import Measurement
from tests.support.analyses import HOP, NOISE, RATE, Exact, OneFamily, Repeated, near, ok, point

HERE, THERE = point(nodes=10), point(nodes=20)


def failed(block: int, name: str, outcome: Outcome = Outcome.CRASHED, place: Point = HERE) -> Trial:
    return Trial(block, 0, Cell(name, place), outcome, "")


def repeating(block: int, name: str, *levels: float) -> Trial:
    """A trial with ten repeats about each level in turn, in ns, and a headline of 5."""
    dice = random.Random(block)
    trial = ok(block, name, HERE, hop_ns=5.0)
    repeats = tuple(round(level * dice.uniform(0.995, 1.005)) for level in levels for _ in range(10))
    return dataclasses.replace(trial, phases={**trial.phases, "relay": repeats})


def test_values_are_by_metric_cell_and_block() -> None:
    observed = Observations(Exact(), [ok(2, "a", HERE, hop_ns=3.0, rate=7.0), ok(1, "a", HERE, hop_ns=4.0)])
    observed.add(ok(1, "b", THERE, hop_ns=5.0))
    a, b = Cell("a", HERE), Cell("b", THERE)
    assert observed.values == {a: {"hop_ns": {2: 3.0, 1: 4.0}, "rate": {2: 7.0}}, b: {"hop_ns": {1: 5.0}}}
    assert observed.attempted == {a: {1, 2}, b: {1}}
    assert observed.unsteady == {}


def test_warm_ups_and_what_is_repeated_do_not_count() -> None:
    trials = [
        ok(0, "a", HERE, hop_ns=3.0),
        ok(-1, "a", HERE, hop_ns=3.0),
        failed(0, "b", Outcome.UNAVAILABLE),
    ]
    trials += [failed(1, "a", Outcome.INTERRUPTED), failed(2, "a", Outcome.PROBE_FAILED)]
    observations = Observations(Exact(), trials)
    assert (observations.values, observations.attempted) == ({}, {})


def test_the_share_of_failures() -> None:
    cell, trials = Cell("a", HERE), [ok(block, "a", HERE, hop_ns=3.0) for block in range(1, 10)]
    observations = Observations(Exact(), trials)
    assert observations.failed_share("hop_ns", cell) == 0
    assert observations.failed_share("hop_ns", Cell("b", HERE)) == 0
    observations.add(failed(10, "a", Outcome.TIMED_OUT))
    assert observations.failed_share("hop_ns", cell) == near(0.1)
    # A tenth is let pass, more is not.
    assert observations.obstacle("hop_ns", cell) is None
    observations.add(failed(11, "a"))
    assert observations.failed_share("hop_ns", cell) == near(2 / 11)
    assert observations.obstacle("hop_ns", cell) is Obstacle.FAILED_BLOCKS
    # One failure of one block is all of them.
    assert Observations(Exact(), [failed(1, "c")]).failed_share("hop_ns", Cell("c", HERE)) == 1
    # A trial that ended well without this metric has failed for it.
    assert observations.failed_share("rate", cell) == 1
    assert observations.obstacle("hop_ns", Cell("b", HERE)) is None


def test_more_than_half_of_the_trials_without_a_steady_state() -> None:
    cell = Cell("a", HERE)
    observations = Observations(Repeated())
    for block in (1, 2):
        observations.add(repeating(block, "a", 400_000, 400_000, 400_000, 400_000))
    for block in (3, 4):
        observations.add(repeating(block, "a", 400_000, 400_000, 400_000, 400_000, 900_000))
    assert observations.unsteady == {cell: dict.fromkeys((3, 4), SeriesKind.UNSTEADY)}
    assert observations.obstacle("hop_ns", cell) is None
    observations.add(repeating(5, "a", 300_000, 300_000, 300_000, 300_000, 700_000))
    assert observations.obstacle("hop_ns", cell) is Obstacle.NO_STEADY_STATE
    # A metric that is no level of the repeats needs none.
    observations.values[cell]["first_answer_s"] = dict.fromkeys(observations.attempted[cell], 0.1)
    assert observations.obstacle("first_answer_s", cell) is None
    # Failures come first.
    observations.add(failed(6, "a"))
    assert observations.obstacle("hop_ns", cell) is Obstacle.FAILED_BLOCKS


def experiment(names: str = "abc", blocks: int = 40, **changes: Any) -> Experiment:
    return Experiment(
        "e", "E", "exact", tuple(names), {}, baseline=names[0], blocks=blocks, until_decided=True, **changes
    )


def values_of(
    blocks: Iterable[int], ratios: Mapping[str, float], noise: float = 1.0, place: Point = HERE
) -> list[Trial]:
    """Trials whose headlines have these ratios, with the noise of `NOISE` to the power of `noise`, different
    for each contender and block."""
    trials = []
    for block in blocks:
        for name, ratio in ratios.items():
            dice = random.Random(f"{name} {block} {place}")
            value = 1000 * ratio * dice.choice(NOISE) ** noise * dice.uniform(0.999, 1.001)
            trials.append(ok(block, name, place, hop_ns=value))
    return trials


def rated(trials: Sequence[Trial], rates: Sequence[float]) -> list[Trial]:
    """The trials with these rates besides."""
    return [
        dataclasses.replace(trial, phases={**trial.phases, "rate": (round(1e6 * rate),)})
        for trial, rate in zip(trials, rates, strict=True)
    ]


def validated(
    trials: Sequence[Trial],
    of: Experiment | None = None,
    measurement: Measurement | None = None,
    points: Sequence[Point] = (HERE,),
) -> RunExamination:
    examination = RunExamination(of or experiment(), measurement or Exact(), points)
    for trial in trials:
        examination.observations.add(trial)
    return examination


def looked(*words: Any, **more: Any) -> RunExamination:
    """An examination after its first look."""
    examination = validated(*words, **more)
    assert examination.look(7)
    return examination


def ended(examination: RunExamination, blocks: int) -> RunExamination:
    examination.blocks = blocks
    examination.conclude([], is_over=True)
    return examination


def comparison(of: RunExamination, pair: str, metric: Metric = HOP, place: Point = HERE) -> Comparison:
    result = of.comparison(metric, place, pair[0], pair[1])
    assert result is not None
    return result


def test_nominal_confidence() -> None:
    fixed = dataclasses.replace(experiment(), until_decided=False)
    assert nominal_confidence(fixed) == 0.95
    assert nominal_confidence(experiment()) == 0.97
    # The first look at seven blocks is their end.
    assert nominal_confidence(experiment(blocks=7)) == 0.95
    assert nominal_confidence(experiment(blocks=8)) == 0.97


def test_looks_are_taken_after_the_planned_blocks_only() -> None:
    """Before the first everything is needed, and nothing decided."""
    examination = validated(values_of(range(1, 41), {"a": 1.0, "b": 2.0, "c": 3.0}))
    assert not examination.look(6)
    assert examination.comparison(HOP, HERE, "b", "a") is None
    assert all(examination.is_needed(Cell(name, HERE)) for name in "abc")
    assert not examination.is_decided
    assert [blocks for blocks in range(41) if examination.look(blocks)] == [7, 9, 12, 16, 21, 28, 37]
    until_the_end = dataclasses.replace(experiment(), until_decided=False)
    fixed = validated(values_of(range(1, 41), {"a": 1.0, "b": 2.0, "c": 3.0}), until_the_end)
    assert not any(fixed.look(blocks) for blocks in range(41))


def test_what_is_decided_needs_no_more_trials() -> None:
    """At the first look `b` is twice `a`; `c` is about the same, with too much noise. The baseline stays."""
    examination = looked(values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 1.02}, 5))
    assert {name: examination.is_needed(Cell(name, HERE)) for name in "abc"} == {
        "a": True,
        "b": False,
        "c": True,
    }
    assert not examination.is_decided
    assert comparison(examination, "ba").verdict is Verdict.SLOWER
    assert comparison(examination, "ca").verdict is Verdict.INCONCLUSIVE
    # Cells of another point are not of the experiment.
    assert not examination.is_needed(Cell("a", THERE))


def test_an_equivalent_pair_is_decided() -> None:
    examination = looked(values_of(range(1, 8), {"a": 1.0, "b": 1.001}, 0.2), experiment("ab"))
    assert comparison(examination, "ba").verdict is Verdict.EQUIVALENT
    assert examination.is_decided
    assert not any(examination.is_needed(Cell(name, HERE)) for name in "ab")


def test_points_are_dropped_one_by_one() -> None:
    """At the other point `b` differs too little to be decided; the rest of it goes on, with its baseline."""
    trials = values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 3.0})
    trials += values_of(range(1, 8), {"a": 1.0, "b": 1.02, "c": 3.0}, 5, THERE)
    examination = looked(trials, points=(HERE, THERE))
    needed = {(name, at) for name in "abc" for at in (HERE, THERE) if examination.is_needed(Cell(name, at))}
    assert needed == {("a", THERE), ("b", THERE)}


def test_only_what_the_answer_needs_is_needed() -> None:
    """`b` and `c` are even: nobody waits for them unless they are shown, or may be first."""
    trials = values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 2.02}, 5)
    examination = looked(trials)
    assert examination.is_decided
    assert comparison(examination, "cb").verdict is Verdict.INCONCLUSIVE
    for of, points in (
        (experiment(show=Show(ratios=(("b", "a"), ("c", "b")))), trials),
        (experiment(), values_of(range(1, 8), {"a": 4.0, "b": 2.0, "c": 2.02}, 5)),
    ):
        other = looked(points, of)
        assert not other.is_decided
        needed = {name: other.is_needed(Cell(name, HERE)) for name in "abc"}
        assert needed == {"a": False, "b": True, "c": True}


def test_equal_contenders_share_the_first_place_and_end_the_run() -> None:
    examination = looked(values_of(range(1, 8), {"a": 2.0, "b": 1.0, "c": 1.001}, 0.2))
    assert comparison(examination, "cb").verdict is Verdict.EQUIVALENT
    assert examination.is_decided


def test_metrics_of_one_family_are_all_to_be_decided() -> None:
    trials, of = values_of(range(1, 8), {"a": 1.0, "b": 2.0}), experiment("ab")
    both = looked(rated(trials, [3 + trial.block % 3 for trial in trials]), of, OneFamily())
    # The rate is the same for both: an obstacle, by which nothing is waited for.
    assert comparison(both, "ba", RATE).obstacle is Obstacle.SAME_VALUES
    assert both.is_decided
    noisy = (3.0, 3.5, 4.7, 3.1, 2.9, 3.3, 3.2, 3.0, 5.1, 3.9, 3.6, 3.8, 2.2, 3.0)
    open_ = looked(rated(trials, noisy), of, OneFamily())
    assert comparison(open_, "ba").verdict is Verdict.SLOWER
    assert comparison(open_, "ba", RATE).obstacle is Obstacle.UNFINISHED
    assert not open_.is_decided
    assert open_.is_needed(Cell("b", HERE))


def test_a_pair_whose_failures_stay_too_many_is_not_waited_for() -> None:
    trials = values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 1.02}, 5)

    def failing(*blocks: int) -> list[Trial]:
        broken = {(block, "c") for block in blocks}
        return [
            failed(trial.block, "c") if (trial.block, trial.cell.contender) in broken else trial
            for trial in trials
        ]

    # One of forty would be a small share.
    once = looked(failing(7))
    assert comparison(once, "ca").obstacle is Obstacle.FAILED_BLOCKS
    assert once.is_needed(Cell("c", HERE))
    assert not once.is_needed(Cell("b", HERE))
    assert not once.is_decided
    # Four of forty are a tenth, which passes; five are more.
    tenth = looked(failing(4, 5, 6, 7))
    assert tenth.is_needed(Cell("c", HERE))
    examination = looked(failing(3, 4, 5, 6, 7))
    assert comparison(examination, "ca").obstacle is Obstacle.FAILED_BLOCKS
    assert comparison(examination, "ac").obstacle is Obstacle.FAILED_BLOCKS
    assert comparison(examination, "ba").obstacle is None
    assert examination.is_decided
    # Nor for one that has no block in common.
    without = looked([trial for trial in trials if trial.cell.contender != "c"])
    assert without.comparison(HOP, HERE, "c", "a") is None
    assert without.is_decided


def test_what_comes_later_changes_no_decision() -> None:
    trials = values_of(range(1, 9), {"a": 1.0, "b": 2.0, "c": 1.02}, 5)
    in_progress = RunExamination(experiment(), Exact(), (HERE,))
    for block in range(1, 8):
        is_look = in_progress.add_block(trial for trial in trials if trial.block == block)
    assert is_look
    afterwards = whole([*trials, failed(10, "b"), failed(11, "b")])
    for name in "abc":
        assert afterwards.is_needed(Cell(name, HERE)) is in_progress.is_needed(Cell(name, HERE))
    assert comparison(afterwards, "ba").obstacle is Obstacle.FAILED_BLOCKS
    assert comparison(afterwards, "ca").ratio.n == 8


def test_the_last_look_spends_what_is_left() -> None:
    """All of six blocks agree: p is 1/32."""
    trials = values_of(range(1, 7), {"a": 1.0, "b": 2.0})
    fixed = dataclasses.replace(experiment("ab"), until_decided=False)
    examination = ended(validated(trials, fixed), 6)
    assert comparison(examination, "ba").p == 1 / 32
    assert comparison(examination, "ba").verdict is Verdict.SLOWER
    # Six blocks have no interval of 97 %.
    examination = ended(validated(trials, experiment("ab")), 6)
    assert comparison(examination, "ba").p == 1 / 32
    assert comparison(examination, "ba").obstacle is Obstacle.TOO_FEW_BLOCKS


def test_the_last_look_may_claim_what_earlier_ones_left() -> None:
    """Ten blocks, three of which disagree by little: p is 14/512, and more where earlier looks have spent
    some of the sign vectors."""
    logs = (-0.02, 0.1, -0.03, 0.14, -0.04, 0.18, 0.22, 0.26, 0.3, 0.34)
    trials = [ok(block, "a", HERE, hop_ns=1000.0) for block in range(1, 11)]
    trials += [ok(block, "b", HERE, hop_ns=1000 * math.exp(log)) for block, log in enumerate(logs, 1)]
    p_values = []
    for looks in ((7, 9), ()):
        examination = validated(trials, experiment("ab"))
        for blocks in looks:
            assert examination.look(blocks)
        ended(examination, 10)
        p_values.append(comparison(examination, "ba").p)
        assert comparison(examination, "ba").ratio.low == near(math.exp(0.03))
        assert comparison(examination, "ba").verdict is Verdict.SLOWER
    assert p_values[0] > p_values[1] == 14 / 512


def test_what_the_answer_does_not_need_has_a_last_look_too() -> None:
    """Nine blocks, of which one disagrees, whose rank is 4: p is 14/512 or more, at a look that may claim
    2.3 %; the last one may claim 5 %, whatever ended the run."""
    for headline in (1.0, 2.0):
        trials = values_of(range(1, 10), {"a": 1.0, "b": headline}, 5)
        logs = {block: (block if block == 4 else -block) / 10 for block in range(1, 10)}
        rates = [3 * math.exp(logs[trial.block] if trial.cell.contender == "b" else 0) for trial in trials]
        trials = rated(trials, rates)
        of = experiment("ab", show=Show(metrics=("hop_ns", "rate")))
        run = judge_trials(of, Exact(), (HERE,), trials, [["a", "b"]], is_over=True)
        rate = comparison(run, "ba", RATE)
        assert 0.023 < rate.p < 0.05
        assert rate.verdict is Verdict.SLOWER
    early = judge_trials(of, Exact(), (HERE,), trials, [["a", "b"]], is_over=False)
    assert comparison(early, "ba", RATE).obstacle is Obstacle.UNFINISHED


def test_what_is_open_in_an_unfinished_run_is_unfinished() -> None:
    trials = values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 1.02}, 5)
    examination = looked(trials)
    examination.conclude([], is_over=False)
    open_, decided = comparison(examination, "ca"), comparison(examination, "ba")
    assert (open_.verdict, open_.obstacle, open_.blocks_needed) == (
        Verdict.INCONCLUSIVE,
        Obstacle.UNFINISHED,
        None,
    )
    over = comparison(ended(examination, 7), "ca")
    assert (over.verdict, over.obstacle) == (Verdict.INCONCLUSIVE, None)
    assert over.blocks_needed is not None
    assert comparison(examination, "ba") == decided
    # An obstacle of its own is named first.
    few = validated(values_of(range(1, 4), {"a": 1.0, "b": 2.0}))
    few.conclude([], is_over=False)
    assert comparison(few, "ba").obstacle is Obstacle.TOO_FEW_BLOCKS


def whole(
    trials: Sequence[Trial], of: Experiment | None = None, points: Sequence[Point] = (HERE,)
) -> RunExamination:
    """The examination of a run that goes on."""
    return judge_trials(of or experiment(), Exact(), points, trials, is_over=False)


def test_whole_blocks_have_a_trial_of_every_cell() -> None:
    trials = values_of(range(1, 6), {"a": 1.0, "b": 2.0, "c": 3.0})
    assert whole([]).blocks == 0
    assert whole(trials).blocks == 5
    assert whole(trials[:-1]).blocks == 4
    # In whatever order they come.
    assert whole(random.Random(1).sample(trials, len(trials))).blocks == 5
    # A failure is a trial, an interruption is none.
    assert whole([*trials[:-1], failed(5, "c")]).blocks == 5
    assert whole([*trials[:-1], failed(5, "c", Outcome.INTERRUPTED)]).blocks == 4


def test_cells_that_could_not_be_measured_are_not_missed() -> None:
    trials = [failed(0, "c", Outcome.UNAVAILABLE), *values_of(range(1, 6), {"a": 1.0, "b": 2.0})]
    assert whole(trials).blocks == 5
    assert whole(trials, points=(HERE, THERE)).blocks == 0


def test_cells_that_are_decided_are_not_missed() -> None:
    """`b` was dropped after the look at seven blocks; up to there it is missed."""
    trials = values_of(range(1, 8), {"a": 1.0, "b": 2.0, "c": 1.02}, 5)
    more = values_of(range(8, 11), {"a": 1.0, "c": 1.02}, 5)
    examination = whole([*trials, *more])
    assert examination.blocks == 10
    assert comparison(examination, "ba").ratio.n == 7
    assert comparison(examination, "ca").ratio.n == 10
    # An open pair is missed as before.
    without = [trial for trial in more if (trial.block, trial.cell.contender) != (9, "c")]
    assert whole([*trials, *without]).blocks == 9
    early = [trial for trial in trials if (trial.block, trial.cell.contender) != (3, "b")]
    assert whole([*early, *more]).blocks == 6
    # One that has ended left out nothing that it needed.
    assert judge_trials(experiment(), Exact(), (HERE,), [*trials, *more], is_over=True).blocks == 10
    # A run that has all its blocks whatever is decided misses `b` in three of them.
    fixed = dataclasses.replace(experiment(), until_decided=False)
    assert whole([*trials, *more], fixed).blocks == 7


def test_an_analysis_takes_the_looks_of_the_run() -> None:
    """Block by block, dropping what is decided, against all trials at once: the same verdicts."""
    of = experiment("abcd")
    running = RunExamination(of, Exact(), (HERE,))
    trials: list[Trial] = []
    while not running.is_decided and running.blocks < 40:
        block = values_of([running.blocks + 1], {"a": 1.0, "b": 2.0, "c": 1.06, "d": 1.02}, 1.5)
        needed = [trial for trial in block if running.is_needed(trial.cell)]
        running.add_block(needed)
        trials += needed
    assert running.blocks > 7
    assert len(trials) < 4 * running.blocks
    again = whole(trials, of)
    assert again.blocks == running.blocks
    assert again.is_decided == running.is_decided
    running.conclude([], is_over=False)
    for pair in ("ba", "ca", "da"):
        assert comparison(again, pair) == comparison(running, pair)
