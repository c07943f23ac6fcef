"""A run as one JSON document (`--json`, format 1) and as CSV, a row for each metric of each cell."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ringside.analysis.summary import Summary
from ringside.model.results import Interval, Warned

FORMAT = 1


def document(summary: Summary) -> dict[str, Any]:
    """The document of the command line's `--json`."""
    units = {metric.name: metric.unit for metric in summary.workload.metrics}
    return {
        "format": FORMAT,
        "run": summary.run.id,
        "experiment": summary.experiment.name,
        "title": summary.experiment.title,
        "workload": summary.workload.name,
        "started_at": summary.run.started_at,
        "ended_at": summary.run.ended_at,
        "seed": summary.run.seed,
        "blocks": summary.blocks_done,
        "host": dict(summary.run.host),
        "contenders": {
            name: {key: value for key, value in described.items() if key not in ("files", "log")}
            for name, described in summary.contenders.items()
        },
        "cells": [
            {
                "contender": cell.contender,
                "point": cell.point.as_dict(),
                "outcomes": {str(outcome): n for outcome, n in found.outcomes.items()},
                "reason": found.reason,
                "metrics": {
                    name: {"unit": units[name], **interval(value)} for name, value in found.metrics.items()
                },
            }
            for cell, found in summary.cells.items()
        ],
        "comparisons": [
            {
                "point": one.point.as_dict(),
                "metric": one.metric,
                "contender": one.contender,
                "baseline": one.baseline,
                **ratio(one.ratio),
                "p": one.p,
                "verdict": str(one.verdict),
            }
            for one in summary.comparisons()
        ],
        "slopes": [
            {
                "contender": one.contender,
                "metric": one.slope.name,
                "over": one.slope.over,
                "point": one.fixed.as_dict(),
                "unit": one.slope.unit,
                **interval(one.value),
            }
            for one in summary.slopes
        ],
        "warnings": warnings(summary.warnings),
    }


def interval(value: Interval) -> dict[str, Any]:
    """A figure's estimate and interval as they stand in every document."""
    return {"median": value.estimate, "low": value.low, "high": value.high, "n": value.n}


def ratio(value: Interval | None) -> dict[str, Any]:
    """A ratio's; nulls and no block where two have none together."""
    if value is None:
        return {"ratio": None, "low": None, "high": None, "n": 0}
    return {"ratio": value.estimate, "low": value.low, "high": value.high, "n": value.n}


def warnings(found: Iterable[Warned]) -> list[dict[str, str]]:
    """Warnings with their codes."""
    return [{"code": one.code, "text": one.text, "remedy": one.remedy} for one in found]


def as_json(summary: Summary) -> str:
    return json.dumps(document(summary), indent=2, allow_nan=False) + "\n"


def as_suite_json(suite: str, summaries: Sequence[Summary]) -> str:
    """The documents of a suite's runs in one."""
    found = {"format": FORMAT, "suite": suite, "runs": [document(one) for one in summaries]}
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def as_csv(summary: Summary) -> str:
    """Columns: contender, the factors, metric, unit, median, low, high, n, trials, ok, reason. A cell
    without figures is a row without a metric."""
    factors = [name for name, _ in summary.points[0].levels]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["contender", *factors, "metric", "unit", "median", "low", "high", "n", "trials", "ok", "reason"]
    )
    for cell in document(summary)["cells"]:
        start = [cell["contender"], *(cell["point"][factor] for factor in factors)]
        end = [sum(cell["outcomes"].values()), cell["outcomes"].get("ok", 0), _harmless(cell["reason"])]
        for name, value in cell["metrics"].items():
            figures = [value["unit"], value["median"], value["low"], value["high"], value["n"]]
            writer.writerow([*start, name, *figures, *end])
        if not cell["metrics"]:
            writer.writerow([*start, "", "", "", "", "", 0, *end])
    return out.getvalue()


def _harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
