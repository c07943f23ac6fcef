"""The workloads, from packages here or elsewhere, and the measurements of `vs` and `load --vs`."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from ringside.errors import UsageError
from ringside.model.design import Metric, grouped
from ringside.text import one_line
from ringside.workloads.base import Measurement, Workload
from ringside.workloads.command import COMMAND, CommandTimes
from ringside.workloads.target import TARGET

GROUP = "ringside.workloads"
_REQUIRED = ("name", "title", "factors", "metrics", "compared")


def declared() -> Iterable[EntryPoint]:
    """The entry points of all distributions: a workload's name, and a Workload or a subclass of it."""
    return entry_points(group=GROUP)


class Registry(Mapping[str, Workload]):
    """Workloads by name, ringside's own first. A distribution's is imported when it is used, and listed
    unless it is broken. `reserved`: names that no workload can have."""

    def __init__(
        self,
        own: Sequence[Workload],
        reserved: Collection[str] = (),
        declared: Callable[[], Iterable[EntryPoint]] = declared,
    ) -> None:
        self._own = {workload.name: workload for workload in own}
        self._reserved, self._declared = reserved, declared
        self._loaded: dict[str, Workload | str] = {}

    def find(self, name: str) -> Workload:
        """The workload of that name. Raises UsageError for an unknown or unusable one."""
        if name in self._own:
            return self._own[name]
        if name not in self._foreign:
            unusable = (f"{other} (cannot be used)" for other in self._foreign if other not in self)
            known = ", ".join([*self, *unusable])
            raise UsageError(f"there is no workload `{name}`; known: {known}")
        result = self._loaded[name] = self._loaded.get(name) or self._load(name)
        if isinstance(result, str):
            raise UsageError(f"the workload `{name}` cannot be used: {result}")
        return result

    def __getitem__(self, name: str) -> Workload:
        try:
            return self.find(name)
        except UsageError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._foreign if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _foreign(self) -> Mapping[str, list[EntryPoint]]:
        """Entry points by name, in the order of their names; ringside's own names are taken."""
        entries = sorted(self._declared(), key=lambda entry: entry.name)
        return grouped((entry.name, entry) for entry in entries if entry.name not in self._own)

    def _load(self, name: str) -> Workload | str:
        """The workload of an entry point, or why it cannot be used."""
        entry, *others = entries = self._foreign[name]
        distributions = sorted(each.dist.name if each.dist else "unknown" for each in entries)
        if name in self._reserved:
            return f"ringside itself uses the name, so {distributions[0]} cannot"
        if others:
            return f"{' and '.join(distributions)} both declare it; uninstall one of them"
        try:
            value = entry.load()
            workload: Workload = value() if isinstance(value, type) else value
            problem = _problem(workload, name)
        # A distribution can fail in any way; the others must still be usable.
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        return f"{distributions[0]}, {entry.value}: {one_line(problem)}" if problem else workload


def _problem(value: object, name: str) -> str:
    """Why an entry point's value is no usable workload of that name; empty if it is one."""
    if not isinstance(value, Workload):
        return f"{type(value).__name__} is no subclass of ringside.workloads.base.Workload"
    if lacking := [f"`{attribute}`" for attribute in _REQUIRED if not hasattr(value, attribute)]:
        return f"it declares no {', '.join(lacking)}"
    if value.name != name:
        return f"its name is `{value.name}`, but its entry point is called `{name}`"
    if unknown := undeclared_metrics(value):
        return f"it refers to metrics that it does not declare: {', '.join(unknown)}"
    return "" if value.compared else "`compared` must name at least one metric"


def undeclared_metrics(measurement: Measurement) -> list[str]:
    """Names that a measurement's attributes refer to and that are none of its metrics, sorted."""
    names = {
        *measurement.compared,
        *measurement.plotted,
        *measurement.secondary,
        *measurement.breakdown,
        *(name for pair in measurement.scatters for name in pair),
        *(slope.metric for slope in measurement.slopes),
        *(law.metric for law in measurement.scaling_laws),
        *(metric for curve in measurement.curves for _, _, metric in curve.steps),
        *(measurement.over_rate.metrics if measurement.over_rate else ()),
        *([measurement.repeated_metric] if measurement.repeated_metric else []),
    }
    return sorted(names - {metric.name for metric in measurement.metrics})


_MEASUREMENTS: dict[str, Measurement] = {measurement.name: measurement for measurement in (COMMAND, TARGET)}


def _own() -> Iterator[Workload]:
    """The workloads of the packages here: each package has its workload under its name in capitals."""
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            own = importlib.import_module(f"{__name__}.{module.name}.workload")
            workload: Workload = getattr(own, module.name.upper())
            yield workload


# By their names. Those of other distributions are loaded when they are asked for.
WORKLOADS = Registry(tuple(_own()), reserved=_MEASUREMENTS)


workload = WORKLOADS.find


def measurement(name: str, outputs: Sequence[Metric] = ()) -> Measurement:
    """A workload, `command` (of `vs`, with these output metrics) or `target`. Raises UsageError."""
    if outputs and name == COMMAND.name:
        return CommandTimes(outputs)
    return _MEASUREMENTS.get(name) or workload(name)
