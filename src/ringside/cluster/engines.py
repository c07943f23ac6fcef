"""Load engines on several nodes of a cluster that share one load: what `Probe` is for one engine.

Every engine is made ready; then all are told to go. Each counts time from its own start: no clock of one
machine is compared with that of another. Their records are merged by a probe of this machine, as the records
of one engine's threads are (docs/PROBE.md).
"""

import ipaddress
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ringside import units
from ringside.cluster.session import Node, NodeLostError, Session, choose, connect, upload, uploaded_probe
from ringside.errors import ClusterError, ProbeError, RingsideError, UsageError
from ringside.load.result import EnginePart
from ringside.measure import host
from ringside.measure.runs.trials import free_port
from ringside.probe import protocol
from ringside.probe.process import Probe, find_probe, interrupts
from ringside.probe.protocol import EngineMessage, EngineRecord, LoadOutcome, LoadPlan, LoadRequest
from ringside.text import one_line

# How long an engine may take to raise its limits and to read certificates.
READY_S = 30.0
# Warnings about an engine's machine: each engine's own says more than that of the merged record.
_OF_MACHINES = ("generator-bound", "lag", "near-ports")
_TLS_FILES = ("cacert", "cert", "key")
_TICK_S = 0.5
# How long a node may take to start an engine, if no other run has it.
PLACE_S = 60.0
# How long an interrupted load may take to report; it has a drain.
_END_S = 30.0
# How long a call that waits for nothing may take.
_GRACE_S = 60.0
# Beyond the limits of the load: as in probe/process.py, and the time until its error arrives here.
_PROBE_GRACE_S = 330.0 + _GRACE_S
_PATIENCE_S = 3.0


class Engine:
    """Carries out parts of loads, one after another: `prepare`, `start`, and `result` until it has one."""

    def __init__(self) -> None:
        self._probe: Probe | None = None

    def facts(self) -> dict[str, Any]:
        return host.facts()

    def prepare(self, plan: LoadPlan, files: Mapping[str, bytes]) -> None:
        """Make ready for a part of a load. `files`: its TLS files by key. Raises ClusterError."""
        self._ready, self._go, self._is_called_off = threading.Event(), threading.Event(), False
        self._part: Future[list[EngineMessage]] = Future()
        if self._probe and self._probe.interrupted:
            # It would end this load, too.
            self._probe = None
        # A thread of its own lives as long as the load: with its parent's thread a probe ends, too.
        threading.Thread(target=self._run, args=(self._part, plan, files), daemon=True).start()
        if not self._ready.wait(READY_S):
            self.call_off()
            raise ClusterError(f"the engine was not ready within {READY_S:g} s")
        if self._part.done():
            self._part.result()

    def start(self) -> None:
        """Begin the load that was prepared."""
        self._go.set()

    def call_off(self) -> None:
        """End the current work. A load that had begun still reports."""
        if not self._go.is_set():
            self._is_called_off = True
            self._go.set()
        elif self._probe:
            self._probe.interrupt()

    def result(self, wait_s: float) -> list[EngineMessage] | None:
        """All messages of the load; None if it still goes on after `wait_s`. Calls of an actor follow one
        another, so a longer wait would hold back `call_off`. Raises ClusterError."""
        try:
            return self._part.result(wait_s)
        except TimeoutError:
            return None

    def _run(self, part: Future[list[EngineMessage]], plan: LoadPlan, files: Mapping[str, bytes]) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
                for key, content in files.items():
                    Path(folder, key).write_bytes(content)
                if plan.tls:
                    paths = {key: str(Path(folder, key)) for key in files}
                    plan = replace(plan, tls=replace(plan.tls, **paths))
                self._probe = self._probe or uploaded_probe()
                part.set_result(self._probe.load(LoadRequest(plan), go=self._begin))
        except (RingsideError, OSError, ValueError, KeyboardInterrupt) as error:
            part.set_exception(ClusterError(one_line(str(error), 300) or "the load was ended"))
        finally:
            self._ready.set()

    def _begin(self) -> None:
        self._ready.set()
        self._go.wait()
        if self._is_called_off:
            raise ProbeError("the load was called off")


@dataclass(frozen=True, slots=True)
class EngineSlot:
    """An engine's node, and its number there, from 0: there are several where loads run at the same time."""

    node: Node
    number: int = 0


class Engines:
    """Engines on these nodes, one each, until `close`."""

    def __init__(
        self,
        session: Session,
        nodes: Sequence[Node],
        say: Callable[[str], None],
        *,
        probe: Probe | None = None,
    ) -> None:
        """`say` gets a line when nodes keep us waiting. `probe`: merges the records.
        Raises ProbeError if this machine has none, ClusterError if an engine cannot be started."""
        self.nodes = tuple(nodes)
        # The work of each engine in the last load, and an upper bound on the spread of their starts.
        self.parts: tuple[EnginePart, ...] = ()
        self.started_within_s = 0.0
        # Whether a signal ended a load.
        self.interrupted = False
        self._signals = 0
        self._session = session
        self._probe = probe or Probe(find_probe())
        self._actors: dict[EngineSlot, Any] = {}
        with self._ending_at_errors(), interrupts(self.interrupt):
            self._place([EngineSlot(node) for node in nodes], say)

    def load(
        self, request: LoadRequest, on_message: Callable[[EngineMessage], None] | None = None
    ) -> list[EngineMessage]:
        """The messages of the whole load, the outcome last; `on_message` gets each, at the end. Raises
        UsageError if there are fewer connections than threads, ClusterError if an engine is lost or
        cannot do its part, KeyboardInterrupt where signals came before the load began, or came twice."""
        plan, count = replace(request.load, progress_s=None), len(self.nodes)
        if plan.threads * count > plan.connections:
            threads = units.count(plan.threads, "thread")
            raise UsageError(
                f"{plan.connections} connections are too few for {count} engines with {threads} each: "
                "each thread needs one"
            )
        # The nodes do not have them.
        named = {key: getattr(plan.tls, key, None) for key in _TLS_FILES}
        files = {key: Path(path).read_bytes() for key, path in named.items() if path}
        with interrupts(self.interrupt):
            each = self.step([plan], files=files)
        self.parts = tuple(part for _, part, _ in each)
        merged = self._probe.merge(plan, [record for *_, record in each])
        outcome = merged[-1]
        assert isinstance(outcome, LoadOutcome)
        outcome = replace(outcome, warnings=warnings(outcome, self.parts))
        messages = [begun(self.parts), *merged[:-1], outcome]
        for message in messages:
            if on_message:
                on_message(message)
        return messages

    def step(
        self,
        plans: Sequence[LoadPlan],
        on_begun: Callable[[Sequence[int]], None] = lambda counts: None,
        files: Mapping[str, bytes] = {},
        *,
        service_times: bool = False,
    ) -> list[tuple[int, EnginePart, EngineRecord]]:
        """Carry out loads at the same time, each by as many engines as it has connections for: what each
        engine counted, with the number of its load. All are made ready for their parts first; `on_begun` gets
        the numbers of engines when all have been started. Raises NodeLostError if an engine is lost,
        ClusterError if one cannot do its part, KeyboardInterrupt after `interrupt` before they began."""
        counts = [min(len(self.nodes), plan.connections // plan.threads) for plan in plans]
        parts: dict[EngineSlot, LoadPlan] = {}
        for number, (plan, count) in enumerate(zip(plans, counts, strict=True)):
            for engine, node in enumerate(self.nodes[:count]):
                part = protocol.PartOfLoad(engine, count, service_times)
                parts[EngineSlot(node, number)] = replace(plan, part=part)
        slots, actors, prepare_s = list(parts), self._actors, READY_S + _GRACE_S
        with self._ending_at_errors():
            self._place([slot for slot in slots if slot not in actors])
            self._call(lambda slot: actors[slot].prepare.remote(parts[slot], files), slots, prepare_s)
            released_s = time.monotonic()
            self._call(lambda slot: actors[slot].start.remote(), slots)
            self.started_within_s = time.monotonic() - released_s
            on_begun(counts)
            answers = self._answers(slots, plans)
            return [(slot.number, *part_of(slot.node, answers[slot])) for slot in slots]

    def _answers(
        self, slots: Sequence[EngineSlot], plans: Sequence[LoadPlan]
    ) -> dict[EngineSlot, list[EngineMessage]]:
        """The reports of started engines at their end."""
        limits = (math.inf if each.duration_s is None else each.duration_s + each.timeout_s for each in plans)
        deadline = time.monotonic() + max(limits) + _PROBE_GRACE_S
        answers: dict[EngineSlot, list[EngineMessage]] = {}
        actors, is_called_off = self._actors, False
        while rest := [slot for slot in slots if slot not in answers]:
            arrived = self._call(lambda slot: actors[slot].result.remote(_TICK_S), rest, ending=True)
            answers |= {slot: answer for slot, answer in arrived.items() if answer is not None}
            if self.interrupted and not is_called_off:
                is_called_off = True
                self._call(lambda slot: actors[slot].call_off.remote(), slots, ending=True)
                deadline = time.monotonic() + _END_S
            if time.monotonic() > deadline and len(answers) < len(slots):
                name = rest[0].node.name
                raise NodeLostError(f"{name} did not end its part of the load: there are no figures")
        return answers

    def interrupt(self, *_signal: object) -> None:
        """End a step's loads, and later ones until `go_on`, from any thread. Those that have begun report."""
        self._signals += 1
        self.interrupted = True

    def go_on(self) -> None:
        """After `interrupt`."""
        self.interrupted, self._signals = False, 0

    def facts(self) -> dict[str, Mapping[str, Any]]:
        """The facts of the nodes' machines, by the nodes' names. Raises ClusterError."""
        with self._ending_at_errors(), interrupts(self.interrupt):
            facts = self._call(lambda slot: self._actors[slot].facts.remote(), [*map(EngineSlot, self.nodes)])
        return {slot.node.name: each for slot, each in facts.items()}

    def _place(self, slots: Sequence[EngineSlot], say: Callable[[str], None] | None = None) -> None:
        for slot in slots:
            self._actors[slot] = self._session.actor(Engine, slot.node, holds=slot.number == 0).remote()
        self._call(lambda slot: self._actors[slot].__ray_ready__.remote(), slots, PLACE_S, say)

    def _call(
        self,
        method: Callable[[EngineSlot], Any],
        slots: Sequence[EngineSlot],
        limit_s: float = _GRACE_S,
        say: Callable[[str], None] | None = None,
        *,
        ending: bool = False,
    ) -> dict[EngineSlot, Any]:
        """The results of a method of each actor. `ending`: a first signal does not break it off. Raises
        NodeLostError for a lost node or one slower than `limit_s`, ClusterError if an engine cannot do it."""
        begun = time.monotonic()
        values: dict[EngineSlot, Any] = {}
        refs = {method(slot): slot for slot in slots}
        while refs:
            if self._signals > (1 if ending else 0):
                raise KeyboardInterrupt
            done = self._session.ready(list(refs), _TICK_S)
            for ref in done:
                slot = refs.pop(ref)
                try:
                    values[slot] = self._session.result(ref)
                except NodeLostError as error:
                    raise NodeLostError(
                        f"{slot.node.name} was lost or cannot run an engine, so there are no figures "
                        f"({error}): repeat the load, or name other nodes with --engines"
                    ) from error
                except ClusterError as error:
                    raise ClusterError(f"{slot.node.name}: {error}") from error
            waited_s = time.monotonic() - begun
            if not done and waited_s > limit_s:
                name = next(iter(refs.values())).node.name
                raise NodeLostError(
                    f"{name} did not answer within {limit_s:g} s: another run may have it; wait for that, or "
                    "name other nodes with --engines"
                )
            if not done and say and waited_s > _PATIENCE_S:
                names = dict.fromkeys(slot.node.name for slot in refs.values())
                say(f"waiting for {', '.join(names)}, up to {limit_s:g} s")
                say = None
        return {slot: values[slot] for slot in slots}

    def close(self) -> None:
        """End all engines; each probe ends with its engine. A further `step` starts new ones."""
        for actor in self._actors.values():
            self._session.kill(actor)
        self._actors.clear()

    @contextmanager
    def _ending_at_errors(self) -> Iterator[None]:
        """End all engines at once if there will be no figures."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def part_of(node: Node, messages: Sequence[EngineMessage]) -> tuple[EnginePart, EngineRecord]:
    """An engine's part of a load, and its record. Raises ProbeError if its messages are incomplete."""
    started = [message for message in messages if isinstance(message, protocol.Started)]
    records = [message for message in messages if isinstance(message, EngineRecord)]
    outcome = messages[-1] if messages else None
    if not (started and records and isinstance(outcome, LoadOutcome)):
        raise ProbeError(f"{node.name} sent no record of its part: install the same ringside-probe there")
    return EnginePart(node.name, node.address, started[0], outcome), records[0]


def begun(parts: Sequence[EnginePart]) -> protocol.Started:
    """How the engines began, as one."""
    each = [part.started for part in parts]
    return protocol.Started(
        protocol.VERSION,
        threads=sum(started.threads for started in each),
        connections=sum(started.connections for started in each),
        missing=tuple(f"{part.node}: {text}" for part in parts for text in part.started.missing),
    )


def warnings(whole: LoadOutcome, parts: Sequence[EnginePart]) -> tuple[protocol.EngineWarning, ...]:
    """Warnings of the whole load; those about a machine name it."""
    about_machines = []
    for part in parts:
        if part.figures.outcome == "load-failed":
            text, remedy = f"{part.node}: {part.figures.detail}", "check that this node reaches the target"
            about_machines.append(protocol.EngineWarning("engine-failed", text, remedy))
        own = [warning for warning in part.figures.warnings if warning.code in _OF_MACHINES]
        about_machines += [replace(warning, text=f"{part.node}: {warning.text}") for warning in own]
    of_load = [warning for warning in whole.warnings if warning.code not in _OF_MACHINES]
    return (*of_load, *about_machines)


def check_reach(addresses: Sequence[str], nodes: Sequence[Node]) -> None:
    """Raise UsageError where an address (`127.0.0.1:80`) is another server on each of several machines."""
    remote = next((node for node in nodes if not _is_here(node)), None)
    for address in addresses:
        host = address.rpartition(":")[0].strip("[]").partition("%")[0]
        if remote and ipaddress.ip_address(host).is_loopback:
            raise UsageError(
                f"{address} is another server on each machine: name the target by an address that "
                f"{remote.name} reaches"
            )


def _is_here(node: Node) -> bool:
    try:
        free_port(node.address)
    except OSError:
        return False
    return True


@contextmanager
def on_nodes(
    where: str, wanted: int | Sequence[str] | None, addresses: Sequence[str], say: Callable[[str], None]
) -> Iterator[Engines]:
    """Engines on nodes of a cluster, for a load at these addresses. Raises UsageError, ClusterError."""
    with upload() as (folder, _), connect(where, folder, option="--from") as session:
        nodes = choose(session.nodes(), wanted)
        check_reach(addresses, nodes)
        with closing(Engines(session, nodes, say)) as engines:
            yield engines
