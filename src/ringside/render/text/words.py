"""The words that sentences and tables share."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ringside import units
from ringside.analysis.cells import MAX_FAILED_SHARE
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import CellChange
from ringside.files import tables_beside
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Comparison, Verdict
from ringside.text import one_line

# More names, or points, are a count.
MAX_NAMED = 3
# Behind a ratio at which a run ended once it was decided.
OVERSTATED = " (stopped when decided: likely nearer to 1)"
_TEXTS = tables_beside(__file__, "words.toml")
FAMILIES: dict[str, str] = _TEXTS["families"]
APART: dict[str, str] = _TEXTS["apart"]
CAUSES: dict[str, str] = _TEXTS["causes"]
OUTLOOKS: dict[str, str] = _TEXTS["outlooks"]
NOISE: dict[str, str] = _TEXTS["noise"]
OBSTACLES: dict[str, str] = {
    name: text.format(share=units.percent(MAX_FAILED_SHARE)) for name, text in _TEXTS["obstacles"].items()
}
# Why a metric has no figure though no trial failed; by whether trials have values.
NO_FIGURE = {False: "no trial reported it", True: "fewer than ten requests lie beyond it"}
TOO_CLOSE, NO_VERDICT = "too close to call", "no verdict possible"
# The kinds of table cells, and of sentences, with a verdict.
KINDS = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.EQUIVALENT: "even"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """`kind`: faster, slower, even, failed, or quiet where there is no verdict."""

    text: str
    kind: str = "quiet"


def verdict_word(verdict: Verdict, metric: Metric) -> str:
    """A verdict in documents: times are faster or slower, memory less or more, others lower or higher."""
    if verdict not in (Verdict.FASTER, Verdict.SLOWER):
        return str(verdict)
    words = ("less", "more") if metric.unit == "B" else ("lower", "higher")
    words = ("faster", "slower") if metric.is_time else words
    return words[(verdict is Verdict.FASTER) != metric.smaller_is_better]


def undecided(judged: Comparison | CellChange, margin: float | None = None) -> str:
    """The text in place of a difference, which has three different meanings; empty for a difference."""
    if judged.obstacle:
        return NO_VERDICT
    if judged.verdict is Verdict.EQUIVALENT:
        return f"equal within {'the margin' if margin is None else units.percent(margin)}"
    return TOO_CLOSE if judged.verdict is Verdict.INCONCLUSIVE else ""


def verdict_text(judged: Comparison | CellChange, metric: Metric, margin: float | None = None) -> str:
    """A verdict as people read it. `margin`: the margin of equality, if the text should name it."""
    return undecided(judged, margin) or verdict_word(judged.verdict, metric)


def listed(names: Sequence[str], last: str = "and", most: int | None = MAX_NAMED) -> str:
    """`a, b and c`; beyond `most` names `a, b, c and 2 others`."""
    if most and len(names) > most:
        return f"{', '.join(names[:most])} {last} {units.count(len(names) - most, 'other')}"
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def reserve(codes: Iterable[str]) -> str:
    """Why an order is not certain, by the codes of its warnings; empty without any."""
    causes = list(dict.fromkeys(CAUSES[code] for code in codes))
    return f"; not certain, since {listed(causes, most=None)}" if causes else ""


def possessive(name: str) -> str:
    """`go's`, `python-processes'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def where(analysis: RunAnalysis, point: Point, before: str = " at ") -> str:
    """The point, where a run has several."""
    return f"{before}{analysis.label(point)}" if len(analysis.points) > 1 else ""


def counted(analysis: RunAnalysis, factor: str) -> str:
    """`units` for `nodes`: the word that points have for a factor, where that is one; else the name."""
    word = re.fullmatch(r"[\d,]+ (\w+)", analysis.measurement.label(analysis.points[-1], (factor,)))
    return word[1] if word else factor


def blocks(analysis: RunAnalysis, *, is_over: bool = False) -> str:
    """`9 of 40 blocks`, or `7 blocks` where that is all."""
    done, planned = analysis.blocks_done, analysis.experiment.blocks
    every = units.count(planned, "block")
    return units.count(done, "block") if is_over or done >= planned else f"{done:,} of {every}"


def point_heading(analysis: RunAnalysis, point: Point) -> str:
    """`The message ring: one core; 100 units`: problem, point, and at the first of several the conditions."""
    title, parts = analysis.measurement.title, analysis.label(point)
    if len(analysis.points) > 1 and point == analysis.points[0] and analysis.conditions:
        parts += f"; {analysis.conditions}"
    return title if parts == title else f"{title}: {parts}"


def heading(analysis: RunAnalysis) -> str:
    """The run: id, blocks, trials, what was set and does not vary."""
    done, trials = blocks(analysis, is_over=analysis.is_over), units.count(analysis.trial_count, "trial")
    parts = [f"run {analysis.run.id}", done, trials, analysis.conditions]
    return ", ".join(part for part in parts if part) + repeats(analysis)


def took(analysis: RunAnalysis, *, is_part: bool = False) -> str:
    """`7 blocks, 24 s`; of a part of a suite with its name before."""
    run = analysis.run
    seconds = ""
    if run.ended_at is not None:
        began, ended = map(datetime.fromisoformat, (run.started_at, run.ended_at))
        seconds = f", {units.duration((ended - began).total_seconds())}"
    text = f"{blocks(analysis, is_over=analysis.is_over)}{seconds}"
    return f"{part_name(analysis)}: {text}" if is_part else text


def part_name(analysis: RunAnalysis) -> str:
    """The name of a suite's part: without the suite's own name, which stands before it."""
    suite = analysis.plan.suite
    return analysis.experiment.name.removeprefix(f"{suite.name}-" if suite else "")


def repeats(analysis: RunAnalysis) -> str:
    """`; at least 100 ms of work: 3 to 2,941 repeats`; empty if their number was not found by trials."""
    each = (analysis.plan.repeats_of(cell) for cell, found in analysis.cells.items() if found.has_figures)
    if not (numbers := sorted(filter(None, each))):
        return ""
    several = f"{numbers[0]:,} to " * (numbers[0] < numbers[-1]) + units.count(numbers[-1], "repeat")
    return f"; at least {units.quantity(analysis.experiment.least_s, 's')} of work: {several}"


def machine(host: Mapping[str, Any]) -> str:
    """CPU, memory and kernel; of several machines those alike together; and where the load came from."""
    machines, engines = host.get("machines"), host.get("engines")
    elsewhere = ""
    if isinstance(engines, int) and engines:
        elsewhere = f"; load from {units.count(engines, 'engine')} on other machines"
    if isinstance(machines, Mapping) and len(machines) > 1:
        alone = {name: {**facts, "machines": None, "engines": None} for name, facts in machines.items()}
        return _together(alone) + elsewhere
    if isinstance(machines, Mapping) and len(machines) == 1 and engines:
        (only,) = machines.values()
        if isinstance(own := only.get("engines"), Mapping):
            return f"{machine({**host, 'machines': None, 'engines': None})}; load from {_together(own)}"
    memory, cpus = host.get("memory_bytes"), host.get("cpus", "?")
    usable = len(host.get("cpus_usable") or ())
    parts = [
        one_line(str(host.get("cpu_model", "unknown CPU"))),
        f"{cpus} CPUs" if usable in (0, cpus) else f"{cpus} CPUs, {usable} usable",
        f"{memory / 2**30:.0f} GiB" if isinstance(memory, int) else "",
        f"Linux {host.get('kernel', '?')}",
        f"virtual ({host['hypervisor']})" if host.get("hypervisor") else "",
    ]
    return ", ".join(part for part in parts if part) + elsewhere


def _together(machines: Mapping[str, Mapping[str, Any]]) -> str:
    """Machines by name, those that are alike together."""
    by_text = grouped((machine(facts), one_line(str(name))) for name, facts in machines.items())
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())
