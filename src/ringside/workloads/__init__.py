"""What can be measured: the workloads, each a package here or in another distribution, and the measurements
of `vs` and `load --vs`, which have no contract."""

from __future__ import annotations

from ringside.workloads.base import Measurement, Workload
from ringside.workloads.batch import BATCH
from ringside.workloads.command import COMMAND
from ringside.workloads.fanout import FANOUT
from ringside.workloads.feed import FEED
from ringside.workloads.fib import FIB
from ringside.workloads.jobs import JOBS
from ringside.workloads.registry import Registry
from ringside.workloads.ring import RING
from ringside.workloads.sleepers import SLEEPERS
from ringside.workloads.target import TARGET

_MEASUREMENTS: dict[str, Measurement] = {measurement.name: measurement for measurement in (COMMAND, TARGET)}
# By their names. Those of other distributions are loaded when they are asked for.
WORKLOADS = Registry((RING, BATCH, JOBS, FIB, FEED, FANOUT, SLEEPERS), reserved=_MEASUREMENTS)


def workload(name: str) -> Workload:
    """The workload of that name. Raises UsageError for an unknown one, or one that cannot be loaded."""
    return WORKLOADS.find(name)


def measurement(name: str) -> Measurement:
    """The workload of that name, or `command` (of `vs`) or `target` (of `load --vs`). Raises UsageError as
    `workload` does."""
    return _MEASUREMENTS.get(name) or workload(name)
