"""The machines of a cluster that measure: they are engaged, asked all at once, and let go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ringside.cluster.bench import Bench, NodeFacts
from ringside.cluster.session import ADVERTISE, Node, Session
from ringside.errors import ClusterError, RingsideError, UsageError
from ringside.text import one_line

# What a node may take to start what measures there, and another run to end, before there is a word about it;
# before others go on without it; and before there is no run.
WORD_AFTER_S = 10.0
OTHERS_AFTER_S = 30.0
PATIENCE_S = 120.0
_POLL_S = 0.5


@dataclass(eq=False, slots=True)
class Machine:
    """A node that measures, by the actor on it."""

    node: Node
    bench: Any
    facts: NodeFacts

    @property
    def name(self) -> str:
        return self.node.name


class Machines:
    """Those that are there, by name. `say` shows a line to the user, `tick` is called while there is nothing
    but to wait."""

    def __init__(
        self,
        session: Session,
        say: Callable[[str], None],
        tick: Callable[[], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.session = session
        self.by_name: dict[str, Machine] = {}
        self.say = say
        self.tick = tick
        self._patience_s = patience_s
        self._refused: dict[str, str] = {}

    def __iter__(self) -> Iterator[Machine]:
        return iter(list(self.by_name.values()))

    def available_cpus(self) -> int:
        """How many CPUs a contender can get on every machine."""
        return min(machine.facts.cpus for machine in self)

    def descriptors(self) -> int:
        """How many a process can have open on every machine."""
        return min(machine.facts.descriptors for machine in self)

    def engage(self) -> list[Machine]:
        """Start what measures on all nodes that are free, and take their machines' locks; the new ones. A
        node that is busy for long is left out, one on which nothing can measure, too. Raises ClusterError
        where no machine remains."""
        nodes = [node for node in self._nodes() if node.name not in self.by_name]
        if nodes and not any(node.has_resource for node in nodes):
            self.say(
                "no node advertises the resource `ringside`, so another user's run may measure at the same "
                f"time: start nodes with {ADVERTISE}"
            )
        new = self._engaged(nodes)
        if not self.by_name:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self._refused.items())
            raise ClusterError(f"no machine of the cluster {self.session.where} can measure: {reasons}")
        return new

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

    def _engaged(self, nodes: list[Node]) -> list[Machine]:
        benches = {node.name: self.session.actor(Bench, node).remote(node.name) for node in nodes}
        waiting = {benches[node.name].facts.remote(): node for node in nodes}
        facts: dict[str, NodeFacts] = {}
        new: list[Machine] = []
        begun = time.monotonic()
        has_said = False
        while waiting:
            for ref in self.session.ready(list(waiting), _POLL_S):
                node = waiting.pop(ref)
                try:
                    answer = self.session.result(ref)
                except RingsideError as error:
                    self._refuse(node.name, str(error), benches[node.name])
                    continue
                if isinstance(answer, NodeFacts):
                    facts[node.name] = answer
                elif answer:
                    self.by_name[node.name] = Machine(node, benches[node.name], facts[node.name])
                    new.append(self.by_name[node.name])
                    continue
                else:
                    time.sleep(_POLL_S)
                waiting[benches[node.name].take_machine.remote()] = node
            self.tick()
            spent = time.monotonic() - begun
            names = ", ".join(node.name for node in waiting.values())
            if waiting and not has_said and spent > WORD_AFTER_S:
                has_said = True
                self.say(f"waiting for {names}: another run may measure there (Ctrl-C gives up)")
            if spent > (OTHERS_AFTER_S if new else self._patience_s):
                for node in waiting.values():
                    self._refuse(node.name, f"it was busy for {spent:.0f} s", benches[node.name])
                waiting = {}
        return new

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
        self._refuse(name, reason, machine.bench)

    def _refuse(self, name: str, reason: str, bench: Any) -> None:
        self._refused[name] = one_line(reason, 300)
        self.session.kill(bench)
        self.say(f"{name} is left out: {self._refused[name]}")

    def close(self) -> None:
        """End what runs on the machines."""
        for machine in self:
            self.session.kill(machine.bench)
        self.by_name.clear()
