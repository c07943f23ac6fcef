"""Two servers under the same load in turn: blocks, ratios from pairs inside a block, a verdict."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from ringside import units as numbers
from ringside.errors import UsageError
from ringside.load.document import FORMAT, as_document
from ringside.load.options import Options
from ringside.load.result import Result
from ringside.load.target import Target
from ringside.model.results import Interval, Verdict
from ringside.render import terminal
from ringside.render.table import Entry, TableData
from ringside.stats.interval import LEAST
from ringside.stats.ratio import paired_ratio, verdict
from ringside.text import one_line

NAMES = ("A", "B")
# A shorter run says more of its beginning than of the server.
LEAST_S = 0.5


@dataclass(frozen=True, slots=True)
class Run:
    """One short load: of which block (from 0), which of the two targets, and what came of it."""

    block: int
    name: str
    result: Result


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared. `value` gives None where a run has no figure."""

    name: str
    smaller_is_better: bool
    value: Callable[[Result], float | None]


@dataclass(frozen=True, slots=True)
class Found:
    """B over A in one measure."""

    measure: Measure
    ratio: Interval | None
    verdict: Verdict


def orders(blocks: int, seed: int) -> list[tuple[str, str]]:
    """For each block the order of the two targets; the seed fixes it."""
    dice = random.Random(seed)
    return [NAMES if dice.random() < 0.5 else (NAMES[1], NAMES[0]) for _ in range(blocks)]


def check(a: Target, b: Target, options: Options) -> None:
    """Raise UsageError where the two cannot be compared so."""
    if a.protocol != b.protocol:
        raise UsageError("--vs compares like with like: give two targets of one scheme")
    if options.pacing["kind"] == "staircase":
        raise UsageError("--vs compares at one rate: give --rate instead of --staircase")
    if a.protocol == "stream" and not {"interval_s", "due_field"} & options.stream.keys():
        raise UsageError(
            "--vs compares how late messages are: say when they are due, by --interval or --due-field"
        )


def measures(target: Target, options: Options) -> list[Measure]:
    """What is compared, the first as the headline."""
    histogram = "lateness" if target.protocol == "stream" else "latency"
    found = [
        Measure(f"{histogram}_{name}", True, _percentile(histogram, f"{name}_ns")) for name in ("p50", "p99")
    ]
    if target.protocol != "stream" and not options.is_open_loop():
        found.insert(0, Measure("rate", False, lambda result: result.achieved_rate_per_s or None))
    return found


def _percentile(histogram: str, field: str) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        spread = result.spreads.get(histogram)
        return getattr(spread, field) or None if spread and spread.count else None

    return value


def compare(runs: Sequence[Run], measured: Sequence[Measure]) -> list[Found]:
    """The ratio of each measure from pairs inside blocks; one in which either target failed drops out."""
    found = []
    for measure in measured:
        values: dict[str, dict[int, float]] = {name: {} for name in NAMES}
        for run in runs:
            value = measure.value(run.result) if run.result.answered() else None
            if value is not None:
                values[run.name][run.block] = value
        ratio = paired_ratio(values["B"], values["A"])
        said = (
            verdict(ratio, smaller_is_better=measure.smaller_is_better) if ratio else Verdict.TOO_FEW_BLOCKS
        )
        found.append(Found(measure, ratio, said))
    return found


def blocks_done(runs: Sequence[Run]) -> int:
    """How many blocks have a run of both."""
    by_name = {name: {run.block for run in runs if run.name == name} for name in NAMES}
    return len(by_name["A"] & by_name["B"])


def sentence(found: Found) -> str:
    """One comparison in words, with its verdict."""
    if found.ratio is None:
        return f"No block has a figure of both for {_title(found.measure)}."
    times = numbers.ratio(found.ratio)
    estimate, _, interval = times.partition(" ")
    if found.measure.name == "rate":
        text = f"B answers {estimate} times as many requests per second as A"
    else:
        text = f"B's {_title(found.measure)} is {estimate} times A's"
    text += f" {interval}" if interval else ""
    word = numbers.VERDICT_WORDS[found.verdict]
    if not word:
        pairs = f"{found.ratio.n} block{'s' * (found.ratio.n != 1)}"
        return f"{text}: no verdict from {pairs}, it takes {LEAST} or more (--blocks)"
    return f"{text}: {word}"


def _title(measure: Measure) -> str:
    histogram, _, percentile = measure.name.rpartition("_")
    return f"{percentile} {histogram}" if histogram else measure.name


def show(
    targets: Mapping[str, Target], runs: Sequence[Run], found: Sequence[Found], how: str, console: Console
) -> None:
    """Print the verdicts, then both targets' figures."""
    styles = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.INDISTINGUISHABLE: "yellow"}
    for index, one in enumerate(found):
        style = f"bold {styles.get(one.verdict, '')}".strip() if index == 0 else styles.get(one.verdict, "")
        console.print(Text(sentence(one), style=style))
    console.print()
    for name, target in targets.items():
        console.print(Text(f"{name} = {one_line(target.text)}"))
    console.print(Text(how))
    console.print()
    terminal.render(_table(runs, [one.measure for one in found]), console)
    terminal.warn(warnings(runs), console)


def _table(runs: Sequence[Run], measured: Sequence[Measure]) -> TableData:
    rows = []
    for name in NAMES:
        mine = [run.result for run in runs if run.name == name]
        row = [Entry(name, "text")]
        for measure in measured:
            values = [value for one in mine if (value := measure.value(one)) is not None]
            row.append(Entry(_figure(measure, median(values)) if values else "–"))
        row += [
            Entry(f"{sum(getattr(one, key) for one in mine):,}")
            for key in ("requests", "messages", "unfinished")
        ]
        errors = sum(sum(one.errors.values()) for one in mine)
        row.append(Entry(f"{errors:,}", "failed" if errors else "number"))
        rows.append(tuple(row))
    columns = ["", *(_title(measure) for measure in measured), "answered", "messages", "unfinished", "errors"]
    kept = [
        i for i, name in enumerate(columns) if name != "messages" or any(run.result.messages for run in runs)
    ]
    return TableData(
        "Medians over blocks",
        tuple(columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in rows),
        narrow=("unfinished", "answered", "messages"),
    )


def _figure(measure: Measure, value: float) -> str:
    return f"{numbers.significant(value)}/s" if measure.name == "rate" else numbers.quantity(value, "ns")


def warnings(runs: Sequence[Run]) -> list[str]:
    """The engine's warnings, each once per target, with the number of runs that had it. A short run is
    meant here, and its warning left out."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        if run.result.outcome == "load-failed":
            found.setdefault((run.name, "load-failed"), []).append(run.result.detail or "the load failed")
        for warned in run.result.warnings:
            if warned.code not in ("short-run", "closed-loop-stalls"):
                found.setdefault((run.name, warned.code), []).append(warned.sentences())
    return [
        f"{name}, in {len(texts)} run{'s' * (len(texts) != 1)}, first so: {texts[0]}"
        for (name, _), texts in found.items()
    ]


def as_comparison(
    targets: Mapping[str, Target],
    options: Options,
    runs: Sequence[Run],
    found: Sequence[Found],
    *,
    blocks: int,
    seed: int,
) -> dict[str, Any]:
    """The document of `--vs --json`. Ratios are B over A."""
    return {
        "format": FORMAT,
        "targets": {name: target.text for name, target in targets.items()},
        "blocks": blocks,
        "blocks_done": blocks_done(runs),
        "seed": seed,
        "duration_s": options.duration_s,
        "comparisons": [
            {
                "metric": one.measure.name,
                "contender": "B",
                "baseline": "A",
                "ratio": one.ratio.estimate if one.ratio else None,
                "low": one.ratio.low if one.ratio else None,
                "high": one.ratio.high if one.ratio else None,
                "n": one.ratio.n if one.ratio else 0,
                "verdict": str(one.verdict),
            }
            for one in found
        ],
        "runs": [
            {"block": run.block, "name": run.name, **as_document(targets[run.name], options, run.result)}
            for run in runs
        ],
        "warnings": warnings(runs),
    }
