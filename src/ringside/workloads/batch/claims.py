"""What the post of 2011 on Go concluded from its batch, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside import units
from ringside.model.design import Level, Point
from ringside.model.results import Finding
from ringside.workloads.claims import (
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    at_least,
    find,
    judge,
    judge_values,
    log_ratio,
    logs,
    not_tested,
)

# Beyond so many of its cores the post saw no gain.
_POSTS_PEAK = 8
# A gain of less is none.
_GAIN = Band(high=1.05, words="up to 1.05")
# The largest part of the time.
_MAJORITY = at_least(0.5)
# A queue that changes the time by less has no big effect.
_NO_BIG_EFFECT = Band(1 / 1.2, 1.2, "from 0.83 to 1.2")


def eight_cores_are_enough(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time on eight cores over that on the most cores of the run."""
    experiment = "batch-cores"
    matching = find(runs, experiment, "batch", ("go",), lambda point: int(point["cores"]) >= _POSTS_PEAK)
    cores = sorted({int(point["cores"]) for point in matching[1]}) if matching else []
    if matching is None or len(cores) < 2 or cores[0] != _POSTS_PEAK:
        most = max(
            (int(point["cores"]) for run in runs for point in run.points if _has_cores(point)), default=0
        )
        here = f"; these runs have {units.count(most, 'core')} at most" if most else ""
        return not_tested(f"it needs go on {_POSTS_PEAK} cores and on more{here}", experiment)
    run, points = matching
    few, many = ([point for point in points if point["cores"] == number] for number in (cores[0], cores[-1]))
    gain = Part("go", log_ratio(logs(run, "wall_s", "go", few), logs(run, "wall_s", "go", many)))
    return judge(
        run,
        [gain],
        _GAIN,
        lambda name, interval: (
            f"{name} is {units.ratio(interval)} times as fast on {cores[-1]} cores as on 8"
        ),
    )


def _has_cores(point: Point) -> bool:
    return "cores" in point.as_dict()


def queue_has_no_big_effect(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time with each size of the queue of answers over that with the smallest, over all cores."""
    experiment = "batch-capacity"
    matching = find(runs, experiment, "batch", ("go",), lambda point: point["capacity"] != "own")
    levels = {point["capacity"] for point in matching[1]} if matching else set()
    # The word `unbounded` stands behind all numbers.
    sizes: list[Level] = sorted(levels, key=lambda level: (isinstance(level, str), level))
    if matching is None or len(sizes) < 2:
        return not_tested("no run has go with several sizes of its queue", experiment)
    run, points = matching

    def time(size: Level) -> dict[int, float]:
        return logs(run, "wall_s", "go", [point for point in points if point["capacity"] == size])

    parts = [Part(f"capacity={size}", log_ratio(time(size), time(sizes[0]))) for size in sizes[1:]]
    return judge(
        run,
        parts,
        _NO_BIG_EFFECT,
        lambda name, interval: (
            f"with {name}, go takes {units.ratio(interval)} times as long as with capacity={sizes[0]}"
            f" ({len(sizes)} sizes compared)"
        ),
    )


def reading_dominates(runs: Sequence[AnalysedRun]) -> Finding:
    """The time in which the unit that reads was busy, over wall time, on most cores."""
    return _share(runs, "read_share", "reading takes {} of go's wall time")


def queue_is_full(runs: Sequence[AnalysedRun]) -> Finding:
    """The time in which computing units waited for a place in the queue, of all their time."""
    return _share(runs, "wait_full_s", "units of go wait for a place in the queue for {} of their time")


def _share(runs: Sequence[AnalysedRun], metric: str, words: str) -> Finding:
    experiment = "batch-cores"
    matching = find(runs, experiment, "batch", ("go",), lambda point: point["capacity"] == "own")
    if matching is None:
        return not_tested("no run has go", experiment)
    run, points = matching
    point = max(points, key=lambda point: (int(point["cores"]), int(point["cases"])))
    values = run.values(metric, "go", point)
    if metric == "wait_full_s":
        computing = run.values("compute_s", "go", point)
        values = {
            block: waited / (waited + computing[block])
            for block, waited in values.items()
            if computing.get(block)
        }
    place = f"cases={point['cases']} cores={point['cores']}"
    return judge_values(
        run,
        values,
        _MAJORITY,
        lambda interval: f"{words.format(units.ratio(interval))} at {place}",
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2011-go-code-jam/eight-cores-are-enough": eight_cores_are_enough,
    "2011-go-code-jam/queue-has-no-big-effect": queue_has_no_big_effect,
    "2011-go-code-jam/reading-dominates": reading_dominates,
    "2011-go-code-jam/queue-is-full": queue_is_full,
}
