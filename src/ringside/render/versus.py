"""A bout's result: verdicts in words first, then the table, on a terminal, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from ringside import units as numbers
from ringside.analysis.versus import METRICS, Compared, Result, figures
from ringside.model.results import Interval, Verdict
from ringside.render import markdown, terminal
from ringside.render.documents import interval, ratio, warnings
from ringside.render.table import Entry, TableData
from ringside.stats.interval import LEAST
from ringside.text import one_line
from ringside.workloads.base import WALL_S

FORMAT = 1
_STYLES = {Verdict.FASTER: "bold green", Verdict.SLOWER: "bold red", Verdict.INDISTINGUISHABLE: "bold yellow"}


def sentence(one: Compared) -> str:
    """A comparison of wall times in words, the verdict first."""
    if one.ratio is None:
        return f"{one.name} and {one.baseline} have no block together: nothing can be said"
    if one.verdict is Verdict.FASTER:
        return f"{one.name} is {_times(_inverse(one.ratio))} times as fast as {one.baseline}"
    if one.verdict is Verdict.SLOWER:
        return f"{one.name} takes {_times(one.ratio)} times as long as {one.baseline}"
    text = f"{one.name} takes {_times(one.ratio)} times as long"
    if one.verdict is Verdict.INDISTINGUISHABLE:
        return f"{one.name} and {one.baseline} cannot be told apart: {text}"
    pairs = f"{one.ratio.n} block{'s' * (one.ratio.n != 1)}"
    return f"No verdict on {one.name} and {one.baseline} from {pairs}, it takes {LEAST}: {text}"


def _inverse(ratio: Interval) -> Interval:
    low = None if ratio.high is None else 1 / ratio.high
    high = None if ratio.low is None else 1 / ratio.low
    return Interval(1 / ratio.estimate, low, high, ratio.n)


def _times(ratio: Interval) -> str:
    """`1.070 (1.041–1.102)`: near 1 it is the third digit behind the point that tells."""
    digits = 4 if 0.9 < ratio.estimate < 1.2 else 3
    text = numbers.significant(ratio.estimate, digits)
    if ratio.low is None or ratio.high is None:
        return text
    ends = (numbers.significant(end, 4 if 0.9 < end < 1.2 else 3) for end in (ratio.low, ratio.high))
    return f"{text} ({'–'.join(ends)})"


def show(result: Result, how: str, console: Console) -> None:
    """Print verdicts, table, how it was measured, warnings."""
    for one in _headline(result):
        console.print(Text(sentence(one), style=_STYLES.get(one.verdict, "")))
    console.print()
    for command in result.commands:
        console.print(Text(f"{command.name} = {one_line(command.text, 200)}"))
    console.print(Text(how), style="dim")
    console.print()
    terminal.render(_table(result), console)
    terminal.warn((warned.sentences() for warned in result.warnings), console)


def as_markdown(result: Result, how: str) -> str:
    """Verdicts as a list, the table, what each name stands for."""
    lines = [f"- {markdown.escape(sentence(one))}" for one in _headline(result)]
    lines += ["", markdown.table_markdown(_table(result)), ""]
    lines += [f"- {markdown.escape(one.name)}: {markdown.escape(one.text)}" for one in result.commands]
    lines += ["", markdown.escape(how), ""]
    lines += [f"- Warning: {markdown.escape(warned.sentences())}" for warned in result.warnings]
    return "\n".join(lines).rstrip() + "\n"


def as_document(result: Result, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The document of `--json`. Ratios are each command over the first. `facts`: how it was measured."""
    return {
        "format": FORMAT,
        **facts,
        "blocks_done": result.blocks,
        "commands": [
            {
                "name": command.name,
                "command": command.text,
                "argv": list(command.argv),
                "rank": result.ranks.get(command.name),
                "metrics": {
                    metric.name: {"unit": metric.unit, **interval(found)}
                    for metric in METRICS
                    if (found := result.figures[command.name].get(metric.name))
                },
            }
            for command in result.commands
        ],
        "comparisons": [
            {
                "metric": one.metric.name,
                "contender": one.name,
                "baseline": one.baseline,
                **ratio(one.ratio),
                "p": one.p,
                "verdict": str(one.verdict),
            }
            for one in result.compared
        ],
        "times": [
            {
                "block": one.block,
                "position": one.trial.position,
                "name": one.name,
                **dict.fromkeys(metric.name for metric in METRICS),
                **figures(one.trial),
                "exit_status": one.trial.outcome_line.get("exit_status"),
                "signal": one.trial.outcome_line.get("signal"),
                "stdout_sha256": one.sha256,
            }
            for one in result.times
        ],
        "warnings": warnings(result.warnings),
    }


def _headline(result: Result) -> list[Compared]:
    """The comparisons of wall time, the fastest first."""
    found = [one for one in result.compared if one.metric is WALL_S]
    return sorted(found, key=lambda one: one.ratio.estimate if one.ratio else float("inf"))


def _table(result: Result) -> TableData:
    first = result.commands[0].name
    by_name = {one.name: one for one in _headline(result)}
    names = sorted(
        (command.name for command in result.commands),
        key=lambda name: (
            result.figures[name][WALL_S.name].estimate
            if WALL_S.name in result.figures[name]
            else float("inf")
        ),
    )
    rows = []
    for name in names:
        middles = result.figures[name]
        row = [Entry(name, "text")]
        for metric in METRICS:
            value = middles.get(metric.name)
            if value is None:
                row.append(Entry("–", "quiet"))
            elif metric is WALL_S:
                row.append(Entry(numbers.with_interval(value, metric.unit)))
            else:
                row.append(Entry(numbers.quantity(value.estimate, metric.unit)))
        one = by_name.get(name)
        row.append(
            Entry(_times(one.ratio), numbers.kind(one.verdict))
            if one and one.ratio
            else Entry("1" if name == first else "–", "quiet")
        )
        if result.blocks >= LEAST:
            row.append(Entry(str(result.ranks.get(name, "–"))))
        rows.append(tuple(row))
    columns = ["", *(metric.title for metric in METRICS), f"× {first}"]
    columns += ["rank"] if result.blocks >= LEAST else []
    return TableData(
        "Medians over blocks",
        tuple(columns),
        tuple(rows),
        subtitle="wall time with its 95 % interval; ratios are of wall times, from pairs inside blocks",
        narrow=("System", "User", "Peak memory", "CPU"),
    )
