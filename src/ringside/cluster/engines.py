"""Load engines on several nodes of a cluster that share one load: what `Probe` is for one engine.

Every engine is made ready; then all are told to go. Each counts time from its own start: no clock of one
machine is compared with that of another. Their records are merged by a probe of this machine, as the records
of one engine's threads are (docs/PROTOCOL.md).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
from msgspec.structs import replace

from ringside.cluster import parts
from ringside.cluster.engine import READY_S, Answer, Engine
from ringside.cluster.parts import EnginePart
from ringside.cluster.session import Node, Session
from ringside.errors import ClusterError, UsageError
from ringside.probe.process import Probe
from ringside.probe.protocol import (
    VERSION,
    EngineMessage,
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
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    ) -> None:
        """`say` gets a line where the nodes keep us waiting, for `place_s` at most. Raises ProbeError where
        this machine has no probe, ClusterError where an engine cannot be started."""
        self.nodes = tuple(nodes)
        self.parts: tuple[EnginePart, ...] = ()
        self.started_within_s = 0.0
        self.interrupted = False
        self._signals = 0
        self._session = session
        self._probe = Probe()
        self._actors = {node: session.actor(Engine, node).remote() for node in nodes}
        with self._ending_at_errors(), self._interrupts():
            self._call(lambda node: self._actors[node].__ray_ready__.remote(), place_s, say)

    def load(
        self, request: LoadRequest, on_message: Callable[[EngineMessage], None] | None = None
    ) -> list[EngineMessage]:
        """The messages of the whole load, the outcome last: how the engines began, histograms, and the
        outcome; `on_message` gets each, at the end. Raises UsageError where there are fewer connections than
        threads, ClusterError where an engine is lost or cannot do its part (there are no figures that lack
        one), KeyboardInterrupt where signals came before the load began, or came twice."""
        plan, count = replace(request.load, progress_s=None), len(self.nodes)
        if plan.threads * count > plan.connections:
            threads = f"{plan.threads} thread{'s' * (plan.threads != 1)}"
            raise UsageError(
                f"{plan.connections} connections are too few for {count} engines with {threads} each: "
                "each thread needs one"
            )
        with self._ending_at_errors(), self._interrupts():
            answers = self._carry_out(plan)
        each = [parts.part_of(node, answer) for node, answer in answers.items()]
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

    def _carry_out(self, plan: LoadPlan) -> Mapping[Node, Answer]:
        """The engines' answers, none of them an error."""
        cacert = plan.tls.cacert if plan.tls else None
        certificates = Path(cacert).read_bytes() if cacert else None
        count = len(self.nodes)
        texts = [
            msgspec.json.encode(replace(plan, part=PartOfLoad(engine, count))) for engine in range(count)
        ]
        plans = dict(zip(self.nodes, texts, strict=True))
        prepared = self._call(
            lambda node: self._actors[node].prepare.remote(VERSION, plans[node], certificates),
            READY_S + _GRACE_S,
        )
        self._check(prepared)
        told = time.monotonic()
        self._call(lambda node: self._actors[node].start.remote(), _GRACE_S)
        self.started_within_s = time.monotonic() - told
        limit_s = None if plan.duration_s is None else plan.duration_s + plan.timeout_s + _PROBE_GRACE_S
        return self._results(limit_s)

    def _results(self, limit_s: float | None) -> Mapping[Node, Answer]:
        deadline = time.monotonic() + limit_s if limit_s is not None else None
        answers: dict[Node, Answer] = {}
        is_called_off = False
        while len(answers) < len(self.nodes):
            rest = [node for node in self.nodes if node not in answers]
            given = self._call(
                lambda node: self._actors[node].result.remote(_TICK_S), _GRACE_S, nodes=rest, ending=True
            )
            answers |= {node: answer for node, answer in given.items() if answer is not None}
            self._check(answers)
            if self.interrupted and not is_called_off:
                is_called_off = True
                self._call(lambda node: self._actors[node].call_off.remote(), _GRACE_S, ending=True)
                deadline = time.monotonic() + _END_S
            if deadline is not None and time.monotonic() > deadline:
                raise ClusterError(f"{rest[0].name} did not end its part of the load: there are no figures")
        return {node: answers[node] for node in self.nodes}

    def _call(
        self,
        method: Callable[[Node], Any],
        limit_s: float,
        say: Callable[[str], None] | None = None,
        *,
        nodes: Sequence[Node] | None = None,
        ending: bool = False,
    ) -> dict[Node, Any]:
        """What a method of each actor returns. `ending`: a first signal does not break it off. Raises
        ClusterError where a node is lost or takes longer than `limit_s`."""
        ray, begun = self._session.ray, time.monotonic()
        values: dict[Node, Any] = {}
        refs = {}
        for node in self.nodes if nodes is None else nodes:
            with self._losses(node):
                refs[method(node)] = node
        while refs:
            if self._signals > (1 if ending else 0):
                raise KeyboardInterrupt
            node = next(iter(refs.values()))
            with self._losses(node):
                done, _ = ray.wait(list(refs), num_returns=1, timeout=_TICK_S)
            for ref in done:
                node = refs.pop(ref)
                with self._losses(node):
                    values[node] = ray.get(ref)
            waited_s = time.monotonic() - begun
            if not done and waited_s > limit_s:
                raise ClusterError(
                    f"{node.name} did not answer within {limit_s:g} s: another run may have it; wait for "
                    "that, or name other nodes with --engines"
                )
            if not done and say and waited_s > _PATIENCE_S:
                say(f"waiting for {', '.join(node.name for node in refs.values())}, up to {limit_s:g} s")
                say = None
        return {node: values[node] for node in self.nodes if node in values}

    @contextmanager
    def _losses(self, node: Node) -> Iterator[None]:
        """Errors of Ray, as those of a node."""
        try:
            yield
        except (self._session.ray.exceptions.RayError, ConnectionError) as error:
            raise ClusterError(
                f"{node.name} was lost or cannot run an engine, so there are no figures ({_reason(error)}): "
                "repeat the load, or name other nodes with --engines"
            ) from error

    def _check(self, answers: Mapping[Node, Answer]) -> None:
        for node, answer in answers.items():
            if answer.error:
                raise ClusterError(f"{node.name}: {one_line(answer.error, 300)}")

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all engines; each probe ends with its engine."""
        for actor in self._actors.values():
            with suppress(Exception):
                self._session.ray.kill(actor)

    @contextmanager
    def _ending_at_errors(self) -> Iterator[None]:
        """End all engines at once if there will be no figures."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Signals end the load, not ringside: the engines still report."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._interrupt) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self.interrupted = True
        self._signals += 1


def _reason(error: Exception) -> str:
    """What a long error of Ray says: that of a module which is missing there, or its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    missing = [line for line in lines if "ModuleNotFoundError" in line or "ImportError" in line]
    return one_line((missing or lines or [type(error).__name__])[-1 if missing else 0], 200)
