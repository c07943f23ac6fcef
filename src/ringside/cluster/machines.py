"""The machines of a cluster that measure: engaged, called all at once, and released. A trial takes place on
one node; a two-sided one on that and on those of its engines, which a placement group of Ray reserves."""

import ipaddress
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ringside.cluster.session import ADVERTISE, RESOURCE, GroupPlacement, Node, Session, choose
from ringside.cluster.worker import NodeFacts, NodeWorker
from ringside.errors import ClusterError, RingsideError, UsageError
from ringside.measure.host import Capacity
from ringside.text import one_line

# How long a node may be busy until a line says so; until others go on without it; until there is no run.
WORD_AFTER_S = 10.0
OTHERS_AFTER_S = 30.0
PATIENCE_S = 120.0
_POLL_S = 0.5
# The engines of each site: a number, or the names or addresses of their nodes.
GroupEngines = int | tuple[str, ...]


def engine_count(wanted: GroupEngines) -> int:
    return wanted if isinstance(wanted, int) else len(wanted)


class Reservation:
    """A placement group that Ray has been asked for."""

    def __init__(self, session: Session, wanted: GroupEngines, nodes: Sequence[Node]) -> None:
        """`nodes`: those that there are. Raises UsageError if this Ray cannot choose nodes."""
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
        """The group's place if Ray has placed it, else None. Raises ClusterError."""
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
    """How many sites there can be at a time. Raises ClusterError if there is not one."""
    if not all(node.has_resource for node in nodes):
        raise ClusterError(
            f"--engines needs nodes that advertise the resource `{RESOURCE}`, and there are none: {ADVERTISE}"
        )
    needed = engine_count(wanted) + 1
    try:
        # Nodes may have left meanwhile.
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
    """Raise ClusterError if the contender's node has an address that only its own machine reaches."""
    address = site.node.address
    others = [node.name for node in site.engines if node.address != address]
    if others and ipaddress.ip_address(address).is_loopback:
        raise ClusterError(
            f"{site.node.name} has the address {address}, which {others[0]} does not reach: start it with an "
            "address of its network (ray start --node-ip-address)"
        )


@dataclass(eq=False, slots=True)
class Machine:
    """A node that measures, by the actor on it, and its facts once it is engaged."""

    site: GroupPlacement
    worker: Any
    facts: NodeFacts = field(init=False)

    @property
    def name(self) -> str:
        return self.site.name


@dataclass(eq=False)
class Machines:
    """The machines of the cluster by name. `say` shows a line to the user, `tick` is called during waits.
    `wanted`: two-sided trials, with these engines for each machine."""

    session: Session
    say: Callable[[str], None]
    tick: Callable[[], None]
    patience_s: float = PATIENCE_S
    wanted: GroupEngines | None = None
    by_name: dict[str, Machine] = field(default_factory=dict)
    # Why nodes do not take part.
    refused: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Machine]:
        return iter(list(self.by_name.values()))

    def capacity(self) -> Capacity:
        """The resources that contenders can get on every machine."""
        each = [machine.facts.capacity for machine in self]
        return Capacity(min(one.cpus for one in each), min(one.descriptors for one in each))

    def engage(self) -> None:
        """Start what measures on all nodes, where none is engaged, and take their machines' locks. Nodes that
        are busy for long or cannot measure are left out. Raises ClusterError if none remains."""
        nodes = self._nodes()
        if self.wanted:
            sites = self._reserved(nodes, self.wanted)
        else:
            sites = [GroupPlacement(node) for node in nodes]
            if not any(node.has_resource for node in nodes):
                self.say(
                    "no node advertises the resource `ringside`, so another user's run may measure at the "
                    f"same time: start nodes with {ADVERTISE}"
                )
        self._start(sites)
        if not self.by_name:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.refused.items())
            raise ClusterError(f"no machine of the cluster {self.session.where} can measure: {reasons}")

    def _waiting(self, what: Callable[[], str]) -> Iterator[float]:
        """The seconds of a wait, again and again; says after a while for what."""
        begun = time.monotonic()
        has_said = False
        while True:
            spent_s = time.monotonic() - begun
            yield spent_s
            if not has_said and spent_s > WORD_AFTER_S:
                has_said = True
                self.say(f"waiting for {what()}")
            self.tick()

    def _nodes(self) -> list[Node]:
        """The nodes, after a wait where there is none. Raises ClusterError."""
        for spent_s in self._waiting(lambda: f"a node, {self.patience_s:.0f} s at most: {ADVERTISE}"):
            if nodes := self.session.nodes():
                return nodes
            if spent_s > self.patience_s:
                break
            time.sleep(_POLL_S)
        raise ClusterError(
            f"the cluster {self.session.where} has no node that can run contenders, after "
            f"{self.patience_s:.0f} s: start one with {ADVERTISE}"
        )

    def _reserved(self, nodes: list[Node], wanted: GroupEngines) -> list[GroupPlacement]:
        """As many sites of two-sided trials as the nodes have room for. Raises ClusterError."""
        count = most_sites(nodes, wanted)
        waiting = [Reservation(self.session, wanted, nodes) for _ in range(count)]
        sites: list[GroupPlacement] = []
        need = f"{engine_count(wanted) + 1} nodes"
        what = f"{need} that are free: another run may measure there (Ctrl-C gives up)"
        for spent_s in self._waiting(lambda: what):
            for reservation in list(waiting):
                if not reservation.is_possible(nodes):
                    # A node that it names has died; another may have its name.
                    reservation.cancel()
                    waiting.remove(reservation)
                    waiting.append(Reservation(self.session, wanted, nodes))
                elif site := reservation.site(nodes):
                    waiting.remove(reservation)
                    sites.append(site)
            if not waiting or spent_s > (OTHERS_AFTER_S if sites else self.patience_s):
                break
            time.sleep(_POLL_S)
            # One that has died meanwhile may be needed.
            nodes = self.session.nodes()
            most_sites(nodes, wanted)
        for reservation in waiting:
            reservation.cancel()
        if not sites:
            within = f"within {self.patience_s:.0f} s: another run may have them"
            raise ClusterError(f"no {need} of the cluster {self.session.where} were free {within}")
        for site in sites:
            check_reach(site)
        return sites

    def _start(self, sites: list[GroupPlacement]) -> None:
        workers = (self.session.actor(NodeWorker, site.node).remote(site.name) for site in sites)
        machines = map(Machine, sites, workers)
        waiting = {machine.worker.engage.remote(machine.site): machine for machine in machines}

        def who() -> str:
            names = ", ".join(machine.name for machine in waiting.values())
            return f"{names}: another run may measure there (Ctrl-C gives up)"

        for spent_s in self._waiting(who):
            for ref in self.session.ready(list(waiting), _POLL_S):
                machine = waiting.pop(ref)
                try:
                    facts = self.session.result(ref)
                except RingsideError as error:
                    self._refuse(machine, str(error))
                    continue
                if facts is None:
                    time.sleep(_POLL_S)
                    waiting[machine.worker.engage.remote(machine.site)] = machine
                else:
                    machine.facts = facts
                    self.by_name[machine.name] = machine
            if not waiting:
                break
            if spent_s > (OTHERS_AFTER_S if self.by_name else self.patience_s):
                for machine in waiting.values():
                    self._refuse(machine, f"it was busy for {spent_s:.0f} s")
                break

    def ask(self, method: Callable[[Any], Any]) -> dict[str, Any]:
        """Call a method of all workers; its results by machine. Releases a machine that is lost or cannot do
        it. Raises ClusterError if none remains, or the workers' own error where all raised the same."""
        waiting = {method(machine.worker): machine.name for machine in self}
        answers: dict[str, Any] = {}
        errors: list[RingsideError] = []
        while waiting:
            for ref in self.session.ready(list(waiting), _POLL_S):
                name = waiting.pop(ref)
                try:
                    answers[name] = self.session.result(ref)
                except RingsideError as error:
                    errors.append(error)
                    self.let_go(name, str(error))
            self.tick()
        if not self.by_name:
            if isinstance(errors[0], UsageError) and len({str(error) for error in errors}) == 1:
                raise errors[0]
            raise ClusterError(f"no machine of the cluster {self.session.where} is left: {errors[-1]}")
        return answers

    def let_go(self, name: str, reason: str) -> None:
        """Do without a machine from now on."""
        self._refuse(self.by_name.pop(name), reason)

    def _refuse(self, machine: Machine, reason: str) -> None:
        self.refused[machine.name] = one_line(reason, 300)
        self._end(machine)
        self.say(f"{machine.name} is left out: {self.refused[machine.name]}")

    def _end(self, machine: Machine) -> None:
        self.session.kill(machine.worker)
        if machine.site.node.group is not None:
            give_up(machine.site.node.group)

    def close(self) -> None:
        """End what runs on the machines."""
        for machine in self:
            self._end(machine)
        self.by_name.clear()
