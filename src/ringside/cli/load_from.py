"""What carries out the loads of `ringside load`: a probe here, or engines on the nodes of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ringside.cli import streams
from ringside.cli.load_options import LoadArguments

if TYPE_CHECKING:
    from ringside.load.result import LoadResult
    from ringside.measure.target_trials import LoadDriver


@contextmanager
def driver(arguments: LoadArguments, addresses: Sequence[str]) -> Iterator[LoadDriver]:
    """What `--from` and `--engines` ask for, for loads at these addresses."""
    if arguments.cluster is None:
        from ringside.probe.process import Probe

        yield Probe()
        return
    from ringside.cluster import parts
    from ringside.cluster.engines import Engines
    from ringside.cluster.parcel import parcel
    from ringside.cluster.session import connect

    with parcel() as (folder, _), connect(arguments.cluster, folder, option="--from") as session:
        nodes = parts.choose(session.nodes(), arguments.engines)
        parts.check_reach(addresses, nodes)
        with Engines(session, nodes, streams.say) as engines:
            yield engines


def is_watched(arguments: LoadArguments) -> bool:
    """Whether a load may be drawn while it runs: engines elsewhere report at the end."""
    return arguments.form is None and arguments.cluster is None


def machines(driver: LoadDriver) -> dict[str, Mapping[str, Any]]:
    """The facts of the machines of engines elsewhere, by the names of their nodes; none of a probe here."""
    from ringside.probe.process import Probe

    if isinstance(driver, Probe):
        return {}
    from ringside.cluster.engines import Engines

    assert isinstance(driver, Engines)
    return {node.name: facts for node, facts in driver.facts().items()}


def with_engines(result: LoadResult, driver: LoadDriver) -> LoadResult:
    """The result, with what each of several engines did."""
    from ringside.probe.process import Probe

    if isinstance(driver, Probe):
        return result
    from ringside.cluster.engines import Engines

    assert isinstance(driver, Engines)
    return dataclasses.replace(result, engines=driver.parts, started_within_s=driver.started_within_s)
