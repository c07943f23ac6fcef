"""`--on`: a campaign on the machines of a cluster instead of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.cli.progress import LiveProgress
    from ringside.cluster.campaign import ClusterCampaign
    from ringside.cluster.machines import Machines
    from ringside.measure.campaign import Task
    from ringside.store import Store


@contextmanager
def engaged(
    on: str, task: Task, catalogue: Catalogue, progress: LiveProgress
) -> Iterator[tuple[Machines, Callable[[Store], ClusterCampaign]]]:
    """The machines, which are let go at the end, and what makes the campaign on them. Raises UsageError,
    ClusterError, ProbeError."""
    from ringside.cluster.campaign import ClusterCampaign, contenders_of
    from ringside.cluster.machines import Machines
    from ringside.cluster.parcel import parcel
    from ringside.cluster.session import connect

    with parcel(contenders_of(task, catalogue)) as (folder, sent), connect(on, folder) as session:
        machines = Machines(session, progress.say, progress.on_tick)
        try:
            machines.engage()
            yield (
                machines,
                lambda store: ClusterCampaign(task, catalogue, machines, sent, store, progress),
            )
        finally:
            machines.close()
