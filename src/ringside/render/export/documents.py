"""Runs as JSON documents (`--json`, format 2)."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.distributions import MachineAnalysis
from ringside.analysis.families import FamilyStanding, QuestionAnswer
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import CellChange, RunDiff
from ringside.analysis.suite import JudgedClaim
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Interval, Obstacle, Trial, Verdict
from ringside.probe.protocol import TrialOutcome
from ringside.render.text import command, diagnostics, families, paired
from ringside.render.text.answers import answers
from ringside.render.text.changes import contender_changes
from ringside.render.text.words import verdict_word
from ringside.store.plans import PlannedContender
from ringside.text import LOG_LINES, last_lines
from ringside.workloads.command import COUNTERS
from ringside.workloads.process import WALL_S

FORMAT = 2


def as_json(values: Any) -> str:
    """A document as text."""
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def document(analysis: RunAnalysis) -> dict[str, Any]:
    """The document of a run."""
    run, experiment, headline = analysis.run, analysis.experiment, analysis.headline.name
    ranks = ((point, dict(analysis.rankings[headline, point].ranks)) for point in analysis.points)
    return {
        "format": FORMAT,
        "run": run.id,
        "experiment": experiment.name,
        "title": experiment.title,
        "workload": analysis.measurement.name,
        **fields_of(run, "started_at", "ended_at", "seed"),
        "blocks": analysis.blocks_done,
        "margin": experiment.margin,
        "host": dict(run.host),
        "answers": [sentence.text for sentence in answers(analysis)],
        "contenders": {name: _contender(contender) for name, contender in analysis.contenders.items()},
        "cells": [_cell(analysis, cell) for cell in analysis.cells.values()],
        "comparisons": [
            {"point": comparison.point.as_dict(), **_comparison(analysis, comparison)}
            for comparison in analysis.shown_comparisons()
        ],
        "ranks": [{"point": point.as_dict(), "metric": headline, "ranks": each} for point, each in ranks],
        "slopes": [
            {
                "contender": name,
                "metric": growth.law.name,
                "over": growth.law.over,
                "point": fixed.as_dict(),
                **_figure(value, growth.law.unit),
            }
            for growth in analysis.slopes
            for (name, fixed), value in growth.values.items()
        ],
        "machines": _machines(analysis, analysis.machines) if analysis.machines else None,
        "warnings": diagnostics.rows(analysis.diagnostics),
    }


def diff_document(diff: RunDiff) -> dict[str, Any]:
    """The document of two runs. Ratios are the second run over the first."""
    return {
        "format": FORMAT,
        "one": diff.names[0],
        "other": diff.names[1],
        "margin": diff.margin,
        "machine": {name: _interval(value, "ratio") for name, value in diff.machine.items()},
        "changed": contender_changes(diff),
        "comparisons": [
            {
                **_place(change.cell),
                "metric": change.metric.name,
                **_interval(change.ratio, "ratio"),
                **_verdict(change, change.metric),
            }
            for change in diff.changes
        ],
        "warnings": diagnostics.rows(diff.diagnostics),
    }


def claims_document(examined: Iterable[JudgedClaim]) -> dict[str, Any]:
    """The answers to the claims of sources. `figure`: what decides, a ratio where it has no unit."""
    return {
        "format": FORMAT,
        "claims": [
            {
                "source": each.source.name,
                **fields_of(each.source, "title", "date"),
                **fields_of(each.claim, "id", "workload"),
                "claim": each.claim.text,
                "answer": str(each.finding.answer),
                "sentence": each.finding.sentence,
                "figure": _figure(each.finding.figure, each.finding.unit) if each.finding.figure else None,
                "runs": list(each.finding.runs),
                "command": each.command,
            }
            for each in examined
        ],
    }


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """These attributes of a value, by their names."""
    values = {name: getattr(value, name) for name in names}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}


def _place(cell: Cell) -> dict[str, Any]:
    return {"contender": cell.contender, "point": cell.point.as_dict()}


def _interval(value: Interval, name: str = "median") -> dict[str, Any]:
    return {name: value.estimate, "low": value.low, "high": value.high, "n": value.n}


def _figure(value: Interval, unit: str) -> dict[str, Any]:
    return {"unit": unit, **_interval(value)}


def _verdict(pair: Comparison | CellChange, metric: Metric) -> dict[str, Any]:
    """A verdict in every document: its name and word, its obstacle, what an earlier look had shown."""
    return {
        "verdict": str(pair.verdict),
        "word": verdict_word(pair.verdict, metric),
        "obstacle": str(pair.obstacle) if pair.obstacle else None,
        # A change of a cell has neither.
        "blocks_needed": getattr(pair, "blocks_needed", None),
        "contradicted": getattr(pair, "contradicted", None),
    }


def _comparison(analysis: RunAnalysis, comparison: Comparison) -> dict[str, Any]:
    """A comparison without its point. `exploratory`: its error rate is not the headline's."""
    metric = analysis.measurement.metric(comparison.metric)
    return {
        **fields_of(comparison, "metric", "contender", "baseline"),
        **_interval(comparison.ratio, "ratio"),
        "p": comparison.p,
        **_verdict(comparison, metric),
        "overstated": comparison.overstated,
        "modes": {name: list(modes) for name, modes in comparison.modes.items()},
        "exploratory": metric not in analysis.examination.confirmatory,
    }


def _machines(analysis: RunAnalysis, machines: MachineAnalysis) -> dict[str, Any]:
    """The headline on each of several machines, and the factor between the ratios of two machines."""
    unit = analysis.headline.unit
    return {
        "metric": analysis.headline.name,
        "baseline": analysis.experiment.baseline,
        "blocks": dict(machines.blocks),
        "cells": [
            {
                **_place(row.cell),
                "figures": {name: _figure(value, unit) for name, value in row.figures.items()},
                "ratios": {name: _interval(value, "ratio") for name, value in row.ratios.items()},
                "spread": row.spread,
            }
            for row in machines.rows
        ],
    }


def _cell(analysis: RunAnalysis, cell: CellAnalysis) -> dict[str, Any]:
    metric = analysis.measurement.metric
    return {
        **_place(cell.cell),
        "outcomes": {str(outcome): n for outcome, n in cell.outcomes.items()},
        "reason": cell.reason,
        "missing": dict(cell.missing),
        "repeats": analysis.plan.repeats_of(cell.cell),
        "warming_up": analysis.is_warming_up(analysis.headline.name, cell.cell),
        "stderr": last_lines(cell.stderr),
        "repeat": command.command_to_repeat(analysis, cell) or None,
        "metrics": {name: _figure(value, metric(name).unit) for name, value in cell.metrics.items()},
    }


# The keys of a contender in a document, which are names of fields in a plan: for each contender, and for one
# that could or could not be measured.
_CONTENDER = (
    *("title", "family", "model", "language", "kind", "queue", "scheduler", "parallel", "idiom", "tuning"),
    *("unequal", "sharing", "runtime", "runs_on", "command", "version"),
)
_AVAILABLE = ("receipt", "executable", "origin", "released", "content")
_UNAVAILABLE = ("unavailable", "remedy", "log")


def _contender(contender: PlannedContender) -> dict[str, Any]:
    values = fields_of(contender, *_CONTENDER, *(_UNAVAILABLE if contender.unavailable else _AVAILABLE))
    if contender.unavailable:
        values["log"] = last_lines(contender.log, LOG_LINES)
    else:
        values["released"] = str(contender.released) if contender.released else None
    return {"class" if name == "kind" else name: value for name, value in values.items()}


def vs_document(analysis: RunAnalysis, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The document of `vs --json`. `facts`: how it was measured. With parameters, entries have a point."""
    executions = ((each, each.report) for each in analysis.trials if each.block > 0 and each.report)
    return {
        "format": FORMAT,
        **facts,
        "blocks_done": analysis.blocks_done,
        "commands": [_command(analysis, cell) for cell in analysis.cells],
        "comparisons": _comparisons(analysis),
        "growth": [
            {"parameter": each.law.over, "name": name, **_parameters(fixed), **_interval(power, "exponent")}
            for each in analysis.growth
            for (name, fixed), power in each.values.items()
        ],
        "times": [_execution(analysis, *each) for each in executions],
        "warnings": diagnostics.rows(analysis.diagnostics),
    }


def load_document(
    analysis: RunAnalysis, facts: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The document of `load --vs --json`. `facts`: how it was measured; `runs`: a document per load."""
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


# A level that is one word, for a shell too.
_PLAIN = re.compile(r"[\w./:=@%+,-]+")


def _command(analysis: RunAnalysis, cell: Cell) -> dict[str, Any]:
    contender = analysis.contenders[cell.contender]
    ranks = analysis.rankings[analysis.headline.name, cell.point].ranks
    is_plain = all(_PLAIN.fullmatch(str(level)) for _, level in cell.point.levels)
    values = {
        "name": cell.contender,
        **_parameters(cell.point),
        "command": contender.title,
        # Other levels may become several words, or need a shell: then words stay as they were typed.
        "argv": [cell.point.filled_in(word) if is_plain else word for word in contender.command],
        "rank": list(ranks[cell.contender]) if cell.contender in ranks else None,
        "metrics": {
            metric.name: _figure(value, metric.unit)
            for metric in analysis.measurement.metrics
            if (value := analysis.cells[cell].metrics.get(metric.name))
        },
    }
    if cell in analysis.descriptions and (description := analysis.description(cell, WALL_S.name)):
        values |= {"mean_s": description.mean, "stddev_s": description.deviation}
        values |= {"min_s": description.least, "max_s": description.most}
        values["outliers"] = len(description.outliers)
    return values


def _parameters(point: Point) -> dict[str, Any]:
    """The point, for JSON; nothing if there are no parameters."""
    return {"point": point.as_dict()} if point.levels else {}


def _comparisons(analysis: RunAnalysis) -> list[dict[str, Any]]:
    """Every pair in every compared metric at every point; one without a block in common has no ratio. Of a
    command alone, each point over the first."""
    rows, no_ratio = [], Interval(0.0, None, None, 0)
    for point, metric, pair in itertools.product(analysis.points, analysis.metrics, analysis.pairs):
        comparison = analysis.comparison(metric, *pair, point)
        place = (point, metric.name, *pair)
        unknown = Comparison(*place, no_ratio, Verdict.INCONCLUSIVE, 1.0, Obstacle.TOO_FEW_BLOCKS)
        row = _parameters(point) | _comparison(analysis, comparison or unknown)
        rows.append(row if comparison else row | {"ratio": None})
    # By intervals, without a test.
    alone = paired.over_first(analysis).values()
    return rows + [_parameters(each.point) | _comparison(analysis, each) | {"p": None} for each in alone]


def _execution(analysis: RunAnalysis, trial: Trial, report: TrialOutcome) -> dict[str, Any]:
    """One execution of a command; null for a figure that was not observed."""
    by_block = analysis.cells[trial.cell].by_block
    metrics = (each.name for each in analysis.measurement.metrics)
    names = [name for name in metrics if name in by_block or name not in COUNTERS]
    return {
        **fields_of(trial, "block", "position"),
        "name": trial.cell.contender,
        **_parameters(trial.cell.point),
        **{name: by_block.get(name, {}).get(trial.block) for name in names},
        **fields_of(report, "exit_status", "signal"),
        "stdout_xxh3": report.output.xxh3,
    }


def questions_document(answers: Iterable[QuestionAnswer]) -> dict[str, Any]:
    """The answers to questions, family by family."""
    return {
        "format": 1,
        "questions": [
            {
                **fields_of(answer.question, "name", "text", "holds", "limits", "concerns"),
                "figures": [
                    fields_of(part.figure, "words", "experiment", "metric") | _measured(part.standing)
                    for part in answer.parts
                ],
            }
            for answer in answers
        ],
    }


def _measured(standing: FamilyStanding | None) -> dict[str, Any]:
    if standing is None:
        return {"run": None, "point": None, "answer": [], "families": []}
    return {
        "run": standing.analysis.run.id,
        "point": standing.point.as_dict(),
        "answer": [sentence.text for sentence in families.sentences(standing)],
        "unit": standing.unit,
        "families": [
            {
                "family": family,
                "contenders": [{"contender": name, **_interval(standing.values[name])} for name in members],
            }
            for family, members in standing.families.items()
        ],
        "ahead": [list(pair) for pair in sorted(standing.ahead)],
        "without_figures": list(standing.lacking),
    }
