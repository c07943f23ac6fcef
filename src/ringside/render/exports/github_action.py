"""github-action-benchmark's JSON."""

from __future__ import annotations

import json
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.render.exports.benchmarks import benchmarks


def render(analysis: RunAnalysis, *, smaller_is_better: bool = True) -> str:
    """A list for its tool `customSmallerIsBetter` (or `customBiggerIsBetter`): compared metrics of that
    direction."""
    entries = []
    for benchmark in benchmarks(analysis):
        metric, value = benchmark.metric, benchmark.value
        if metric.smaller_is_better != smaller_is_better:
            continue
        entry: dict[str, Any] = {
            "name": benchmark.name,
            "unit": metric.unit or "1",
            "value": value.estimate,
        }
        if value.low is not None and value.high is not None:
            entry["range"] = "–".join(units.significant(end) for end in (value.low, value.high))
        entry["extra"] = f"{metric.explanation}; {units.count(value.n, 'block')}, run {analysis.run.id}"
        entries.append(entry)
    return json.dumps(entries, indent=1, allow_nan=False) + "\n"
