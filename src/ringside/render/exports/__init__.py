"""A run in the formats of other tools, a module each."""

from __future__ import annotations

from collections.abc import Callable

from ringside.analysis.run import RunAnalysis
from ringside.render.exports import bencher, github_action, pyperf

# Formats that are text, by the names that users give. Parquet is written to a file (`parquet.write`).
TEXT_FORMATS: dict[str, Callable[[RunAnalysis], str]] = {
    "pyperf": pyperf.render,
    "bencher": bencher.render,
    "github-action-benchmark": github_action.render,
}
