"""The parallel batch: T independent cases from one input, answered in order (docs/PROTOCOL.md, `batch`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ringside.model.design import Expectation, InputFile, Metric, Point
from ringside.model.results import Interval, Trial
from ringside.workloads import batch_input
from ringside.workloads.base import (
    BUSIEST,
    BUSY,
    CORES,
    CPU_S,
    IDLEST,
    PEAK,
    REPEATS,
    RUN_QUEUE,
    SWITCHES,
    THREADS,
    WALL_S,
    Factor,
    Law,
    Workload,
    core_figures,
    phase_ns,
    process_figures,
    repeated,
    repeats,
)

# `Case #200000: -2000000000000` and then some.
_LINE_BYTES = 64
_OTHER_OUTPUT_BYTES = 1 << 20

_READ = Metric(
    "read_s", "s", "Reading", "time in which the unit that reads was busy with it, its waits apart"
)
_COMPUTE = Metric(
    "compute_s", "s", "Computing", "time from the text of a case to its answer, summed over all cases"
)
_WRITE = Metric(
    "write_s", "s", "Writing", "time in which answers were put in order and written, its waits apart"
)
_READ_SHARE = Metric(
    "read_share", "", "Share of reading", "the time of reading over the wall time: 1 is nothing but that"
)
_AHEAD = Metric(
    "wait_ahead_s", "s", "Reader waits", "time in which the unit that reads waited for others to catch up"
)
_FULL = Metric(
    "wait_full_s",
    "s",
    "Waits, full",
    "time in which units waited for a place in the queue of answers, summed",
)
_EMPTY = Metric(
    "wait_empty_s", "s", "Waits, empty", "time in which the unit that writes waited for an answer"
)
_WORK = Metric(
    "work_s",
    "s",
    "Work",
    "from opening the input to the last answer, by the program's clock; of repeats the median of the later "
    "half",
)
_FIRST_WORK = Metric("first_work_s", "s", "First work", "that of the first repeat, where there are several")
_PHASES = {
    "read": _READ,
    "compute": _COMPUTE,
    "write": _WRITE,
    "wait_ahead": _AHEAD,
    "wait_full": _FULL,
    "wait_empty": _EMPTY,
}
# From this share of the wall time on, a unit is called the bottleneck.
_MOST_OF_IT = 0.8
# Cores busy at one time, on average, where there are several: as many as one unit after the other can.
_ONE_CORE = (0.9, 1.1)


class Batch(Workload):
    name = "batch"
    title = "The parallel batch"
    factors = (
        Factor("cases", 2000, "independent cases in the input", least=0, most=10_000_000),
        Factor("size", 200, "length of a case's two vectors", least=0, most=1_000_000),
        Factor(
            "capacity",
            "own",
            "places in the queue of answers: the contender's own choice, a number (0 is a rendezvous), or "
            "unbounded",
            choices=("own", 0, 1, 100, 10_000, "unbounded"),
        ),
        Factor(
            "source",
            "cache",
            "where the input lies when the program starts: cache: in memory; disk: none of it is",
            choices=("cache", "disk"),
        ),
        Factor("seed", 1, "of the input's numbers", least=0, most=2**32 - 1),
        REPEATS,
        CORES,
    )
    metrics = (
        WALL_S,
        CPU_S,
        Metric(
            "cases_per_s",
            "/s",
            "Cases per second",
            "cases over wall time, start-up included",
            smaller_is_better=False,
        ),
        Metric(
            "input_per_cpu_s",
            "B",
            "Input per CPU second",
            "bytes of input over CPU time, start-up included",
            smaller_is_better=False,
        ),
        _WORK,
        _FIRST_WORK,
        _READ,
        _COMPUTE,
        _WRITE,
        _READ_SHARE,
        _AHEAD,
        _FULL,
        _EMPTY,
        BUSY,
        BUSIEST,
        IDLEST,
        PEAK,
        THREADS,
        SWITCHES,
        RUN_QUEUE,
    )
    compared = ("wall_s", "cpu_s")
    repeated_metric = _WORK.name
    beside = ("cases_per_s", "read_share", "busy_share", "peak_pss_bytes")
    parts = (
        "read_share",
        "busy_share",
        "busiest_core",
        "idlest_core",
        "compute_s",
        "write_s",
        "wait_ahead_s",
        "wait_full_s",
        "wait_empty_s",
        "run_queue_s",
    )
    laws = (Law("cores", "wall_s"), Law("cases", "wall_s"), Law("size", "wall_s"))

    def input(self, point: Point) -> InputFile:
        cases, size, seed = (int(point[name]) for name in ("cases", "size", "seed"))
        return InputFile(
            name=f"batch-{cases}x{size}-seed{seed}.txt",
            most_bytes=batch_input.most_bytes(cases, size),
            pieces=partial(batch_input.pieces, cases, size, seed),
        )

    def input_cached(self, point: Point) -> bool:
        return point["source"] == "cache"

    def arguments(self, point: Point) -> dict[str, str]:
        return {}

    def expectation(self, point: Point, seed: int) -> Expectation:
        cases = int(point["cases"]) * repeats(point)
        return Expectation({"cases": str(cases)}, lines_total=cases)

    def output_bytes(self, point: Point) -> int:
        return repeats(point) * int(point["cases"]) * _LINE_BYTES + _OTHER_OUTPUT_BYTES

    def work(self, point: Point) -> int:
        return int(point["cases"]) * (int(point["size"]) + 10)

    def figures(self, trial: Trial) -> dict[str, float]:
        found = process_figures(trial.outcome_line)
        found |= core_figures(trial.outcome_line, int(trial.cell.point["cores"]))
        for phase, metric in _PHASES.items():
            if phase in trial.phases:
                found[metric.name] = trial.phases[phase] / 1e9
        if (work_ns := phase_ns(trial, "work")) is not None:
            found[_WORK.name] = work_ns / 1e9
        each = self.repeats_of(trial)
        if each:
            found[_FIRST_WORK.name] = each[0]
        times = len(each) or 1
        wall, cpu = found.get(WALL_S.name), found.get(CPU_S.name)
        if wall:
            found["cases_per_s"] = times * int(trial.cell.point["cases"]) / wall
            if _READ.name in found:
                found[_READ_SHARE.name] = found[_READ.name] / wall
        if cpu and "input_bytes" in trial.outcome_line:
            found["input_per_cpu_s"] = times * trial.outcome_line["input_bytes"] / cpu
        return found

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        return tuple(work_ns / 1e9 for work_ns in repeated(trial, "work"))

    def diagnosis(self, contender: str, point: Point, figures: Mapping[str, Interval]) -> str | None:
        """Where the wall time went: the unit that reads, the one that writes, or the cores."""
        cores = int(point["cores"])
        shares = _shares(figures, cores)
        if shares is None:
            return None
        core = f"its {cores} cores are" if cores > 1 else "its core is"
        words = (
            f"reading by one unit takes {shares.read:.0%} of the wall time, writing {shares.write:.0%}; "
            f"{core} busy for {shares.busy:.0%} of it"
        )
        if shares.read + shares.write >= _MOST_OF_IT and shares.busy < _MOST_OF_IT and cores > 1:
            part = "reading" if shares.read >= shares.write else "writing"
            end = f"{part} holds back the rest, and more cores cannot help"
        elif shares.busy >= _MOST_OF_IT:
            end = "the cores are what it lacks"
        elif shares.full >= _MOST_OF_IT:
            end = "its units wait for places in the queue of answers"
        elif cores > 1 and _ONE_CORE[0] <= shares.busy * cores <= _ONE_CORE[1]:
            end = (
                "one core's work at a time: it has a single unit, or all its units share one lock, and more "
                "cores cannot help"
            )
        else:
            end = "neither explains it: units wait for each other, the disk, or a host that gives no CPU"
        return f"{contender}: {words}: {end}"


class _Shares:
    """Parts of the wall time: of the unit that reads, of the one that writes, of all cores, and of the time
    of computing units that they waited for the queue."""

    def __init__(self, read: float, write: float, busy: float, full: float) -> None:
        self.read, self.write, self.busy, self.full = read, write, busy, full


def _shares(figures: Mapping[str, Interval], cores: int) -> _Shares | None:
    def of(name: str) -> float | None:
        return figures[name].estimate if name in figures else None

    wall, read, write, busy = (of(name) for name in (WALL_S.name, _READ.name, _WRITE.name, BUSY.name))
    if not wall or read is None or write is None or busy is None:
        return None
    full = (of(_FULL.name) or 0) / (wall * cores)
    return _Shares(read / wall, write / wall, busy, full)


BATCH = Batch()
