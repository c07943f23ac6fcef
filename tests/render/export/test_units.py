"""Every metric of every workload in every format: times are times there, whatever their unit is here."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import pytest

from ringside import units
from ringside.errors import UsageError
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.render.export import formats
from ringside.workloads import WORKLOADS, measurement
from ringside.workloads.base import Measurement
from tests.support.analyses import Exact, analysis, point, scaled

P = point(nodes=10)
# A second, whatever it is written in, and a plain number of what is no time.
SECOND = {"ns": 1e9, "s": 1.0}
PLAIN = 2048.0


def all_metrics() -> Iterator[tuple[str, Metric]]:
    measurements: list[Measurement] = [*WORKLOADS.values(), *map(measurement, ("command", "target"))]
    for each in measurements:
        yield from ((each.name, metric) for metric in each.metrics)


METRICS = {f"{name} {metric.name}": metric for name, metric in all_metrics()}


def exported(metric: Metric, form: str) -> str:
    """A run in which this metric of one contender is a second, or a plain number."""

    class Of(Exact):
        name = "command"
        metrics = (metric,)
        compared = (metric.name,)

    value = SECOND.get(metric.unit, PLAIN)
    run = analysis({("go", P): {metric.name: scaled(value)}}, measurement=Of(), name="run")
    return formats.as_csv(run) if form == "csv" else formats.TEXT_FORMATS[form](run)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_in_every_format(name: str) -> None:
    metric = METRICS[name]
    value = SECOND.get(metric.unit, PLAIN)
    is_time, is_size = metric.unit in SECOND, metric.unit == "B"
    assert metric.is_time is is_time
    assert not metric.name.partition(".")[0].endswith(("_ms", "_us"))

    (measure,) = json.loads(exported(metric, "bencher"))["go nodes=10"].values()
    assert measure["value"] == pytest.approx(1e9 if is_time else value)

    if is_time or is_size:
        (entry,) = json.loads(exported(metric, "pyperf"))["benchmarks"]
        assert entry["metadata"]["unit"] == ("second" if is_time else "byte")
        median = sorted(run["values"][0] for run in entry["runs"])[len(entry["runs"]) // 2]
        assert median == pytest.approx(1.0 if is_time else value)
    else:
        with pytest.raises(UsageError, match="no time or size"):
            exported(metric, "pyperf")

    form = "github-action-benchmark" + "-bigger" * (not metric.smaller_is_better)
    (entry,) = json.loads(exported(metric, form))
    assert entry["unit"] == (metric.unit or "1")
    assert entry["value"] == pytest.approx(value)

    (row,) = csv.DictReader(exported(metric, "csv").splitlines())
    assert row["unit"] == metric.unit
    assert float(row["median"]) == pytest.approx(value)

    # In print it is scaled.
    shown = units.with_interval(Interval(value / 1000, None, None, 1), metric.unit)
    assert shown == ("1.00 ms" if is_time else units.quantity(value / 1000, metric.unit))


def test_what_pyperf_does_not_know_is_named() -> None:
    values = {"hop_ns": scaled(200.0), "rate": scaled(5000.0)}
    run = analysis({("go", P): values}, metrics=("hop_ns", "rate"), name="ring")
    assert formats.left_out(run, "pyperf") == "left out: rate; pyperf knows times and sizes only"


@pytest.mark.parametrize("unit", ["ms", "us", "min", "KiB", "x"])
def test_other_units_cannot_be_declared(unit: str) -> None:
    with pytest.raises(
        ValueError, match=f"the metric x has the unit '{unit}', which is none of 'ns', 's', 'B'"
    ):
        Metric("x", unit, "X", "what x is")  # type: ignore[arg-type]
