"""The workloads, by name. A new one is a module here and a line below."""

from __future__ import annotations

from ringside.errors import UsageError
from ringside.workloads.base import Workload
from ringside.workloads.batch import BATCH
from ringside.workloads.fanout import FANOUT
from ringside.workloads.feed import FEED
from ringside.workloads.fib import FIB
from ringside.workloads.jobs import JOBS
from ringside.workloads.ring import RING

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for workload in (RING, BATCH, JOBS, FIB, FEED, FANOUT)
}


def workload(name: str) -> Workload:
    """The workload of that name. Raises UsageError for an unknown one."""
    if name not in WORKLOADS:
        raise UsageError(f"there is no workload `{name}`; known: {', '.join(WORKLOADS)}")
    return WORKLOADS[name]
