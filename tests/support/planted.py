"""Runs whose figures are planted, for tests of what is said of them."""

from collections.abc import Mapping, Sequence

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Level, Point
from ringside.workloads import WORKLOADS
from ringside.workloads.base import Measurement, Workload
from tests.support import points
from tests.support.analyses import NOISE, Exact, analysis

Levels = Mapping[str, Level]
# Contender, levels, metric, value; with noise, or the same in every block.
Row = tuple[str, Levels, str, float]
BLOCKS = (*NOISE, 1.03)


class Planted(Exact):
    """Figures of a workload, put into trials as they are."""

    def __init__(self, workload: Workload) -> None:
        self.name = workload.name
        self.metrics = workload.metrics
        self.compared = workload.compared


def run_of(
    workload: str,
    experiment: str,
    noisy: Sequence[Row],
    exact: Sequence[Row],
    blocks: int = len(BLOCKS),
    source: str | None = None,
) -> RunAnalysis:
    """A run with these figures, those of `noisy` spread by some per cent over blocks. `source`: whose
    experiment it is."""
    measurement: Measurement = Planted(WORKLOADS[workload])
    values: dict[tuple[str, Point], dict[str, Sequence[float]]] = {}
    for rows, noise in ((noisy, BLOCKS), (exact, (1.0,) * len(BLOCKS))):
        for name, levels, metric, value in rows:
            cell = name, points.point(WORKLOADS[workload], **levels)
            values.setdefault(cell, {})[metric] = [value * each for each in noise[:blocks]]
    # The baseline of the values' first contender; every contender at every point.
    return analysis(values, measurement=measurement, name=experiment, published=source)
