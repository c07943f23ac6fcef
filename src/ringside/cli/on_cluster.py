"""`--on`: a campaign on the machines of a cluster instead of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ringside.errors import UsageError

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.cli.progress import LiveProgress
    from ringside.cluster.campaign import ClusterCampaign
    from ringside.cluster.groups import Wanted
    from ringside.cluster.machines import Machines
    from ringside.measure.campaign import Task
    from ringside.store import Store


@contextmanager
def engaged(
    on: str,
    task: Task,
    catalogue: Catalogue,
    progress: LiveProgress,
    engines: int | tuple[str, ...] | None = None,
) -> Iterator[tuple[Machines, Callable[[Store], ClusterCampaign]]]:
    """The machines, which are let go at the end, and what makes the campaign on them. `engines`: of two-sided
    trials, how many or on which nodes; None: as many as the task has. Raises UsageError, ClusterError,
    ProbeError."""
    from ringside.cluster.campaign import ClusterCampaign, contenders_of
    from ringside.cluster.machines import Machines
    from ringside.cluster.parcel import parcel
    from ringside.cluster.session import connect

    wanted = _wanted(task, engines)
    with parcel(contenders_of(task, catalogue)) as (folder, sent), connect(on, folder) as session:
        machines = Machines(session, progress.say, progress.on_tick, wanted=wanted)
        try:
            machines.engage()
            yield (
                machines,
                lambda store: ClusterCampaign(task, catalogue, machines, sent, store, progress),
            )
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
