"""The JSON of pyperf (`pyperf show`, `stats`, `compare_to`)."""

from __future__ import annotations

import json

from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.render.exports.benchmarks import benchmarks
from ringside.text import one_line

_VERSION = "1.0"
# What pyperf calls our units, and how much of its unit one of ours is.
_UNITS = {"s": ("second", 1.0), "ns": ("second", 1e-9), "B": ("byte", 1.0)}


def render(analysis: RunAnalysis) -> str:
    """A benchmark for each cell and each compared metric that is a time or a size, a run with one value for
    each block. pyperf's own verdicts take the values of two files for independent: pairs are lost. Raises
    UsageError where no metric is a time or a size."""
    entries = []
    for benchmark in benchmarks(analysis):
        if benchmark.metric.unit not in _UNITS:
            continue
        unit, factor = _UNITS[benchmark.metric.unit]
        by_block = benchmark.cell.by_block[benchmark.metric.name]
        # pyperf refuses values that are not positive.
        values = [value * factor for _, value in sorted(by_block.items()) if value > 0]
        if values:
            entries.append(
                {
                    "metadata": {"name": benchmark.name, "unit": unit, "loops": 1},
                    "runs": [{"values": [value]} for value in values],
                }
            )
    if not entries:
        raise UsageError(f"run {analysis.run.id} has no time or size with figures, which is all pyperf knows")
    document = {"version": _VERSION, "metadata": _metadata(analysis), "benchmarks": entries}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _metadata(analysis: RunAnalysis) -> dict[str, str]:
    host = analysis.run.host
    metadata = {
        "cpu_model_name": str(host.get("cpu_model", "")),
        "platform": str(host.get("system", "")),
        "description": one_line(analysis.experiment.title),
    }
    return {key: value for key, value in metadata.items() if value}
