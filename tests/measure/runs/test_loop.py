"""The loop over blocks with makers of trials that start nothing."""

import dataclasses
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import ProbeError, UsageError
from ringside.measure.runs.loop import BlockLoop, Listener, Notify, StoppingRule, blocks, rule_of
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.stats.sequential import FIRST_LOOK, planned_looks
from ringside.store import Store
from ringside.store.plans import PlannedContender, RunPlan
from ringside.workloads.base import Measurement
from ringside.workloads.command import COMMAND
from tests.support.stores import holding

POINTS = tuple(Point((("nodes", nodes),)) for nodes in (2, 3))
EXPERIMENT = Experiment("x", "X", "command", ("a", "b"), {}, "a", 3)
SEED = 5
Step = Outcome | type[BaseException]


class Maker:
    """Makes a trial of each outcome, or raises, by the trial's number (from 1) or its contender. `wall_ns`:
    by block and cell."""

    def __init__(
        self,
        steps: dict[int | str, Step] | None = None,
        wall_ns: Callable[[int, Cell], int] | None = None,
        *,
        can_measure: bool = False,
    ) -> None:
        self.steps = steps or {}
        self.wall_ns = wall_ns or (lambda block, cell: 1000 + len(self.made))
        self.made: list[tuple[int, int, Cell, bool]] = []
        self.warmed_up = 0
        self.is_sound = can_measure
        self.checked: list[Cell] = []

    def can_measure(self, cell: Cell) -> bool:
        self.checked.append(cell)
        return self.is_sound

    def warm_up(self, notify: Notify) -> None:
        notify("warm-up", Cell("a", POINTS[0]))
        self.warmed_up += 1

    def trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        self.made.append((block, position, cell, first))
        step = self.steps.get(len(self.made), self.steps.get(cell.contender, Outcome.OK))
        if isinstance(step, type):
            raise step("the probe broke")
        report = TrialOutcome("ok", wall_ns=self.wall_ns(block, cell))
        return Trial(block, position, cell, step, "as it was", report=report)


class Observer(Listener):
    """An observer that remembers."""

    def __init__(self) -> None:
        self.begun: list[tuple[Run, StoppingRule, Sequence[Cell], Measurement]] = []
        self.ended: list[Trial] = []
        self.started: list[tuple[int, Cell]] = []

    def on_begin(self, run: Run, rule: StoppingRule, cells: Sequence[Cell], measurement: Measurement) -> None:
        self.begun.append((run, rule, cells, measurement))

    def on_trial(self, block: int, cell: Cell) -> None:
        self.started.append((block, cell))

    def on_wait(self) -> None:
        raise AssertionError("nobody else measures")

    def on_trial_end(self, trial: Trial) -> None:
        self.ended.append(trial)


def plan_of(experiment: Experiment) -> dict[str, Any]:
    contenders = {name: PlannedContender(name) for name in experiment.contenders}
    return RunPlan(experiment, POINTS, contenders).values()


def begun(store: Store, seed: int = SEED) -> Run:
    return store.begin_run("x", seed, plan_of(EXPERIMENT), {}, {})


@dataclasses.dataclass
class Bench:
    """A run that has begun, and the loops that carry it out."""

    store: Store
    run: Run

    def loop(self, maker: Maker, observer: Observer | None = None, **changes: Any) -> BlockLoop:
        settings: dict[str, Any] = {"rule": StoppingRule(3), "run": self.run, "store": self.store, **changes}
        if experiment := settings.pop("experiment", None):
            settings["run"] = self.store.set_plan(settings["run"], plan_of(experiment))
        return BlockLoop(maker=maker, notify=observer or Observer(), **settings)

    def trials(self) -> list[Trial]:
        return self.store.trials(self.run)

    def has_ended(self) -> bool:
        return self.store.run(self.run.id).ended_at is not None


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store, begun(store))


PLANNED = [
    (block, position, cell)
    for block, cells in enumerate(blocks(POINTS, EXPERIMENT.contenders, 3, SEED), 1)
    for position, cell in enumerate(cells)
]


def places(trials: Sequence[Trial]) -> list[tuple[int, int, Cell]]:
    return [(trial.block, trial.position, trial.cell) for trial in trials]


def test_blocks_are_carried_out_in_the_order_of_the_seed_and_everything_is_kept(bench: Bench) -> None:
    maker, observer = Maker(), Observer()
    assert bench.loop(maker, observer).conduct()
    assert [made[:3] for made in maker.made] == PLANNED
    assert [first for *_, first in maker.made] == [position == 0 for _, position, _ in PLANNED]
    trials = bench.trials()
    assert places(trials) == PLANNED
    assert trials == observer.ended
    assert [(trial.block, trial.cell) for trial in trials] == observer.started
    cells = [Cell(name, point) for point in POINTS for name in "ab"]
    assert observer.begun == [(bench.run, StoppingRule(3), cells, COMMAND)]
    assert maker.warmed_up == 1
    assert bench.has_ended()


@pytest.mark.parametrize("step", [ProbeError, Outcome.PROBE_FAILED])
def test_a_probe_that_fails_once_is_a_row_and_the_run_goes_on(bench: Bench, step: Step) -> None:
    assert bench.loop(Maker({1: step, 3: step, 5: step})).conduct()
    trials = bench.trials()
    assert places(trials) == PLANNED
    failed = [number for number, trial in enumerate(trials, 1) if trial.outcome is Outcome.PROBE_FAILED]
    assert failed == [1, 3, 5]
    assert trials[2].started_at if step is ProbeError else True
    assert trials[2].detail == ("the probe broke" if step is ProbeError else "as it was")


def test_two_failures_of_the_probe_in_a_row_end_the_run_and_a_resume_repeats_them(bench: Bench) -> None:
    with pytest.raises(ProbeError, match="the probe failed 2 times in a row, last: the probe broke"):
        bench.loop(Maker({5: ProbeError, 6: ProbeError})).conduct()
    trials = bench.trials()
    assert places(trials) == PLANNED[:6]
    assert [trial.outcome for trial in trials[4:]] == [Outcome.PROBE_FAILED] * 2
    assert not bench.has_ended()
    again = Maker()
    assert bench.loop(again).conduct()
    assert [made[:3] for made in again.made] == PLANNED[4:]
    assert bench.has_ended()


@pytest.mark.parametrize(
    ("failing", "checked"),
    [
        # Two contenders: a harmless program is carried out in their place, once for each two of them.
        ((5, 6, 7), [PLANNED[5][2]]),
        # One contender, at two points.
        ((6, 7), []),
    ],
)
def test_probe_failures_do_not_end_runs(bench: Bench, failing: tuple[int, ...], checked: list[Cell]) -> None:
    maker = Maker(dict.fromkeys(failing, ProbeError), can_measure=bool(checked))
    assert bench.loop(maker).conduct()
    trials = bench.trials()
    assert places(trials) == PLANNED
    assert {trials[number - 1].outcome for number in failing} == {Outcome.PROBE_FAILED}
    assert maker.checked == checked


@pytest.mark.parametrize(
    ("step", "detail"),
    [
        (Outcome.INTERRUPTED, "as it was"),
        # Without a report.
        (KeyboardInterrupt, "interrupted before the probe had reported"),
    ],
)
def test_an_interrupted_trial_is_kept_and_made_again(bench: Bench, step: Step, detail: str) -> None:
    observer = Observer()
    with pytest.raises(KeyboardInterrupt):
        bench.loop(Maker({6: step}), observer).conduct()
    trials = bench.trials()
    assert places(trials) == PLANNED[:6]
    assert (trials[5].outcome, trials[5].detail) == (Outcome.INTERRUPTED, detail)
    # The probe's last report.
    assert trials[5].report if step is Outcome.INTERRUPTED else trials[5].started_at
    assert observer.ended == [trial for trial in trials if trial.report]
    assert not bench.has_ended()
    again = Maker()
    assert bench.loop(again).conduct()
    assert [made[:3] for made in again.made] == PLANNED[5:]
    # The first trial of each block, and of what is left of one, times the reference.
    assert [(block, position) for block, position, _, first in again.made if first] == [(2, 1), (3, 0)]
    assert again.warmed_up == 1


def test_two_processes_cannot_work_on_one_run(bench: Bench) -> None:
    maker = Maker()
    with (
        holding(str(Path(bench.store.where)), bench.run),
        pytest.raises(UsageError, match=f"run {bench.run.id} is in progress in another process"),
    ):
        bench.loop(maker).conduct()
    assert (maker.made, maker.warmed_up) == ([], 0)
    assert bench.trials() == []
    assert bench.loop(maker).conduct()


def test_an_unavailable_cell_is_one_row_before_the_first_block(bench: Bench) -> None:
    missing = Cell("b", POINTS[0])
    for _ in range(2):
        maker = Maker()
        assert bench.loop(maker, unavailable={missing: "no toolchain; install it"}).conduct()
    row, *trials = bench.trials()
    assert (row.block, row.cell, row.outcome) == (0, missing, Outcome.UNAVAILABLE)
    assert row.detail == "no toolchain; install it"
    assert row.started_at
    made = [(trial.block, trial.cell) for trial in trials]
    assert Counter(made) == Counter((block, cell) for block, _, cell in PLANNED if cell != missing)


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.FLOODED])
def test_a_cell_that_fails_hopelessly_twice_is_left_out(bench: Bench, outcome: Outcome) -> None:
    maker = Maker({"b": outcome})
    assert bench.loop(maker).conduct()
    # Rows of cells that are left out are kept before the trials of their block.
    trials = sorted(bench.trials(), key=lambda trial: (trial.block, trial.position))
    assert places(trials) == PLANNED
    for point in POINTS:
        of_cell = [trial for trial in trials if trial.cell == Cell("b", point)]
        assert [trial.outcome for trial in of_cell] == [outcome, outcome, Outcome.UNAVAILABLE]
        assert of_cell[2].detail == f"left out: 2 trials of this cell were {outcome}"
    assert {trial.outcome for trial in trials if trial.cell.contender == "a"} == {Outcome.OK}


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.WRONG_EVIDENCE, Outcome.LOAD_FAILED])
def test_other_failures_are_tried_in_every_block(bench: Bench, outcome: Outcome) -> None:
    assert bench.loop(Maker({"b": outcome})).conduct()
    of_b = [trial for trial in bench.trials() if trial.cell.contender == "b"]
    assert [trial.outcome for trial in of_b] == [outcome] * 6


def test_a_resume_remembers_the_hopeless_cells(bench: Bench) -> None:
    # Two blocks, then an interrupt.
    steps: dict[int | str, Step] = {"b": Outcome.TIMED_OUT, 9: Outcome.INTERRUPTED}
    with pytest.raises(KeyboardInterrupt):
        bench.loop(Maker(steps)).conduct()
    again = Maker({"b": Outcome.TIMED_OUT})
    assert bench.loop(again).conduct()
    assert {cell.contender for _, _, cell, _ in again.made} == {"a"}
    last = [trial for trial in bench.trials() if trial.block == 3 and trial.cell.contender == "b"]
    assert [trial.outcome for trial in last] == [Outcome.UNAVAILABLE] * 2


def test_a_block_whose_first_cell_is_left_out_still_times_the_reference(bench: Bench) -> None:
    maker = Maker({"a": Outcome.TIMED_OUT})
    bench.loop(maker).conduct()
    assert [block for block, _, _, first in maker.made if first] == [1, 2, 3]


def test_no_block_begins_after_the_deadline(bench: Bench) -> None:
    assert not bench.loop(Maker(), rule=StoppingRule(3, deadline_s=0)).conduct()
    assert bench.trials() == []
    assert not bench.has_ended()


def test_a_block_that_has_begun_ends_after_the_deadline(bench: Bench) -> None:
    """Also with trials that do not count, which come where a cell at the beginning of a point is missing."""
    uncounted = 0
    for seed in range(12):
        bench = Bench(bench.store, begun(bench.store, seed))
        maker, missing = Maker(), Cell("a", POINTS[0])
        loop = bench.loop(maker, unavailable={missing: "not here"})

        def late(block: int, cell: Cell, loop: BlockLoop = loop) -> int:
            loop.progress.rule = dataclasses.replace(loop.rule, deadline_s=0)
            return 1000

        maker.wall_ns = late
        assert not loop.conduct()
        assert Counter(each.block for each in bench.trials() if each.cell != missing) == {1: 3}
        uncounted += sum(block == 0 for block, *_ in maker.made)
    assert uncounted


def test_a_run_whose_time_is_over_has_ended(bench: Bench) -> None:
    """This is as planned, unlike a deadline."""
    assert bench.loop(Maker(), rule=StoppingRule(30, time_s=0, min_timed_blocks=2)).conduct()
    assert places(bench.trials()) == PLANNED[:8]
    assert bench.has_ended()


def wall_ns(block: int, cell: Cell) -> int:
    """b is clearly slower than a; c is much the same with two nodes, and noisy with three."""
    noise = {2: 0.03, 3: 0.15}[int(cell.point["nodes"])] if cell.contender == "c" else 0.01
    ratio = {"a": 1.0, "b": 2.0, "c": 1.01}[cell.contender]
    gauss = random.Random(f"{block} {cell}").gauss(0, noise)
    return round(1e6 * ratio * math.exp(gauss))


DECIDING = dataclasses.replace(EXPERIMENT, contenders=("a", "b", "c"), blocks=16, until_decided=True)
B, C = ([Cell(name, point) for point in POINTS] for name in "bc")


def deciding(bench: Bench, maker: Maker, **changes: Any) -> BlockLoop:
    return bench.loop(maker, **{"rule": rule_of(DECIDING), "experiment": DECIDING, **changes})


@pytest.mark.parametrize(
    ("contenders", "steps", "time_s"),
    [
        ("ab", {}, None),
        # One that always fails keeps no run going.
        ("ab", {"b": Outcome.CRASHED}, None),
        # The time of a run leaves its first look.
        ("abc", {}, 0.0),
    ],
)
def test_runs_that_end_at_the_first_look(
    bench: Bench, contenders: str, steps: dict[int | str, Step], time_s: float | None
) -> None:
    of = dataclasses.replace(DECIDING, contenders=tuple(contenders), time_s=time_s)
    assert bench.loop(Maker(steps, wall_ns), rule=rule_of(of), experiment=of).conduct()
    assert {trial.block for trial in bench.trials()} == set(range(1, FIRST_LOOK + 1))
    assert bench.has_ended()


def test_cells_whose_comparisons_are_decided_get_no_further_trials(bench: Bench) -> None:
    assert deciding(bench, Maker(wall_ns=wall_ns)).conduct()
    made: dict[Cell, set[int]] = {}
    for trial in bench.trials():
        made.setdefault(trial.cell, set()).add(trial.block)
    first, whole = set(range(1, FIRST_LOOK + 1)), set(range(1, 17))
    assert [made[cell] for cell in B] == [first, first]
    # The noisy one gets all blocks, and what it is compared with does.
    assert made[C[1]] == made[Cell("a", POINTS[1])] == whole
    # The other is decided in between; its baseline ends with it.
    assert first < made[C[0]] < whole
    assert made[Cell("a", POINTS[0])] == made[C[0]]
    assert max(made[C[0]]) in [look.blocks for look in planned_looks(16)]
    assert bench.has_ended()


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_contender_comes_first_at_a_point_only_after_itself(bench: Bench, names: str) -> None:
    """Also where cells have left, and where the order of two is drawn anew: then after a trial that does not
    count."""
    uncounted = 0
    for seed in range(12):
        maker, run = Maker(wall_ns=wall_ns), begun(bench.store, seed)
        of = dataclasses.replace(DECIDING, contenders=tuple(names), until_decided=names == "abc")
        assert bench.loop(maker, rule=rule_of(of), experiment=of, run=run).conduct()
        uncounted += sum(block == 0 for block, *_ in maker.made)
        for (*_, before, _), (block, _, cell, is_first) in itertools.pairwise(maker.made):
            if block and (is_first or before.point != cell.point):
                assert before.contender == cell.contender
    assert uncounted > 12


@pytest.mark.parametrize("interrupted", [3, 42, 43, 50, 60])
def test_a_resumed_run_decides_as_an_unbroken_one(tmp_path: Path, bench: Bench, interrupted: int) -> None:
    store = Store(tmp_path / "other.sqlite")
    other = Bench(store, begun(store))
    assert deciding(bench, Maker(wall_ns=wall_ns)).conduct()
    steps: dict[int | str, Step] = {interrupted: Outcome.INTERRUPTED}
    with pytest.raises(KeyboardInterrupt):
        deciding(other, Maker(steps, wall_ns)).conduct()
    assert deciding(other, Maker(wall_ns=wall_ns)).conduct()
    resumed = [trial for trial in other.trials() if trial.outcome is Outcome.OK]
    assert places(resumed) == places(bench.trials())
    assert other.has_ended()


def test_after_the_deadline_a_run_with_a_look_has_ended(bench: Bench) -> None:
    """A pair that is not decided by then is inconclusive; more time would be another plan."""
    late = dataclasses.replace(rule_of(DECIDING), deadline_s=0)
    assert not deciding(bench, Maker(wall_ns=wall_ns), rule=late).conduct()
    assert (bench.trials(), bench.has_ended()) == ([], False)
    with pytest.raises(KeyboardInterrupt):
        deciding(bench, Maker({6 * 7 + 2: Outcome.INTERRUPTED}, wall_ns)).conduct()
    assert deciding(bench, Maker(wall_ns=wall_ns), rule=late).conduct()
    # Neither a trial more, nor one to go on with.
    assert len(bench.trials()) == 6 * 7 + 1
    assert bench.has_ended()


def test_errors_of_a_maker_pass_through_and_nothing_is_lost(bench: Bench) -> None:
    with pytest.raises(UsageError):
        bench.loop(Maker({6: UsageError})).conduct()
    assert places(bench.trials()) == PLANNED[:5]
    assert not bench.store.is_held(bench.run.id)


# --- the order of blocks ---

NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True)
LEVELS = st.lists(st.integers(2, 1000), min_size=1, max_size=5, unique=True)
SEEDS = st.integers(0, 2**63 - 1)


def points_of(*levels: int) -> list[Point]:
    return [Point((("nodes", level),)) for level in levels]


@given(levels=LEVELS, names=NAMES, count=st.integers(1, 5), seed=SEEDS)
def test_every_block_holds_every_cell_once(
    levels: list[int], names: list[str], count: int, seed: int
) -> None:
    at = points_of(*levels)
    made = list(blocks(at, names, count, seed))
    assert len(made) == count
    for cells in made:
        assert Counter(cells) == Counter(Cell(name, point) for name in names for point in at)
        for start in range(0, len(cells), len(names)):
            assert len({cell.point for cell in cells[start : start + len(names)]}) == 1


@given(seed=SEEDS, count=st.integers(1, 6))
def test_a_seed_fixes_the_order_and_a_longer_run_begins_like_a_shorter(seed: int, count: int) -> None:
    longer = list(blocks(points_of(2, 3, 4), ["a", "b", "c"], count + 1, seed))
    assert list(blocks(points_of(2, 3, 4), ["a", "b", "c"], count, seed)) == longer[:-1]


def test_points_and_contenders_come_in_each_order_equally_often() -> None:
    # 600 fair throws of a die: a face comes up 60 to 140 times but once in a hundred thousand; the seeds are
    # fixed.
    made = [cells for seed in range(60) for cells in blocks(points_of(2, 3, 4), ["a", "b", "c"], 10, seed)]
    of_points = Counter(tuple(cell.point for cell in cells[::3]) for cells in made)
    # At the first of the points.
    of_contenders = Counter(tuple(cell.contender for cell in cells[:3]) for cells in made)
    for counts in (of_points, of_contenders):
        assert len(counts) == 6
        assert all(60 < count < 140 for count in counts.values())


@given(levels=LEVELS, names=NAMES, seed=SEEDS)
def test_a_points_last_cell_is_the_first_of_the_next(levels: list[int], names: list[str], seed: int) -> None:
    made = list(blocks(points_of(*levels), names, 4, seed))
    assert all(before[-1].point == after[0].point for before, after in itertools.pairwise(made))
    order = [cell.contender for cells in made for cell in cells]
    drawn = {0, 2 * len(levels) * len(names)} if len(names) == 2 else {0}
    ends = set(range(0, len(order), len(names))) - drawn
    assert all(order[place] == order[place - 1] for place in ends)


def test_two_contenders_do_not_alternate_for_ever() -> None:
    firsts = {
        "".join(cells[0].contender for cells in blocks([Point(())], "ab", 8, seed)) for seed in range(200)
    }
    assert len(firsts) == 2**4
    assert all(each[place] != each[place + 1] for each in firsts for place in (0, 2, 4, 6))


def test_the_order_of_a_seed_stays() -> None:
    # Runs that were cut off are resumed with the same blocks.
    first, second = blocks(points_of(2, 3), ["a", "b", "c"], 2, 7)
    for cells, order in ((first, "c2 a2 b2 b3 c3 a3"), (second, "a3 b3 c3 c2 b2 a2")):
        assert " ".join(f"{cell.contender}{cell.point['nodes']}" for cell in cells) == order
