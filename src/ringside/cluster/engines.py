"""Load engines on several nodes of a cluster that share one load: what `Probe` is for one engine.

Every engine is made ready; then all are told to go. Each counts time from its own start: no clock of one
machine is compared with that of another. Their records are merged by a probe of this machine, as the records
of one engine's threads are (docs/PROTOCOL.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
from msgspec.structs import replace

from ringside import units
from ringside.cluster import parts
from ringside.cluster.engine import READY_S, Answer, Engine
from ringside.cluster.session import Node, NodeLostError, Session
from ringside.errors import ClusterError, UsageError
from ringside.load.result import EnginePart
from ringside.probe.process import Probe, interrupts
from ringside.probe.protocol import (
    VERSION,
    EngineMessage,
    EngineRecord,
    LoadOutcome,
    LoadPlan,
    LoadRequest,
    PartOfLoad,
)
from ringside.text import one_line

_TICK_S = 0.5
# How long a node may take to start an engine, if no other run has it.
_PLACE_S = 60.0
# What an interrupted load may take to report; it has a drain.
_END_S = 30.0
# What a call may take that does not wait for anything.
_GRACE_S = 60.0
# Beyond the limits of the load; as in probe/process.py, and the time in which its error comes here.
_PROBE_GRACE_S = 330.0 + _GRACE_S
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class EngineSlot:
    """The place of an engine: its node, and its number there, from 0: more than one where loads run at the
    same time."""

    node: Node
    number: int = 0


class Engines:
    """Engines on these nodes, one each, until `close`, or the end of a `with`. `interrupted`: whether a
    signal ended a load. After a load `parts` has what each engine did, and `started_within_s` a bound on how
    far apart they started."""

    def __init__(
        self,
        session: Session,
        nodes: Sequence[Node],
        say: Callable[[str], None],
        *,
        place_s: float = _PLACE_S,
        probe: Probe | None = None,
    ) -> None:
        """`say` gets a line where the nodes keep us waiting, for `place_s` at most. `probe`: the one that
        merges, found if left out. Raises ProbeError where this machine has none, ClusterError where an engine
        cannot be started."""
        self.nodes = tuple(nodes)
        self.parts: tuple[EnginePart, ...] = ()
        self.started_within_s = 0.0
        self.interrupted = False
        self._signals = 0
        self._session = session
        self._probe = probe or Probe()
        self._place_s = place_s
        self._actors: dict[EngineSlot, Any] = {}
        self._place([EngineSlot(node) for node in nodes], say)

    def load(
        self, request: LoadRequest, on_message: Callable[[EngineMessage], None] | None = None
    ) -> list[EngineMessage]:
        """The messages of the whole load, the outcome last: how the engines began, histograms, and the
        outcome; `on_message` gets each, at the end. Raises UsageError where there are fewer connections than
        threads, ClusterError where an engine is lost or cannot do its part (there are no figures that lack
        one), KeyboardInterrupt where signals came before the load began, or came twice."""
        plan, count = replace(request.load, progress_s=None), len(self.nodes)
        if plan.threads * count > plan.connections:
            threads = units.count(plan.threads, "thread")
            raise UsageError(
                f"{plan.connections} connections are too few for {count} engines with {threads} each: "
                "each thread needs one"
            )
        certificates = _certificates(plan)
        texts = _texts(plan, count)
        plans = {EngineSlot(node): text for node, text in zip(self.nodes, texts, strict=True)}
        with self._ending_at_errors(), interrupts(self._interrupt):
            self._prepare(plans, certificates)
            self._start(list(plans))
            answers = self._results(list(plans), _limit_s([plan]))
        each = [parts.part_of(slot.node, answer) for slot, answer in answers.items()]
        self.parts = tuple(part for part, _ in each)
        merged = self._probe.merge(plan, [record for _, record in each])
        outcome = merged[-1]
        assert isinstance(outcome, LoadOutcome)
        outcome = replace(outcome, warnings=parts.warnings(outcome, self.parts))
        messages = [parts.begun(self.parts), *merged[:-1], outcome]
        for message in messages:
            if on_message:
                on_message(message)
        return messages

    def step(
        self,
        plans: Sequence[LoadPlan],
        on_begun: Callable[[Sequence[int]], None],
        *,
        service_times: bool = False,
    ) -> list[tuple[int, EnginePart, EngineRecord]]:
        """Loads that run at the same time, each of as many engines as it has connections for; `on_begun`
        gets their numbers when all have been started, and `started_within_s` is there then. What each engine
        counted, with the number of the load; `service_times`: those of requests by their numbers, too. Raises
        NodeLostError where an engine is lost, ClusterError where one cannot do its part, KeyboardInterrupt
        after `call_off` before they began."""
        counts = [min(len(self.nodes), plan.connections // plan.threads) for plan in plans]
        texts: dict[EngineSlot, bytes] = {}
        for number, (plan, count) in enumerate(zip(plans, counts, strict=True)):
            slots = [EngineSlot(node, number) for node in self.nodes[:count]]
            texts |= zip(slots, _texts(plan, count, service_times), strict=True)
        with self._ending_at_errors():
            self._place([slot for slot in texts if slot not in self._actors])
            self._prepare(texts, None)
            self._start(list(texts))
            on_begun(counts)
            answers = self._results(list(texts), _limit_s(plans))
        return [(slot.number, *parts.part_of(slot.node, answer)) for slot, answer in answers.items()]

    def call_off(self) -> None:
        """End the loads of a step, and of those that follow until `go_on`, from any thread. Engines that have
        begun still report."""
        self._signals += 1
        self.interrupted = True

    def go_on(self) -> None:
        """After `call_off`."""
        self.interrupted, self._signals = False, 0

    def facts(self) -> dict[Node, Mapping[str, Any]]:
        """The facts of the nodes' machines. Raises ClusterError."""
        slots = [EngineSlot(node) for node in self.nodes]
        with self._ending_at_errors(), interrupts(self._interrupt):
            facts = self._call(lambda slot: self._actors[slot].facts.remote(), _GRACE_S, slots)
        return {slot.node: each for slot, each in facts.items()}

    def _place(self, slots: Sequence[EngineSlot], say: Callable[[str], None] | None = None) -> None:
        """Start engines."""
        for slot in slots:
            self._actors[slot] = self._session.actor(Engine, slot.node, holds=slot.number == 0).remote()
        with self._ending_at_errors(), interrupts(self._interrupt):
            self._call(lambda slot: self._actors[slot].__ray_ready__.remote(), self._place_s, slots, say)

    def _prepare(self, texts: Mapping[EngineSlot, bytes], certificates: bytes | None) -> None:
        """Make engines ready for their parts of loads."""
        prepared = self._call(
            lambda slot: self._actors[slot].prepare.remote(VERSION, texts[slot], certificates),
            READY_S + _GRACE_S,
            list(texts),
        )
        self._check(prepared)

    def _start(self, slots: Sequence[EngineSlot]) -> None:
        """Tell all to begin."""
        released_s = time.monotonic()
        self._call(lambda slot: self._actors[slot].start.remote(), _GRACE_S, slots)
        self.started_within_s = time.monotonic() - released_s

    def _results(self, slots: Sequence[EngineSlot], limit_s: float | None) -> Mapping[EngineSlot, Answer]:
        """The engines' answers, none of them an error."""
        deadline = time.monotonic() + limit_s if limit_s is not None else None
        answers: dict[EngineSlot, Answer] = {}
        is_called_off = False
        while len(answers) < len(slots):
            rest = [slot for slot in slots if slot not in answers]
            arrived = self._call(
                lambda slot: self._actors[slot].result.remote(_TICK_S), _GRACE_S, rest, ending=True
            )
            answers |= {slot: answer for slot, answer in arrived.items() if answer is not None}
            self._check(answers)
            if self.interrupted and not is_called_off:
                is_called_off = True
                self._call(lambda slot: self._actors[slot].call_off.remote(), _GRACE_S, slots, ending=True)
                deadline = time.monotonic() + _END_S
            if deadline is not None and time.monotonic() > deadline:
                raise NodeLostError(
                    f"{rest[0].node.name} did not end its part of the load: there are no figures"
                )
        return {slot: answers[slot] for slot in slots}

    def _call(
        self,
        method: Callable[[EngineSlot], Any],
        limit_s: float,
        slots: Sequence[EngineSlot],
        say: Callable[[str], None] | None = None,
        *,
        ending: bool = False,
    ) -> dict[EngineSlot, Any]:
        """What a method of each actor returns. `ending`: a first signal does not break it off. Raises
        NodeLostError where a node is lost or takes longer than `limit_s`."""
        ray, begun = self._session.ray, time.monotonic()
        values: dict[EngineSlot, Any] = {}
        refs = {}
        for slot in slots:
            with self._losses(slot.node):
                refs[method(slot)] = slot
        while refs:
            if self._signals > (1 if ending else 0):
                raise KeyboardInterrupt
            node = next(iter(refs.values())).node
            with self._losses(node):
                done, _ = ray.wait(list(refs), num_returns=1, timeout=_TICK_S)
            for ref in done:
                slot = refs.pop(ref)
                with self._losses(slot.node):
                    values[slot] = ray.get(ref)
            waited_s = time.monotonic() - begun
            if not done and waited_s > limit_s:
                raise NodeLostError(
                    f"{node.name} did not answer within {limit_s:g} s: another run may have it; wait for "
                    "that, or name other nodes with --engines"
                )
            if not done and say and waited_s > _PATIENCE_S:
                names = dict.fromkeys(slot.node.name for slot in refs.values())
                say(f"waiting for {', '.join(names)}, up to {limit_s:g} s")
                say = None
        return {slot: values[slot] for slot in slots}

    @contextmanager
    def _losses(self, node: Node) -> Iterator[None]:
        """Errors of Ray, as those of a node."""
        try:
            yield
        except (self._session.ray.exceptions.RayError, ConnectionError) as error:
            raise NodeLostError(
                f"{node.name} was lost or cannot run an engine, so there are no figures ({_reason(error)}): "
                "repeat the load, or name other nodes with --engines"
            ) from error

    def _check(self, answers: Mapping[EngineSlot, Answer]) -> None:
        for slot, answer in answers.items():
            if answer.error:
                raise ClusterError(f"{slot.node.name}: {one_line(answer.error, 300)}")

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all engines; each probe ends with its engine. A further `step` starts new ones."""
        for actor in self._actors.values():
            with suppress(Exception):
                self._session.ray.kill(actor)
        self._actors.clear()

    @contextmanager
    def _ending_at_errors(self) -> Iterator[None]:
        """End all engines at once if there will be no figures."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self.interrupted = True
        self._signals += 1


def _certificates(plan: LoadPlan) -> bytes | None:
    """The contents of the file that the plan names; the nodes do not have it."""
    cacert = plan.tls.cacert if plan.tls else None
    return Path(cacert).read_bytes() if cacert else None


def _texts(plan: LoadPlan, count: int, service_times: bool = False) -> list[bytes]:
    """The plans of so many engines that share a load, in JSON."""
    parts_of_load = [PartOfLoad(engine, count, service_times) for engine in range(count)]
    return [msgspec.json.encode(replace(plan, part=part)) for part in parts_of_load]


def _limit_s(plans: Sequence[LoadPlan]) -> float | None:
    """How long loads at the same time may take; None where one has no duration."""
    limits = [
        None if plan.duration_s is None else plan.duration_s + plan.timeout_s + _PROBE_GRACE_S
        for plan in plans
    ]
    return None if None in limits else max(limit for limit in limits if limit is not None)


def _reason(error: Exception) -> str:
    """What a long error of Ray says: that of a module which is missing there, or its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    missing = [line for line in lines if "ModuleNotFoundError" in line or "ImportError" in line]
    return one_line((missing or lines or [type(error).__name__])[-1 if missing else 0], 200)
