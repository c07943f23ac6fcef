"""Metrics as rows of tables, in a file `metrics.md` beside the module that declares them:

| name | unit | title | better | phrase | no floor | explanation |

`better`: less or more. `no floor`: why the floor is none of this metric, which can begin with the number of
cores from which on that is so. A row with a name alone is a metric that workloads share, of the file here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ringside.model.design import Metric, NoFloor, Unit

_COLUMNS = 7
_FROM_CORES = re.compile(r"(?:from ([0-9]+) cores: )?(.+)")


def metric_tables(module: str, shared: Mapping[str, Metric] | None = None) -> tuple[tuple[Metric, ...], ...]:
    """The tables beside a module. Raises ValueError for a row that cannot be read."""
    known = SHARED if shared is None else shared
    text = Path(module).with_name("metrics.md").read_text(encoding="utf-8")
    tables = [table.splitlines() for table in text.split("\n\n") if table.startswith("|")]
    return tuple(tuple(_metric(line, known) for line in lines[2:]) for lines in tables)


def _metric(line: str, shared: Mapping[str, Metric]) -> Metric:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != _COLUMNS:
        raise ValueError(f"a row of metrics has {_COLUMNS} cells, not {len(cells)}: {line}")
    name, unit, title, better, phrase, floor, explanation = cells
    if not any(cells[1:]):
        return shared[name]
    if better not in ("less", "more"):
        raise ValueError(f"the metric {name} is better with less or more, not with {better!r}")
    reason = _FROM_CORES.fullmatch(floor)
    no_floor = NoFloor(reason[2], int(reason[1] or 1)) if reason else None
    return Metric(name, cast("Unit", unit), title, explanation, better == "less", phrase, no_floor)


SHARED = {metric.name: metric for table in metric_tables(__file__, {}) for metric in table}
