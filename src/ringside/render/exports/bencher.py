"""Bencher Metric Format."""

from __future__ import annotations

import json

from ringside.analysis.run import RunAnalysis
from ringside.render.exports.benchmarks import benchmarks
from ringside.text import one_line

_MAX_NAME = 1024
_NS_PER_S = 1e9


def render(analysis: RunAnalysis) -> str:
    """Benchmarks by name, measures with value and 95 % interval. Times are in nanoseconds, as Bencher's own
    measure `latency` is."""
    document: dict[str, dict[str, dict[str, float]]] = {}
    for benchmark in benchmarks(analysis):
        value = benchmark.value
        factor = _NS_PER_S if benchmark.metric.unit == "s" else 1.0
        measure = {"value": value.estimate * factor}
        if value.low is not None and value.high is not None:
            measure |= {"lower_value": value.low * factor, "upper_value": value.high * factor}
        cell = benchmark.cell.cell
        name = one_line(f"{cell.contender} {cell.point}".strip(), _MAX_NAME)
        document.setdefault(name, {})[benchmark.metric.name.replace("_", "-")] = measure
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
