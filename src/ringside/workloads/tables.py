"""The tables beside a workload's module.

`workload.toml` has attributes of its class by their names. A factor or a capability without keys is one that
workloads share. `[series]` has places, such as rates; each has its own metric.

`metrics.md` has its metrics:

| name | unit | title | better | phrase | no floor | explanation |

`better`: less or more. `no floor`: why the floor is none of this metric, which can begin with the number of
cores from which on that is so. A row with a name alone is a metric that workloads share, of the file here. A
row with `{rates}` in its name stands for a metric at each place of the series `rates`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast, get_type_hints

from msgspec import convert

from ringside.files import tables_beside
from ringside.model.design import Metric, NoFloor, Unit
from ringside.workloads.base import CORES, REPEATED, REPEATS, Capability, Factor, Workload

W = TypeVar("W", bound=type[Workload])
_COLUMNS = 7
_FROM_CORES = re.compile(r"(?:from ([0-9]+) cores: )?(.+)")
Series = Mapping[str, tuple[int, ...]]
_SHARED_FACTORS = {factor.name: factor for factor in (CORES, REPEATS)}


def declared(module: str) -> Callable[[W], W]:
    """Give a class the declarations in the tables beside its module. Raises ValueError, KeyError."""

    def declare(cls: W) -> W:
        types = get_type_hints(cls)
        tables = tables_beside(module, "workload.toml")
        cls.series = convert(tables.pop("series", {}), types["series"])
        cls.metrics = metric_table(Path(module).with_name("metrics.md"), cls.series)
        cls.factors = tuple(
            _SHARED_FACTORS[name] if not row else convert({"name": name, **row}, Factor)
            for name, row in tables.pop("factors").items()
        )
        cls.capabilities = tuple(
            REPEATED if not row else convert({"name": name, **row}, Capability)
            for name, row in tables.pop("capabilities", {}).items()
        )
        for row in tables.get("curves", ()):
            if over := row.pop("over", ""):
                # In units of this many places.
                metric, per = row.pop("metric"), row.pop("per", 1)
                named = {place / per: metric.format_map({over: place}) for place in cls.series[over]}
                row["steps"] = [(x, f"{x:,.6g}", name) for x, name in named.items()]
        for name, value in tables.items():
            setattr(cls, name, convert(value, types[name]))
        return cls

    return declare


def metric_table(path: Path, series: Series | None = None) -> tuple[Metric, ...]:
    """The metrics of a file. Raises ValueError for a row that cannot be read."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if re.match(r"\| (?!name )", line)]
    return tuple(metric for line in rows for metric in _metrics(line, series or {}))


def _metrics(line: str, series: Series) -> Iterator[Metric]:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != _COLUMNS:
        raise ValueError(f"a row of metrics has {_COLUMNS} cells, not {len(cells)}: {line}")
    name, unit, _, better, _, floor, _ = cells
    if not any(cells[1:]):
        yield SHARED[name]
        return
    if better not in ("less", "more"):
        raise ValueError(f"the metric {name} is better with less or more, not with {better!r}")
    reason = _FROM_CORES.fullmatch(floor)
    no_floor = NoFloor(reason[2], int(reason[1] or 1)) if reason else None
    over = next((each for each in series if f"{{{each}}}" in name), "")
    for place in series.get(over, (0,)):
        name, _, title, _, phrase, _, explanation = (cell.format_map({over: place}) for cell in cells)
        yield Metric(name, cast("Unit", unit), title, explanation, better == "less", phrase, no_floor)


SHARED: dict[str, Metric] = {}
SHARED.update((metric.name, metric) for metric in metric_table(Path(__file__).with_name("metrics.md")))
