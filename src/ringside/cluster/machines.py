"""The machines of a cluster that measure: they are engaged, asked all at once, and let go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ringside.cluster import groups
from ringside.cluster.groups import GroupEngines, GroupPlacement, Reservation, engine_count
from ringside.cluster.session import ADVERTISE, Node, Session
from ringside.cluster.worker import NodeFacts, NodeWorker
from ringside.errors import ClusterError, RingsideError, UsageError
from ringside.measure.host.executor import Capacity
from ringside.text import one_line

# How long a node may be busy until a line says so; until others go on without it; until there is no run.
WORD_AFTER_S = 10.0
OTHERS_AFTER_S = 30.0
PATIENCE_S = 120.0
_POLL_S = 0.5


@dataclass(eq=False, slots=True)
class Machine:
    """A node that measures, by the actor on it."""

    site: GroupPlacement
    worker: Any
    facts: NodeFacts

    @property
    def name(self) -> str:
        return self.site.name


class Machines:
    """Those that are there, by name. `say` shows a line to the user, `tick` is called during waits. `wanted`:
    two-sided trials, with these engines for each machine."""

    def __init__(
        self,
        session: Session,
        say: Callable[[str], None],
        tick: Callable[[], None],
        patience_s: float = PATIENCE_S,
        wanted: GroupEngines | None = None,
    ) -> None:
        self.session = session
        self.by_name: dict[str, Machine] = {}
        self.say = say
        self.tick = tick
        self._patience_s = patience_s
        self._wanted = wanted
        self._refused: dict[str, str] = {}

    def __iter__(self) -> Iterator[Machine]:
        return iter(list(self.by_name.values()))

    def capacity(self) -> Capacity:
        """What contenders can get on every machine."""
        each = [machine.facts.capacity for machine in self]
        return Capacity(min(one.cpus for one in each), min(one.descriptors for one in each))

    def engage(self) -> None:
        """Start what measures on all nodes, where none is engaged, and take their machines' locks. Nodes that
        are busy for long or cannot measure are left out. Raises ClusterError where none remains."""
        nodes = self._nodes()
        if self._wanted:
            sites = self._reserved(nodes, self._wanted)
        else:
            sites = [GroupPlacement(node) for node in nodes]
            if not any(node.has_resource for node in nodes):
                self.say(
                    "no node advertises the resource `ringside`, so another user's run may measure at the "
                    f"same time: start nodes with {ADVERTISE}"
                )
        self._start(sites)
        if not self.by_name:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self._refused.items())
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
        for spent_s in self._waiting(lambda: f"a node, {self._patience_s:.0f} s at most: {ADVERTISE}"):
            if nodes := self.session.nodes():
                return nodes
            if spent_s > self._patience_s:
                break
            time.sleep(_POLL_S)
        raise ClusterError(
            f"the cluster {self.session.where} has no node that can run contenders, after "
            f"{self._patience_s:.0f} s: start one with {ADVERTISE}"
        )

    def _reserved(self, nodes: list[Node], wanted: GroupEngines) -> list[GroupPlacement]:
        """As many sites of two-sided trials as the nodes have room for. Raises ClusterError."""
        count = groups.most_sites(nodes, wanted)
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
            if not waiting or spent_s > (OTHERS_AFTER_S if sites else self._patience_s):
                break
            time.sleep(_POLL_S)
            # One that has died meanwhile may be needed.
            nodes = self.session.nodes()
            groups.most_sites(nodes, wanted)
        for reservation in waiting:
            reservation.cancel()
        if not sites:
            within = f"within {self._patience_s:.0f} s: another run may have them"
            raise ClusterError(f"no {need} of the cluster {self.session.where} were free {within}")
        for site in sites:
            groups.check_reach(site)
        return sites

    def _start(self, sites: list[GroupPlacement]) -> None:
        workers = {site.name: self.session.actor(NodeWorker, site.node).remote(site.name) for site in sites}
        waiting = {workers[site.name].engage.remote(site): site for site in sites}

        def who() -> str:
            names = ", ".join(site.name for site in waiting.values())
            return f"{names}: another run may measure there (Ctrl-C gives up)"

        for spent_s in self._waiting(who):
            for ref in self.session.ready(list(waiting), _POLL_S):
                site = waiting.pop(ref)
                worker = workers[site.name]
                try:
                    facts = self.session.result(ref)
                except RingsideError as error:
                    self._refuse(site, str(error), worker)
                    continue
                if facts is None:
                    time.sleep(_POLL_S)
                    waiting[worker.engage.remote(site)] = site
                else:
                    self.by_name[site.name] = Machine(site, worker, facts)
            if not waiting:
                break
            if spent_s > (OTHERS_AFTER_S if self.by_name else self._patience_s):
                for site in waiting.values():
                    self._refuse(site, f"it was busy for {spent_s:.0f} s", workers[site.name])
                break

    def ask(self, method: Callable[[Any], Any]) -> dict[str, Any]:
        """What a method of all workers returns, by the machines' names. A machine that is lost, or cannot do
        it, is let go. Raises ClusterError where none remains, their error where all said the same."""
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
        machine = self.by_name.pop(name)
        self._refuse(machine.site, reason, machine.worker)

    def _refuse(self, site: GroupPlacement, reason: str, worker: Any) -> None:
        self._refused[site.name] = one_line(reason, 300)
        self._end(site, worker)
        self.say(f"{site.name} is left out: {self._refused[site.name]}")

    def _end(self, site: GroupPlacement, worker: Any) -> None:
        self.session.kill(worker)
        if site.node.group is not None:
            groups.give_up(site.node.group)

    def close(self) -> None:
        """End what runs on the machines."""
        for machine in self:
            self._end(machine.site, machine.worker)
        self.by_name.clear()
