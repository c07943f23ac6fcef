"""A cluster without Ray: its actors are objects of this process, called when their answers are asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.cluster import worker
from ringside.cluster.campaign import ClusterCampaign
from ringside.cluster.machines import Machines
from ringside.cluster.session import Node, NodeLostError, Session
from ringside.cluster.worker import NodeFacts
from ringside.measure.host import LOCK_VARIABLE
from ringside.measure.runs.campaign import Campaign, Task
from ringside.store import Store
from tests.support.fake_runs import FakeExecutor, Quiet


def node(name: str, address: str = "192.0.2.1", *, has_resource: bool = True) -> Node:
    return Node(f"id-{name}", name, address, 2, has_resource)


@dataclass(eq=False)
class Call:
    """A method's answer, for which Ray has a reference."""

    actor: "Actor"
    method: str
    words: tuple[Any, ...]
    answers: list[Any] = field(default_factory=list)

    def answer(self) -> Any:
        if not self.answers:
            self.answers.append(getattr(self.actor.target, self.method)(*self.words))
        return self.answers[0]


@dataclass(eq=False)
class Actor:
    """An object on a node; none once it was killed."""

    node: Node
    target: Any

    def __getattr__(self, method: str) -> Any:
        return _Remote(lambda *words: Call(self, method, words))


@dataclass(frozen=True)
class _Remote:
    remote: Callable[..., Any]


@dataclass
class FakeSession(Session):
    """A session with these nodes. `facts`: of machines, that differ from this one's. `after_trial`: is called
    with the number of each trial that has been answered. A node in `silent` never answers, one in `gone` has
    died; `is_lost`: nobody answers."""

    there: list[Node]
    folder: Path
    patch: pytest.MonkeyPatch
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    after_trial: Callable[[int], None] = lambda number: None
    silent: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    is_lost: bool = False
    trials: int = 0
    killed: list[str] = field(default_factory=list)
    where: str = "ray://fake:10001"
    ray: Any = None

    def nodes(self) -> list[Node]:
        self._check()
        return [each for each in self.there if each.name not in self.gone]

    def actor(self, kind: type, node: Node, *, holds: bool = True) -> Any:
        def start(*words: Any) -> Actor:
            # Another machine has its own.
            self.patch.setenv(LOCK_VARIABLE, str(self.folder / f"{node.name}.lock"))
            self.patch.setenv("XDG_CACHE_HOME", str(self.folder / node.name))
            return Actor(node, kind(*words))

        return _Remote(start)

    def ready(self, refs: Sequence[Any], timeout_s: float) -> list[Any]:
        self._check()
        # Without a wait, only what is there already.
        return [ref for ref in refs if (ref.answers or timeout_s) and ref.actor.node.name not in self.silent]

    def result(self, ref: Any) -> Any:
        self._check()
        name = ref.actor.node.name
        if name in self.gone or ref.actor.target is None:
            raise NodeLostError(f"{name} died")
        answer = ref.answer()
        if isinstance(answer, NodeFacts) and name in self.facts:
            answer = replace(answer, host={**answer.host, **self.facts[name]})
        if ref.method == "trial":
            self.trials += 1
            self.after_trial(self.trials)
        return answer

    def kill(self, actor: Any) -> None:
        self.killed.append(actor.node.name)
        # Its lock ends with it.
        actor.target = None

    def _check(self) -> None:
        if self.is_lost:
            raise self.lost(ConnectionError("it does not answer"))


MakeSession = Callable[..., FakeSession]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeSession:
    """Makes a session with these nodes, or with nodes of these names."""

    def make(*nodes: Node | str, **more: Any) -> FakeSession:
        there = [node(each) if isinstance(each, str) else each for each in nodes]
        return FakeSession(there, tmp_path, monkeypatch, **more)

    return make


def pretend(patch: pytest.MonkeyPatch) -> None:
    """Have workers measure by a fake executor, and leave this process on its CPUs."""
    patch.setattr(worker, "uploaded_probe", lambda: None)
    patch.setattr(worker, "Executor", lambda probe: FakeExecutor())
    patch.setattr(worker, "_keep_off_contender_cpus", lambda executor: None)


@dataclass
class Driver:
    """A driver of a session: engages its nodes and carries out tasks. `said`: the lines for the user."""

    session: FakeSession
    store: Store
    patience_s: float = 60
    said: list[str] = field(default_factory=list)

    def carry_out(
        self, task: Task, catalogue: Catalogue | None = None, time_limit_s: float | None = None
    ) -> Campaign:
        catalogue = catalogue or Catalogue()
        machines = Machines(self.session, self.said.append, lambda: None, patience_s=self.patience_s)
        try:
            machines.engage()
            quiet = Quiet()
            there = {name: catalogue.contender(name) for name in ("one", "two")}
            campaign = ClusterCampaign(task, catalogue, self.store, quiet, machines, there)
            campaign.carry_out(time_limit_s)
            return campaign
        finally:
            machines.close()
