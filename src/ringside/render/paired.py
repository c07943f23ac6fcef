"""What `vs` and `load --vs` show of commands and of servers: the verdicts as sentences first, then the
figures, as text, Markdown and JSON.

The title of a contender is the command or the target as it was written, its name the letter or word that
stands for it in sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ringside.analysis.load_totals import load_totals
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Obstacle, Trial, Verdict
from ringside.render import diagnostics, markdown, terminal
from ringside.render.documents import FORMAT, comparison_values, interval, ratio, verdict
from ringside.render.sentences import Sentence, pair_sentence
from ringside.render.table import TableCell, TableData
from ringside.render.tables.points import point_table
from ringside.text import one_line

_MAX_TEXT = 200


def show(analysis: RunAnalysis, how: str, console: Console) -> None:
    """Print verdicts, what each name stands for, `how` it was measured, figures, diagnostics."""
    for sentence in verdicts(analysis):
        terminal.say(sentence, console)
    console.print()
    for name, contender in analysis.contenders.items():
        console.print(Text(f"{one_line(name)} = {one_line(contender.title, _MAX_TEXT)}"))
    console.print(Text(how), style="dim")
    console.print()
    terminal.render(table(analysis), console)
    terminal.diagnose(analysis.diagnostics, console)


def as_markdown(analysis: RunAnalysis, how: str) -> str:
    """Verdicts as a list, the figures, what each name stands for."""
    lines = [f"- {markdown.escape(sentence.text)}" for sentence in verdicts(analysis)]
    lines += ["", markdown.table_markdown(table(analysis)), ""]
    lines += [
        f"- {markdown.escape(name)}: {markdown.escape(contender.title)}"
        for name, contender in analysis.contenders.items()
    ]
    lines += ["", markdown.escape(how), ""]
    lines += [f"- Warning: {markdown.escape(diagnostics.sentences(each))}" for each in analysis.diagnostics]
    return "\n".join(lines).rstrip() + "\n"


def verdicts(analysis: RunAnalysis) -> list[Sentence]:
    """Of servers a sentence for each compared metric; of commands the headline of each, the best first."""
    point = _point(analysis)
    order = analysis.rankings[analysis.headline.name, point].order
    return [
        pair_sentence(analysis, metric, *pair, point)
        for metric in (analysis.metrics if _is_load(analysis) else (analysis.headline,))
        for pair in sorted(analysis.pairs, key=lambda pair: order.index(pair[0]))
    ]


def table(analysis: RunAnalysis) -> TableData:
    """The medians of all contenders, the best first; of servers with what their loads counted."""
    figures = point_table(analysis, _point(analysis))
    noun = analysis.headline.noun
    figures = dataclasses.replace(
        figures,
        title="Medians over blocks",
        subtitle=f"{noun} with its 95 % interval; ratios are of the {noun}, from pairs inside blocks",
        columns=("", *figures.columns[1:]),
    )
    figures = _with_counts(analysis, figures)
    # Sentences have the verdicts already.
    extra = [column for column in reversed(figures.columns[3:]) if column not in ("verdict", "rank")]
    return dataclasses.replace(figures, narrow=("verdict", *extra, "rank"))


def vs_document(analysis: RunAnalysis, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The document of `vs --json`. `facts`: how it was measured."""
    ranks = analysis.rankings[analysis.headline.name, _point(analysis)].ranks
    return {
        "format": FORMAT,
        **facts,
        "blocks_done": analysis.blocks_done,
        "commands": [
            {
                "name": name,
                "command": contender.title,
                "argv": list(contender.command),
                "rank": list(ranks[name]) if name in ranks else None,
                "metrics": {
                    metric.name: {"unit": metric.unit, **interval(value)}
                    for metric in analysis.measurement.metrics
                    if (value := analysis.cell(name, _point(analysis)).metrics.get(metric.name))
                },
            }
            for name, contender in analysis.contenders.items()
        ],
        "comparisons": _comparisons(analysis),
        "times": [_execution(analysis, trial) for trial in analysis.trials if trial.block > 0],
        "warnings": diagnostics.rows(analysis.diagnostics),
    }


def load_document(
    analysis: RunAnalysis, facts: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The document of `load --vs --json`. `facts`: how it was measured; `runs`: block, name and the document
    of each load."""
    return {
        "format": FORMAT,
        "targets": {name: contender.title for name, contender in analysis.contenders.items()},
        **facts,
        "blocks_done": analysis.blocks_done,
        "comparisons": [
            {key: value for key, value in row.items() if key != "p"} for row in _comparisons(analysis)
        ],
        "runs": [dict(run) for run in runs],
        "warnings": [diagnostics.sentences(each) for each in analysis.diagnostics],
    }


def _comparisons(analysis: RunAnalysis) -> list[dict[str, Any]]:
    """Every pair in every compared metric, those without a block in common too."""
    return [
        _comparison(analysis, metric, contender, baseline)
        for metric in analysis.metrics
        for contender, baseline in analysis.pairs
    ]


def _comparison(analysis: RunAnalysis, metric: Metric, contender: str, baseline: str) -> dict[str, Any]:
    comparison = analysis.comparison(metric, contender, baseline, _point(analysis))
    if comparison:
        return comparison_values(analysis, comparison)
    return {
        "metric": metric.name,
        "contender": contender,
        "baseline": baseline,
        **ratio(None),
        "p": 1.0,
        **verdict(Verdict.INCONCLUSIVE, metric, Obstacle.TOO_FEW_BLOCKS),
        "exploratory": metric not in analysis.metrics[: analysis.confirmatory],
    }


def _execution(analysis: RunAnalysis, trial: Trial) -> dict[str, Any]:
    """One execution of a command; null for what was not observed."""
    by_block = analysis.cells[trial.cell].by_block
    report = trial.report
    return {
        "block": trial.block,
        "position": trial.position,
        "name": trial.cell.contender,
        **{
            metric.name: by_block.get(metric.name, {}).get(trial.block)
            for metric in analysis.measurement.metrics
        },
        "exit_status": report.exit_status if report else None,
        "signal": report.signal if report else None,
        "stdout_sha256": report.output.sha256 if report else None,
    }


def _with_counts(analysis: RunAnalysis, figures: TableData) -> TableData:
    """The table with columns for what the loads counted; as it is where there was no load."""
    if not _is_load(analysis):
        return figures
    totals = load_totals(analysis.trials)
    counts = ["answered", "messages", "unfinished", "errors"]
    if not any(each.messages for each in totals.values()):
        counts.remove("messages")
    rows = []
    for row in figures.rows:
        numbers = [getattr(totals[row[0].text], count) for count in counts]
        kinds = [
            "failed" if count == "errors" and n else "number"
            for count, n in zip(counts, numbers, strict=True)
        ]
        rows.append((*row, *(TableCell(f"{n:,}", kind) for n, kind in zip(numbers, kinds, strict=True))))
    return dataclasses.replace(figures, columns=(*figures.columns, *counts), rows=tuple(rows))


def _is_load(analysis: RunAnalysis) -> bool:
    """Whether servers were measured, not commands."""
    return any(trial.loads for trial in analysis.trials)


def _point(analysis: RunAnalysis) -> Point:
    """Commands and targets are measured at one point."""
    (point,) = analysis.points
    return point
