"""`--on`: a campaign on the machines of a cluster instead of this one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ringside.errors import UsageError

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.cli.progress import LiveProgress
    from ringside.cluster.groups import Wanted
    from ringside.cluster.places import Cluster
    from ringside.measure.campaign import Task


@contextmanager
def engaged(
    on: str,
    task: Task,
    catalogue: Catalogue,
    progress: LiveProgress,
    engines: int | tuple[str, ...] | None = None,
) -> Iterator[Cluster]:
    """The machines, which are let go at the end. `engines`: of two-sided
    trials, how many or on which nodes; None: as many as the task has. Raises UsageError, ClusterError,
    ProbeError."""
    from ringside.cluster.machines import Machines
    from ringside.cluster.parcel import parcel
    from ringside.cluster.places import Cluster, contenders_of
    from ringside.cluster.session import connect

    wanted = _wanted(task, engines)
    with parcel(contenders_of(task, catalogue)) as (folder, sent), connect(on, folder) as session:
        machines = Machines(session, progress.say, progress.on_tick, wanted=wanted)
        try:
            machines.engage()
            yield Cluster(catalogue, machines, sent, progress)
        finally:
            machines.close()


def _wanted(task: Task, engines: int | tuple[str, ...] | None) -> Wanted | None:
    """The engines of each contender's machine; None of a task whose load comes from its own. Raises
    UsageError where `engines` are others than those with which a run began."""
    from ringside.cluster.groups import wanted
    from ringside.store.plans import read_plan

    planned = [*task.experiments, *(read_plan(run).experiment for run in task.unfinished)]
    count = planned[0].engines if planned else 0
    group = wanted(engines or count)
    if group.engines != count or any(each.engines != count for each in planned):
        began = f"with --engines {count}" if count else "without --engines"
        raise UsageError(f"the run began {began}: go on like that")
    return group if count else None
