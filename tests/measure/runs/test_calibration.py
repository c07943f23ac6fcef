"""How often cells repeat their work: trials of programs that are fast, slow, or slow at first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.catalogue.loader import Catalogue
from ringside.measure.runs.campaign import new_task
from ringside.measure.runs.loop import enough
from ringside.model.results import Outcome
from ringside.probe.protocol import Phase, TrialMessage, TrialOutcome, TrialRequest
from ringside.render.text.words import repeats as shown
from ringside.store import Store
from ringside.store.plans import Selection, read_plan
from tests.support.fake_contenders import Add, edit, manifest_of
from tests.support.fake_runs import FakeExecutor, Quiet, argument, campaign, conduct, resume

MS = 1_000_000
# How long each repeat of these programs takes: the first, the second to the fifth, the others.
PROGRAMS = {
    "fast": (MS // 10, MS // 10, MS // 10),
    "tiny": (MS // 100, MS // 100, MS // 100),
    "slow": (80 * MS, 80 * MS, 80 * MS),
    "warms-up": (300 * MS, 60 * MS, 2 * MS),
    # It ends before the twelfth.
    "tires": (90 * MS, 5 * MS, 5 * MS),
    "compiles": (300 * MS, 290 * MS, 20 * MS),
    "endless": (3000 * MS, 3000 * MS, 3000 * MS),
}


class Ring(FakeExecutor):
    """Rings whose relays take as long as `PROGRAMS` says. `crashes`: those that do so."""

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        [outcome] = super().trial(request)
        first, second, later = PROGRAMS.get(argument(request, "how"), (MS, MS, MS))
        each_ns = [first, *[second] * 4, *[later] * 3000][: int(argument(request, "repeats"))]
        each_ns = [ns + ns * (number % 3) // 1000 for number, ns in enumerate(each_ns)]
        if argument(request, "how") == "tires" and len(each_ns) > 11:
            return [TrialOutcome("out-of-memory")]
        if isinstance(outcome, TrialOutcome) and outcome.outcome != Outcome.OK:
            return [outcome]
        ends = [20 * MS + sum(each_ns[: number + 1]) for number in range(len(each_ns))]
        lines = [Phase(name="relay", ns=ns, t_ns=t_ns) for ns, t_ns in zip(each_ns, ends, strict=True)]
        return [*lines, outcome]

    def times(self, how: str) -> list[int]:
        return [int(argument(each, "repeats")) for each in self.requests if argument(each, "how") == how]


@pytest.fixture
def begin(workplace: Path, add_fake: Add, add_experiment: Add) -> Callable[..., tuple[Ring, Store]]:
    """Carries out an experiment of two blocks of the programs of these names."""

    def carry_out(executor: Ring, *names: str, more: str = "", unable: str = "") -> tuple[Ring, Store]:
        for name in names:
            add_fake(name, name)
            if name != unable:
                edit(manifest_of(workplace, name), ('"trace"]', '"trace", "repeats"]'))
        add_experiment("rings", *names, blocks=2, more=more)
        campaign(workplace, executor, new_task(Selection("rings", seed=5), Catalogue())).carry_out()
        return executor, Store(workplace / "s.sqlite")

    return carry_out


Begin = Callable[..., tuple[Ring, Store]]


def analysed(store: Store) -> RunAnalysis:
    run = store.run()
    return RunAnalysis(run, store.trials(run))


def figures(of: RunAnalysis, name: str) -> dict[str, float]:
    (cell,) = [each for cell, each in of.cells.items() if cell.contender == name]
    return {metric: value.estimate for metric, value in cell.metrics.items()}


@pytest.mark.parametrize(
    ("times_ms", "number"),
    [
        ([0.03], 3000),  # the most
        ([0.1], 1200),  # 120 ms
        ([5], 24),
        ([20], 10),  # as many as show a steady state
        ([60, 60], 8),  # in five times the least
        ([600, 600], 1),
        ([600], 10),  # one alone shows nothing
        ([4000], 2),
        ([500, 400, 2, 2], 60),  # by the later half
        ([400, 390, 380], 1),
        ([400, 250, 200], 10),  # it gets faster: in a hundred times the least
        ([4000, 2000, 1500], 5),
        # Ten show whether it gets faster, by however little, and whether it still does.
        ([300] * 10, 1),
        ([330, *[300] * 9], 10),
        ([20 * 0.95**place for place in range(10)], 30),
        ([30 * 0.95**place for place in range(30)], 90),
        ([30 * 0.95**place for place in range(90)], 270),
        ([300 * 0.95**place for place in range(10)], 10),
        ([60, 40, *[20] * 38], 40),
    ],
)
def test_enough(times_ms: list[float], number: int) -> None:
    assert enough([int(each * MS) for each in times_ms], 0.1) == number


def test_fast_and_slow_programs_are_measured_for_equal_time(begin: Begin) -> None:
    executor, store = begin(Ring(), "fast", "slow", "warms-up", "endless")
    run = store.run()
    plan = read_plan(run)
    assert dict(plan.repeats) == {"fast": (1199,), "slow": (6,), "warms-up": (60,), "endless": (1,)}
    measured = {name: executor.times(name)[-2:] for name in plan.repeats}
    assert measured == {name: [number] * 2 for name, (number,) in plan.repeats.items()}
    for trial in store.trials(run):
        assert trial.cell.point["repeats"] == "auto"
        assert sum(trial.phases["relay"]) >= 100 * MS
    # The warm-up, then one repeat, ten, and what they ask for.
    assert executor.times("warms-up")[:-2] == [1, 1, 10, 60]


def test_a_program_that_compiles_meanwhile_is_not_measured_cold(begin: Begin) -> None:
    executor, store = begin(Ring(), "fast", "compiles")
    assert executor.times("compiles") == [1, 1, 10, 10, 10]
    assert figures(analysed(store), "compiles")["hop_ns"] == pytest.approx(20 * MS / 20, rel=0.01)


def test_the_headline_is_the_steady_state_and_the_cold_start_is_shown_beside_it(begin: Begin) -> None:
    _, store = begin(Ring(), "fast", "warms-up")
    analysis = analysed(store)
    cold, fast = figures(analysis, "warms-up"), figures(analysis, "fast")
    assert cold["hop_ns"] == pytest.approx(2 * MS / 20, rel=0.01)
    assert cold["first_over_steady"] == pytest.approx(150, rel=0.01)
    assert cold["first_answer_s"] == pytest.approx(0.320)
    assert cold["steady_after_s"] == pytest.approx(0.320 + 4 * 0.060 + 0.002, rel=0.01)
    assert fast["steady_after_s"] == fast["first_answer_s"]
    assert shown(analysis) == "; at least 100 ms of work: 60 to 1,199 repeats"


def test_of_work_that_is_too_short_for_the_least_time_the_heading_says_so(begin: Begin) -> None:
    _, store = begin(Ring(), "tiny", "slow")
    assert shown(analysed(store)) == "; at least 100 ms of work: 6 to 3,000 repeats"


def test_a_program_without_the_capability_does_its_work_once(begin: Begin) -> None:
    executor, store = begin(Ring(), "fast", "slow", unable="fast")
    assert executor.times("fast") == [1, 1, 1]  # the warm-up, two blocks
    assert shown(analysed(store)) == "; at least 100 ms of work: 1 to 6 repeats"


def test_an_experiment_says_how_long_or_how_often(begin: Begin) -> None:
    executor, store = begin(Ring(), "fast", "slow", more='repeats = ["auto", 1, 7]\n')
    # The number of one point is not taken for that of another.
    outcomes = {(trial.cell, trial.block) for trial in store.trials(store.run())}
    assert len(outcomes) == 2 * 2 * 3
    assert sorted(executor.times("slow")[-6:]) == [1, 1, 6, 6, 7, 7]
    assert read_plan(store.run()).repeats["fast"] == (1199, 1, 7)


def test_a_program_that_fails_is_tried_once_before_the_blocks(begin: Begin) -> None:
    executor, store = begin(Ring({"slow": "crashed"}), "fast", "slow")
    assert executor.times("slow") == [1, 1, 1, 1]
    assert read_plan(store.run()).repeats["slow"] == (1,)


def test_a_program_that_cannot_repeat_often_does_so_as_often_as_it_could(begin: Begin) -> None:
    executor, store = begin(Ring(), "fast", "tires")
    assert executor.times("tires") == [1, 1, 10, 24, 10, 10]
    assert {trial.outcome for trial in store.trials(store.run())} == {Outcome.OK}


def test_numbers_of_a_resumed_run(begin: Begin, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two warm-ups, two trials of each for its number, two of four.
    with pytest.raises(KeyboardInterrupt):
        begin(Ring(interrupt_after=8), "fast", "slow")
    store = Store(workplace / "s.sqlite")
    [run] = store.runs()
    numbers = dict(read_plan(run).repeats)
    assert numbers
    assert len(store.trials(run)) < 4
    prepared, executor, quiet = resume(run, workplace), Ring(), Quiet()
    # Slower now: other numbers would come of it.
    monkeypatch.setitem(PROGRAMS, "fast", (MS, MS, MS))
    assert conduct(run, prepared, store, executor, quiet)
    run = store.run(run.id)
    assert dict(read_plan(run).repeats) == numbers
    again = {each.cell.contender: len(each.phases["relay"]) for each in quiet.ended}
    assert again.items() <= {name: number for name, (number,) in numbers.items()}.items()


def test_an_interrupted_calibration_is_made_again(begin: Begin, workplace: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        begin(Ring(interrupt_after=3), "fast", "slow")
    store = Store(workplace / "s.sqlite")
    [run] = store.runs()
    assert not read_plan(run).repeats
    assert not store.trials(run)
    assert conduct(run, resume(run, workplace), store, Ring())
    assert dict(read_plan(store.run(run.id)).repeats) == {"fast": (1199,), "slow": (6,)}
