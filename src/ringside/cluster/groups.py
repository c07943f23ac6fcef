"""Where trials are carried out: on one node, or two-sided, the contender on a node and engines on others,
which a placement group of Ray reserves together."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ringside.cluster.session import ADVERTISE, RESOURCE, Node, Session, choose
from ringside.errors import ClusterError, UsageError
from ringside.text import one_line


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """`node`: the contender's. `engines`: those that its load comes from; none where it comes from the
    contender's own."""

    node: Node
    engines: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        """What its trials carry as their machine: another set of engines is another place."""
        if not self.engines:
            return self.node.name
        return one_line(f"{self.node.name} ← {', '.join(node.name for node in self.engines)}", 500)


# The engines of each site: so many, or on nodes of these names or addresses.
GroupEngines = int | tuple[str, ...]


def engine_count(wanted: GroupEngines) -> int:
    return wanted if isinstance(wanted, int) else len(wanted)


class Reservation:
    """A placement group that Ray has been asked for."""

    def __init__(self, session: Session, wanted: GroupEngines, nodes: Sequence[Node]) -> None:
        """`nodes`: those that there are. Raises UsageError where this Ray cannot choose nodes."""
        from ray.util import placement_group

        self._session = session
        count = engine_count(wanted) + 1
        self._pinned = [] if isinstance(wanted, int) else choose(nodes, wanted)
        more: dict[str, Any] = {}
        if self._pinned:
            # Ray itself gives this label to every node.
            more["bundle_label_selector"] = [{}, *({"ray.io/node-id": node.id} for node in self._pinned)]
        try:
            self._group = placement_group([{RESOURCE: 1}] * count, strategy="STRICT_SPREAD", **more)
        except TypeError as error:
            needs = f"needs a newer Ray than {session.ray.__version__}: say how many"
            raise UsageError(f"--engines with names {needs}") from error
        except Exception as error:
            raise session.lost(error) from error

    def site(self, nodes: Sequence[Node]) -> GroupPlacement | None:
        """Where Ray has placed it; None as long as it has not. Raises ClusterError."""
        from ray.util import placement_group_table

        try:
            table = placement_group_table(self._group)
        except Exception as error:
            raise self._session.lost(error) from error
        by_id = {node.id: node for node in nodes}
        placed = table.get("bundles_to_node_id", {})
        granted = [by_id.get(placed.get(bundle, "")) for bundle in sorted(placed)]
        if table.get("state") != "CREATED" or not granted:
            return None
        nodes = [
            replace(node, group=self._group, bundle=bundle) for bundle, node in enumerate(granted) if node
        ]
        return GroupPlacement(nodes[0], tuple(nodes[1:])) if len(nodes) == len(granted) else None

    def is_possible(self, nodes: Sequence[Node]) -> bool:
        """Whether the nodes that it names are there. One may have died, and another may have its name."""
        return {node.id for node in self._pinned} <= {node.id for node in nodes}

    def cancel(self) -> None:
        give_up(self._group)


def give_up(group: Any) -> None:
    """Let the nodes of a placement group go, and end what runs there."""
    from ray.util import remove_placement_group

    with suppress(Exception):
        remove_placement_group(group)


def most_sites(nodes: Sequence[Node], wanted: GroupEngines) -> int:
    """How many sites there can be at a time. Raises ClusterError where there is not one."""
    if not all(node.has_resource for node in nodes):
        raise ClusterError(
            f"--engines needs nodes that advertise the resource `{RESOURCE}`, and there are none: {ADVERTISE}"
        )
    needed = engine_count(wanted) + 1
    try:
        # One that was there before may be gone.
        choose(nodes, None if isinstance(wanted, int) else wanted)
    except UsageError as error:
        raise ClusterError(str(error)) from error
    if len(nodes) < needed:
        have = ", ".join(node.name for node in nodes)
        raise ClusterError(
            f"--engines needs {needed} nodes that advertise the resource `{RESOURCE}`, the contender's and "
            f"{needed - 1} for engines, and the cluster has {len(nodes)}: {have}"
        )
    return len(nodes) // needed if isinstance(wanted, int) else 1


def check_reach(site: GroupPlacement) -> None:
    """Raise ClusterError where the contender's node has an address that only its own machine reaches."""
    address = site.node.address
    others = [node.name for node in site.engines if node.address != address]
    if others and ipaddress.ip_address(address).is_loopback:
        raise ClusterError(
            f"{site.node.name} has the address {address}, which {others[0]} does not reach: start it with an "
            "address of its network (ray start --node-ip-address)"
        )
