"""What can be measured: the workloads, each a package here or in another distribution, and the measurements
of `vs` and `load --vs`, which have no contract."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from ringside.workloads.base import Measurement, Workload
from ringside.workloads.command import COMMAND
from ringside.workloads.registry import Registry
from ringside.workloads.target import TARGET

_MEASUREMENTS: dict[str, Measurement] = {measurement.name: measurement for measurement in (COMMAND, TARGET)}


def _own() -> Iterator[Workload]:
    """Those of the packages here: each has its workload under its name in capitals."""
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg and module.name not in _MEASUREMENTS:
            package = importlib.import_module(f"{__name__}.{module.name}")
            workload: Workload = getattr(package, module.name.upper())
            yield workload


# By their names. Those of other distributions are loaded when they are asked for.
WORKLOADS = Registry(tuple(_own()), reserved=_MEASUREMENTS)


def workload(name: str) -> Workload:
    """The workload of that name. Raises UsageError for an unknown one, or one that cannot be loaded."""
    return WORKLOADS.find(name)


def measurement(name: str) -> Measurement:
    """The workload of that name, or `command` (of `vs`) or `target` (of `load --vs`). Raises UsageError as
    `workload` does."""
    return _MEASUREMENTS.get(name) or workload(name)
