"""Runs as JSON documents (`--json`, format 2)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.families import FamilyStanding, QuestionAnswer
from ringside.analysis.machines import MachineAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import RunDiff
from ringside.analysis.suite import JudgedClaim
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Description, Interval, LookVerdict, Obstacle, Trial, Verdict
from ringside.render.text import command, diagnostics, executions, families
from ringside.render.text.answers import answers
from ringside.render.text.changes import contender_changes
from ringside.store.plans import PlannedContender
from ringside.text import LOG_LINES, last_lines
from ringside.units import verdict_word

# Format 1 had two verdicts for inconclusive (`indistinguishable`, `too-few-blocks`), none for equivalent,
# ranks as numbers, and a drift of the machine without intervals.
FORMAT = 2


def document(analysis: RunAnalysis) -> dict[str, Any]:
    """The document of a run."""
    run, experiment = analysis.run, analysis.experiment
    return {
        "format": FORMAT,
        "run": run.id,
        "experiment": experiment.name,
        "title": experiment.title,
        "workload": analysis.measurement.name,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "seed": run.seed,
        "blocks": analysis.blocks_done,
        "margin": experiment.margin,
        "host": dict(run.host),
        "control": ratio(analysis.control) if analysis.control else None,
        "answers": [sentence.text for sentence in answers(analysis)],
        "contenders": {name: _contender(contender) for name, contender in analysis.contenders.items()},
        "cells": [_cell(analysis, cell) for cell in analysis.cells.values()],
        "comparisons": [
            {"point": comparison.point.as_dict(), **comparison_values(analysis, comparison)}
            for comparison in analysis.shown_comparisons()
        ],
        "ranks": [
            {
                "point": point.as_dict(),
                "metric": analysis.headline.name,
                "ranks": {
                    name: list(ends)
                    for name, ends in analysis.rankings[analysis.headline.name, point].ranks.items()
                },
            }
            for point in analysis.points
        ],
        "slopes": [
            {
                "contender": row.contender,
                "metric": row.slope.name,
                "over": row.slope.over,
                "point": row.fixed.as_dict(),
                "unit": row.slope.unit,
                **interval(row.value),
            }
            for row in analysis.slopes
        ],
        "machines": None if analysis.machines is None else _machines(analysis, analysis.machines),
        "warnings": diagnostics.rows(analysis.diagnostics),
    }


def diff_document(diff: RunDiff) -> dict[str, Any]:
    """The document of two runs. Ratios are the second run over the first."""
    return {
        "format": FORMAT,
        "one": diff.names[0],
        "other": diff.names[1],
        "margin": diff.margin,
        "machine": {name: ratio(value) for name, value in diff.machine.items()},
        "changed": contender_changes(diff),
        "comparisons": [
            {
                "contender": change.cell.contender,
                "point": change.cell.point.as_dict(),
                "metric": change.metric.name,
                **ratio(change.ratio),
                **verdict(change.verdict, change.metric, change.obstacle),
            }
            for change in diff.changes
        ],
        "warnings": diagnostics.rows(diff.diagnostics),
    }


def claims_document(examined: Sequence[JudgedClaim]) -> dict[str, Any]:
    """The answers to the claims of sources. `figure`: what decides, a ratio where it has no unit."""
    return {
        "format": FORMAT,
        "claims": [
            {
                "source": each.source.name,
                "title": each.source.title,
                "date": each.source.date,
                "id": each.claim.id,
                "workload": each.claim.workload,
                "claim": each.claim.text,
                "answer": str(each.finding.answer),
                "sentence": each.finding.sentence,
                "figure": None
                if each.finding.figure is None
                else {"unit": each.finding.unit, **interval(each.finding.figure)},
                "runs": list(each.finding.runs),
                "command": each.command,
            }
            for each in examined
        ],
    }


def interval(value: Interval) -> dict[str, Any]:
    """An estimate with its interval as it stands in every document."""
    return {"median": value.estimate, "low": value.low, "high": value.high, "n": value.n}


def ratio(value: Interval | None) -> dict[str, Any]:
    """A ratio with its interval; nulls and no block where two contenders have none together."""
    if value is None:
        return {"ratio": None, "low": None, "high": None, "n": 0}
    return {"ratio": value.estimate, "low": value.low, "high": value.high, "n": value.n}


def verdict(
    verdict: Verdict,
    metric: Metric,
    obstacle: Obstacle | None = None,
    blocks_needed: int | None = None,
    contradicted: LookVerdict | None = None,
) -> dict[str, Any]:
    """A verdict as it stands in every document: by its name, in the metric's words, what stands in the way of
    one, and what an earlier look had shown that later blocks contradict."""
    return {
        "verdict": str(verdict),
        "word": verdict_word(verdict, metric),
        "obstacle": None if obstacle is None else str(obstacle),
        "blocks_needed": blocks_needed,
        "contradicted": contradicted,
    }


def comparison_values(analysis: RunAnalysis, comparison: Comparison) -> dict[str, Any]:
    """A comparison without its point. `exploratory`: its error rate is not the headline's."""
    metric = analysis.measurement.metric(comparison.metric)
    return {
        "metric": comparison.metric,
        "contender": comparison.contender,
        "baseline": comparison.baseline,
        **ratio(comparison.ratio),
        "p": comparison.p,
        **verdict(
            comparison.verdict, metric, comparison.obstacle, comparison.blocks_needed, comparison.contradicted
        ),
        "overstated": comparison.overstated,
        "stalls": None if comparison.stalls is None else dataclasses.asdict(comparison.stalls),
        "exploratory": metric not in analysis.metrics[: analysis.confirmatory],
    }


def as_json(values: Any) -> str:
    """A document as text."""
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def suite_document(suite: str, analyses: Sequence[RunAnalysis]) -> dict[str, Any]:
    """The documents of a suite's runs in one."""
    return {"format": FORMAT, "suite": suite, "runs": [document(analysis) for analysis in analyses]}


def _machines(analysis: RunAnalysis, of: MachineAnalysis) -> dict[str, Any]:
    """The headline on each of several machines, and by which factor the ratios of two of them differ."""
    unit = analysis.headline.unit
    return {
        "metric": analysis.headline.name,
        "baseline": analysis.experiment.baseline,
        "blocks": dict(of.blocks),
        "cells": [
            {
                "contender": row.cell.contender,
                "point": row.cell.point.as_dict(),
                "figures": {name: {"unit": unit, **interval(value)} for name, value in row.figures.items()},
                "ratios": {name: ratio(value) for name, value in row.ratios.items()},
                "spread": row.spread,
            }
            for row in of.rows
        ],
    }


def _cell(analysis: RunAnalysis, cell: CellAnalysis) -> dict[str, Any]:
    return {
        "contender": cell.cell.contender,
        "point": cell.cell.point.as_dict(),
        "outcomes": {str(outcome): n for outcome, n in cell.outcomes.items()},
        "reason": cell.reason,
        "missing": dict(cell.missing),
        "repeats": analysis.plan.repeats_of(cell.cell),
        "stderr": last_lines(cell.stderr),
        "repeat": command.command_to_repeat(analysis, cell) or None,
        "metrics": {
            name: {"unit": analysis.measurement.metric(name).unit, **interval(value)}
            for name, value in cell.metrics.items()
        },
    }


def _contender(contender: PlannedContender) -> dict[str, Any]:
    values: dict[str, Any] = {
        "title": contender.title,
        "family": contender.family,
        "model": contender.model,
        "language": contender.language,
        "class": contender.kind,
        "queue": contender.queue,
        "scheduler": contender.scheduler,
        "parallel": contender.parallel,
        "idiom": contender.idiom,
        "tuning": list(contender.tuning),
        "unequal": list(contender.unequal),
        "runtime": contender.runtime,
        "runs_on": contender.runs_on,
        "command": list(contender.command),
    }
    if contender.unavailable:
        return values | {
            "version": contender.version,
            "unavailable": contender.unavailable,
            "remedy": contender.remedy,
            "log": last_lines(contender.log, LOG_LINES),
        }
    return values | {
        "version": contender.version,
        "receipt": contender.receipt,
        "executable": contender.executable,
        "origin": contender.origin,
        "released": str(contender.release.day) if contender.release else None,
        "content": contender.content,
    }


def vs_document(analysis: RunAnalysis, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The document of `vs --json`. `facts`: how it was measured. Where commands have parameters, each entry
    is of one point."""
    described = analysis.executions.descriptions
    return {
        "format": FORMAT,
        **facts,
        "blocks_done": analysis.blocks_done,
        "control": ratio(analysis.control) if analysis.control else None,
        "commands": [_command(analysis, cell, described.get(cell)) for cell in analysis.cells],
        "comparisons": _comparisons(analysis),
        "times": [_execution(analysis, trial) for trial in analysis.trials if trial.block > 0],
        "warnings": diagnostics.rows(analysis.diagnostics),
    }


def _command(analysis: RunAnalysis, cell: Cell, description: Description | None) -> dict[str, Any]:
    contender = analysis.contenders[cell.contender]
    ranks = analysis.rankings[analysis.headline.name, cell.point].ranks
    return {
        "name": cell.contender,
        **_parameters(cell.point),
        "command": contender.title,
        "argv": list(contender.command),
        "rank": list(ranks[cell.contender]) if cell.contender in ranks else None,
        "metrics": {
            metric.name: {"unit": metric.unit, **interval(value)}
            for metric in analysis.measurement.metrics
            if (value := analysis.cells[cell].metrics.get(metric.name))
        },
        **executions.spread_values(description),
    }


def _parameters(point: Point) -> dict[str, Any]:
    """The point, for JSON; nothing where there are no parameters."""
    return {"point": point.as_dict()} if point.levels else {}


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
    """Every pair in every compared metric at every point, those without a block in common too."""
    return [
        _comparison(analysis, metric, contender, baseline, point)
        for point in analysis.points
        for metric in analysis.metrics
        for contender, baseline in analysis.pairs
    ]


def _comparison(
    analysis: RunAnalysis, metric: Metric, contender: str, baseline: str, point: Point
) -> dict[str, Any]:
    comparison = analysis.comparison(metric, contender, baseline, point)
    if comparison:
        return {**_parameters(point), **comparison_values(analysis, comparison)}
    return {
        **_parameters(point),
        "metric": metric.name,
        "contender": contender,
        "baseline": baseline,
        **ratio(None),
        "p": 1.0,
        **verdict(Verdict.INCONCLUSIVE, metric, Obstacle.TOO_FEW_BLOCKS),
        "overstated": False,
        "stalls": None,
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
        **_parameters(trial.cell.point),
        **{
            metric.name: by_block.get(metric.name, {}).get(trial.block)
            for metric in analysis.measurement.metrics
        },
        "exit_status": report.exit_status if report else None,
        "signal": report.signal if report else None,
        "stdout_xxh3": report.output.xxh3 if report else None,
    }


def questions_document(answers: Sequence[QuestionAnswer]) -> dict[str, Any]:
    """One JSON document."""
    return {
        "format": 1,
        "questions": [
            {
                "name": answer.question.name,
                "text": answer.question.text,
                "holds": answer.question.holds,
                "limits": answer.question.limits,
                "concerns": list(answer.question.concerns),
                "figures": [
                    {
                        "words": part.figure.words,
                        "experiment": part.figure.experiment,
                        "metric": part.figure.metric,
                        **_measured(part.standing),
                    }
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
                "family": family.name,
                "contenders": [
                    {
                        "contender": name,
                        "median": (value := standing.values[name]).estimate,
                        "low": value.low,
                        "high": value.high,
                        "n": value.n,
                    }
                    for name in family.members
                ],
            }
            for family in standing.families
        ],
        "ahead": [list(pair) for pair in sorted(standing.ahead)],
        "without_figures": list(standing.lacking),
    }
