"""The machines of a cluster that measure: they are engaged, asked all at once, and let go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ringside.cluster import groups
from ringside.cluster.groups import GroupEngines, GroupPlacement, Reservation
from ringside.cluster.session import ADVERTISE, Node, Session
from ringside.cluster.worker import NodeFacts, NodeWorker
from ringside.errors import ClusterError, RingsideError, UsageError
from ringside.measure.host.executor import Capacity
from ringside.text import one_line

# What a node may take to start what measures there, and another run to end, before there is a word about it;
# before others go on without it; and before there is no run.
WORD_AFTER_S = 10.0
OTHERS_AFTER_S = 30.0
PATIENCE_S = 120.0
_POLL_S = 0.5


@dataclass(eq=False, slots=True)
class Machine:
    """A node that measures, by the actor on it. `engines`: the facts of the machines that its load comes
    from, by name."""

    site: GroupPlacement
    worker: Any
    facts: NodeFacts
    engines: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        return self.site.name


class Machines:
    """Those that are there, by name. `say` shows a line to the user, `tick` is called while there is nothing
    but to wait."""

    def __init__(
        self,
        session: Session,
        say: Callable[[str], None],
        tick: Callable[[], None],
        patience_s: float = PATIENCE_S,
        wanted: GroupEngines | None = None,
    ) -> None:
        """`wanted`: two-sided trials, with these engines for each machine."""
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

    def engage(self) -> list[Machine]:
        """Start what measures on all nodes that are free, and take their machines' locks; the new ones. A
        node that is busy for long is left out, one on which nothing can measure, too. Raises ClusterError
        where no machine remains."""
        nodes = self._free(self._nodes())
        if self._wanted:
            sites = self._reserved(nodes, self._wanted)
        else:
            sites = [GroupPlacement(node) for node in nodes]
            if nodes and not any(node.has_resource for node in nodes):
                self.say(
                    "no node advertises the resource `ringside`, so another user's run may measure at the "
                    f"same time: start nodes with {ADVERTISE}"
                )
        new = self._engaged(sites)
        if not self.by_name:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self._refused.items())
            raise ClusterError(f"no machine of the cluster {self.session.where} can measure: {reasons}")
        return new

    def _free(self, nodes: list[Node]) -> list[Node]:
        """Those that no machine of ours has."""
        used = {node.id for machine in self for node in (machine.site.node, *machine.site.engines)}
        return [node for node in nodes if node.id not in used]

    def _reserved(self, nodes: list[Node], wanted: GroupEngines) -> list[GroupPlacement]:
        """As many sites of two-sided trials as the nodes have room for, without those of other runs. Raises
        ClusterError where there is none."""
        count = groups.most_sites(nodes, wanted)
        waiting = [Reservation(self.session, wanted, nodes) for _ in range(count)]
        sites: list[GroupPlacement] = []
        begun = time.monotonic()
        has_said = False
        while waiting:
            for reservation in list(waiting):
                if site := reservation.site(nodes):
                    waiting.remove(reservation)
                    sites.append(site)
            spent = time.monotonic() - begun
            if waiting and spent > (OTHERS_AFTER_S if sites else self._patience_s):
                for reservation in waiting:
                    reservation.cancel()
                break
            if waiting and not has_said and spent > WORD_AFTER_S:
                has_said = True
                self.say(
                    f"waiting for {wanted.engines + 1} nodes that are free: another run may measure there "
                    "(Ctrl-C gives up)"
                )
            if waiting:
                self.tick()
                time.sleep(_POLL_S)
                # One that has died meanwhile may be needed.
                nodes = self._free(self.session.nodes())
                groups.most_sites(nodes, wanted)
                waiting = [self._still_possible(reservation, nodes, wanted) for reservation in waiting]
        if not sites:
            raise ClusterError(
                f"no {wanted.engines + 1} nodes of the cluster {self.session.where} were free within "
                f"{self._patience_s:.0f} s: another run may have them"
            )
        for site in sites:
            groups.check_reach(site)
        return sites

    def _still_possible(
        self, reservation: Reservation, nodes: list[Node], wanted: GroupEngines
    ) -> Reservation:
        """The reservation, or one in its place where a node that it names has died."""
        if reservation.is_possible(nodes):
            return reservation
        reservation.cancel()
        return Reservation(self.session, wanted, nodes)

    def _nodes(self) -> list[Node]:
        """The nodes, after a wait where there is none. Raises ClusterError."""
        deadline = time.monotonic() + self._patience_s
        word_at: float | None = time.monotonic() + WORD_AFTER_S
        while not (nodes := self.session.nodes()):
            now = time.monotonic()
            if now > deadline:
                raise ClusterError(
                    f"the cluster {self.session.where} has no node that can run contenders, after "
                    f"{self._patience_s:.0f} s: start one with {ADVERTISE}"
                )
            if word_at is not None and now > word_at:
                word_at = None
                self.say(f"waiting for a node, {self._patience_s:.0f} s at most: {ADVERTISE}")
            self.tick()
            time.sleep(_POLL_S)
        return nodes

    def _engaged(self, sites: list[GroupPlacement]) -> list[Machine]:
        workers = {site.name: self._bench(site) for site in sites}
        waiting = {workers[site.name].facts.remote(): site for site in sites}
        facts: dict[str, NodeFacts] = {}
        new: list[Machine] = []
        begun = time.monotonic()
        has_said = False
        while waiting:
            for ref in self.session.ready(list(waiting), _POLL_S):
                site = waiting.pop(ref)
                name, worker = site.name, workers[site.name]
                try:
                    answer = self.session.result(ref)
                except RingsideError as error:
                    self._refuse(site, str(error), worker)
                    continue
                is_engaged = isinstance(answer, dict)
                if isinstance(answer, NodeFacts):
                    facts[name] = answer
                elif answer is True and site.engines:
                    waiting[worker.take_engines.remote(site)] = site
                    continue
                elif answer is True or is_engaged:
                    engines = answer if is_engaged else {}
                    self.by_name[name] = Machine(site, worker, facts[name], engines)
                    new.append(self.by_name[name])
                    continue
                else:
                    time.sleep(_POLL_S)
                waiting[worker.take_machine.remote()] = site
            self.tick()
            spent = time.monotonic() - begun
            names = ", ".join(site.name for site in waiting.values())
            if waiting and not has_said and spent > WORD_AFTER_S:
                has_said = True
                self.say(f"waiting for {names}: another run may measure there (Ctrl-C gives up)")
            if spent > (OTHERS_AFTER_S if new else self._patience_s):
                for site in waiting.values():
                    self._refuse(site, f"it was busy for {spent:.0f} s", workers[site.name])
                waiting = {}
        return new

    def _bench(self, site: GroupPlacement) -> Any:
        if site.group is None:
            return self.session.actor(NodeWorker, site.node).remote(site.name)
        return groups.placed(self.session.ray, NodeWorker, site.group, 0).remote(site.name)

    def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answers of machines, by their names, as far as they come; `asked` has what they were asked. A
        machine that is lost meanwhile, or cannot do it, is let go. Raises ClusterError where none remains,
        the error of a machine where all said the same."""
        waiting = {ref: name for name, ref in asked.items()}
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
        if site.group is not None:
            groups.give_up(site.group)

    def close(self) -> None:
        """End what runs on the machines."""
        for machine in self:
            self._end(machine.site, machine.worker)
        self.by_name.clear()
