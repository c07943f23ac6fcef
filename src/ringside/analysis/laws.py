"""How times change over cores and over the size of the work: fits, and what they say."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Cell, Point
from ringside.model.results import Interval
from ringside.render.table import Entry, TableData
from ringside.stats.ratio import paired_ratio
from ringside.stats.scaling import LEAST_LEVELS, Scalability, exponent, scalability
from ringside.workloads.base import Law

_CORES = "cores"
# Below this share of contention nothing is said of it.
_NO_CONTENTION = 0.005
# A speed-up below this is called none.
_GAIN = 1.1


@dataclass(frozen=True, slots=True)
class Scaled:
    """A contender over cores, the other factors fixed. `speed_ups`: by number of cores, over one core, from
    pairs inside blocks; `law` is None where it cannot be fitted."""

    contender: str
    fixed: Point
    speed_ups: dict[int, Interval]
    law: Scalability | None


def missing() -> bool:
    """Whether the package that fits is not installed."""
    return importlib.util.find_spec("scipy") is None


def laws(summary: Summary, *, over_cores: bool) -> list[Law]:
    """The workload's laws over factors that have several levels in this run."""
    varying = summary.varying()
    numeric = {name for name in varying if all(isinstance(point[name], int) for point in summary.points)}
    return [
        law for law in summary.workload.laws if law.over in numeric and (law.over == _CORES) == over_cores
    ]


def settings(summary: Summary, law: Law) -> list[Point]:
    """What else is fixed: all that a law's fits differ in besides the contender."""
    return list(dict.fromkeys(point.without(law.over) for point in summary.points))


def blocks(summary: Summary, law: Law, contender: str, fixed: Point) -> dict[int, dict[int, float]]:
    """The law's figure by block and level."""
    found: dict[int, dict[int, float]] = {}
    for point in summary.points:
        if point.without(law.over) == fixed:
            values = summary.cells[Cell(contender, point)].by_block.get(law.figure, {})
            for block, value in values.items():
                found.setdefault(block, {})[int(point[law.over])] = value
    return found


def scaled(summary: Summary, law: Law, fixed: Point) -> list[Scaled]:
    """All contenders over cores, those with the largest speed-up first."""
    found = []
    for contender in summary.names():
        by_block = blocks(summary, law, contender, fixed)
        by_level: dict[int, dict[int, float]] = {}
        for block, levels in by_block.items():
            for cores, seconds in levels.items():
                by_level.setdefault(cores, {})[block] = seconds
        speed_ups = {
            cores: ratio
            for cores in sorted(by_level)
            if cores > 1 and (ratio := paired_ratio(by_level.get(1, {}), by_level[cores]))
        }
        if speed_ups:
            law_found = None if missing() else scalability(by_block)
            found.append(Scaled(contender, fixed, speed_ups, law_found))
    return sorted(found, key=lambda one: -one.speed_ups[max(one.speed_ups)].estimate)


def verdict(one: Scaled) -> str:
    """What the law says of more cores, in a few words; empty where there is none."""
    law = one.law
    if law is None:
        return ""
    most = law.levels[-1]
    best = law.best.estimate
    if law.speed_up(min(best, most)) < _GAIN:
        return "gains next to nothing from more cores"
    if best <= most:
        return f"gets slower beyond {best:.0f} cores"
    contention = law.contention.estimate
    if math.isfinite(best):
        return f"still gains at {most}; by the law up to {best:.0f} cores (not measured)"
    if contention > _NO_CONTENTION:
        return f"still gains at {most}; never more than {1 / contention:.0f} times by the law (not measured)"
    return f"no limit to be seen up to {most} cores"


def tables(summary: Summary) -> list[TableData]:
    """A table for each law and each setting of the other factors."""
    found = [
        _cores_table(summary, law, fixed)
        for law in laws(summary, over_cores=True)
        for fixed in settings(summary, law)
    ]
    found += [_growth_table(summary, law) for law in laws(summary, over_cores=False)]
    return [table for table in found if table.rows]


def _cores_table(summary: Summary, law: Law, fixed: Point) -> TableData:
    rows = scaled(summary, law, fixed)
    levels = sorted({cores for one in rows for cores in one.speed_ups})
    fitted = any(one.law for one in rows)
    where = f": {_label(summary, fixed)}" if len(settings(summary, law)) > 1 else ""
    columns = ["contender", *(f"speed-up on {cores}" for cores in levels)]
    columns += ["efficiency"] + (["contention", "coherency", "best cores", "by the law"] if fitted else [])
    notes = []
    if missing():
        notes.append("The Universal Scalability Law is fitted with scipy: pip install 'ringside[report]'.")
    elif not fitted and levels:
        notes.append(_unknown(summary, levels[-1]))
    elif len({cores for one in rows if one.law for cores in one.law.levels}) == LEAST_LEVELS:
        notes.append(
            "Three numbers of cores for a law with three parameters: nothing is left to check it with."
        )
    title = summary.workload.metric(law.figure).title.lower()
    return TableData(
        f"Scaling over cores{where}",
        tuple(columns),
        tuple(_cores_row(one, levels, fitted) for one in rows),
        subtitle=f"of {title}, from pairs in blocks, with 95 % intervals; efficiency is speed-up over cores",
        notes=tuple(notes),
        narrow=("coherency", "contention", "efficiency"),
    )


def _cores_row(one: Scaled, levels: Sequence[int], fitted: bool) -> tuple[Entry, ...]:
    ratios = [one.speed_ups.get(cores) for cores in levels]
    row = [Entry(one.contender, "text")]
    row += [Entry(numbers.ratio(ratio)) if ratio else Entry("–", "quiet") for ratio in ratios]
    most = max(one.speed_ups)
    row.append(Entry(f"{one.speed_ups[most].estimate / most:.0%}"))
    if fitted and one.law:
        row += [Entry(numbers.ratio(one.law.contention)), Entry(numbers.ratio(one.law.coherency))]
        row += [Entry(_cores(one.law.best)), Entry(verdict(one), "text")]
    elif fitted:
        row += [Entry("–", "quiet")] * 3 + [Entry("–", "text")]
    return tuple(row)


def _cores(best: Interval) -> str:
    def whole(value: float) -> str:
        return f"{value:,.0f}" if value < 10_000 else "no limit"

    if best.low is None or best.high is None or whole(best.low) == whole(best.high):
        return whole(best.estimate)
    return f"{whole(best.estimate)} ({whole(best.low)}–{whole(best.high)})"


def _unknown(summary: Summary, most: int) -> str:
    here = summary.run.host.get("cpus_usable")
    lent = f"{len(here)} CPU{'s' * (len(here) != 1)}" if here else ""
    machine = f"this machine lends {lent}, and " if here and len(here) <= most else ""
    text = (
        f"{machine}the law of scaling has three parameters, for which speed-ups on up to {most} cores are "
        "too few: where a program stops gaining, or gets slower, cannot be known from this run. On a machine "
        "with more: --cores all"
    )
    return f"{text[:1].upper()}{text[1:]}."


def _growth_table(summary: Summary, law: Law) -> TableData:
    places = settings(summary, law)
    found = {}
    for contender in summary.names():
        for fixed in places:
            by_block = blocks(summary, law, contender, fixed)
            levels = {
                block: {float(level): value for level, value in at.items()} for block, at in by_block.items()
            }
            if not missing() and (power := exponent(levels)):
                found[contender, fixed] = power
    places = [fixed for fixed in places if any(fixed == where for _, where in found)]
    order = sorted(
        {contender for contender, _ in found},
        key=lambda name: min(power.estimate for (who, _), power in found.items() if who == name),
    )
    cell = {key: Entry(numbers.ratio(power)) for key, power in found.items()}
    rows = tuple(
        (Entry(name, "text"), *(cell.get((name, fixed), Entry("–", "quiet")) for fixed in places))
        for name in order
    )
    columns = tuple(_label(summary, fixed) if len(places) > 1 else "exponent" for fixed in places)
    title = summary.workload.metric(law.figure).title
    return TableData(
        f"{title}: growth with {law.over}",
        ("contender", *columns),
        rows,
        subtitle=f"the power of {law.over} with which it grows: 1 is in proportion; with 95 % intervals",
    )


def _label(summary: Summary, fixed: Point) -> str:
    varying = [name for name, _ in fixed.levels if name in summary.varying()]
    return " ".join(f"{name}={fixed[name]}" for name in varying)


def where_table(summary: Summary) -> TableData | None:
    """Where the time went, by the workload's parts, with what the figures say in words below; at the largest
    number of cores where there are several."""
    parts = [summary.workload.metric(name) for name in summary.workload.parts]
    if not parts:
        return None
    points = list(summary.points)
    if any(law.over == _CORES for law in laws(summary, over_cores=True)):
        most = max(int(point[_CORES]) for point in points)
        points = [point for point in points if point[_CORES] == most]
    rows, notes = [], []
    several = len(points) > 1
    for point in points:
        for name in summary.names():
            cell = summary.cells[Cell(name, point)]
            if not cell.has_figures:
                continue
            label = [Entry(summary.label(point), "text")] if several else []
            figures = [
                Entry(numbers.metric_estimate(value, metric))
                if (value := cell.metrics.get(metric.name))
                else Entry("–", "quiet")
                for metric in parts
            ]
            rows.append((Entry(name, "text"), *label, *figures))
            sentence = summary.workload.diagnosis(name, point, cell.metrics)
            if sentence:
                notes.append(f"{summary.label(point)}: {sentence}." if several else f"{sentence}.")
    if not rows:
        return None
    columns = ("contender", *(("point",) if several else ()), *(metric.title for metric in parts))
    return TableData(
        "Where the time went",
        columns,
        tuple(rows),
        subtitle="medians over blocks; times are sums over all units of a kind",
        notes=tuple(notes),
        narrow=tuple(metric.title for metric in reversed(parts)),
    )
