"""One of several load engines, on a node of its own: an actor of Ray that drives a probe. Its methods answer
with plain values: an error of a node needs no type that the other side knows."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from ringside.cluster.upload import uploaded_probe
from ringside.errors import ProbeError, RingsideError
from ringside.measure import host
from ringside.probe.process import Probe
from ringside.probe.protocol import EngineMessage, LoadPlan, LoadRequest

# What an engine may take to raise its limits and to read certificates.
READY_S = 30.0


@dataclass(frozen=True, slots=True)
class EngineReply:
    """What became of a call: a text in JSON, or the line that says why there is none."""

    text: bytes = b""
    error: str = ""


class Engine:
    """Carries out parts of loads, one after another: `prepare`, `start`, and `result` until it has one."""

    def __init__(self) -> None:
        self._probe: Probe | None = None
        self._thread: threading.Thread | None = None
        self._ready, self._go = threading.Event(), threading.Event()
        self._is_called_off = False
        self._answer = EngineReply()

    def facts(self) -> dict[str, Any]:
        return host.facts()

    def prepare(self, plan: bytes, certificates: bytes | None) -> EngineReply:
        """Make ready for a part of a load. `plan`: in JSON; `certificates`: the contents of its `cacert`. The
        answer has an error, or nothing."""
        self._ready, self._go = threading.Event(), threading.Event()
        self._is_called_off, self._answer = False, EngineReply()
        if self._probe and self._probe.interrupted:
            # It would end this load, too.
            self._probe = None
        # A thread of its own lives as long as the load: with its parent's thread a probe ends, too.
        self._thread = threading.Thread(target=self._run, args=(plan, certificates), daemon=True)
        self._thread.start()
        if not self._ready.wait(READY_S):
            self.call_off()
            return EngineReply(error=f"the engine was not ready within {READY_S:g} s")
        return self._answer

    def start(self) -> None:
        """Begin the load that was prepared."""
        self._go.set()

    def call_off(self) -> None:
        """End what is under way. A load that had begun still reports."""
        if not self._go.is_set():
            self._is_called_off = True
            self._go.set()
        elif self._probe:
            self._probe.interrupt()

    def result(self, wait_s: float) -> EngineReply | None:
        """All messages of the load, as a list; None where it goes on after so many seconds. Calls of an actor
        follow one another, so a longer wait would hold back `call_off`."""
        assert self._thread
        self._thread.join(wait_s)
        return None if self._thread.is_alive() else self._answer

    def _run(self, plan: bytes, certificates: bytes | None) -> None:
        try:
            with tempfile.NamedTemporaryFile(suffix=".pem") as file:
                part = msgspec.json.decode(plan, type=LoadPlan)
                if certificates is not None and part.tls is not None:
                    file.write(certificates)
                    file.flush()
                    part = replace(part, tls=replace(part.tls, cacert=file.name))
                self._probe = self._probe or uploaded_probe()
                messages: list[EngineMessage] = self._probe.load(LoadRequest(part), go=self._begin)
                self._answer = EngineReply(msgspec.json.encode(messages))
        except (RingsideError, OSError, ValueError, KeyboardInterrupt) as error:
            self._answer = EngineReply(error=str(error) or "the load was ended")
        finally:
            self._ready.set()

    def _begin(self) -> None:
        self._ready.set()
        self._go.wait()
        if self._is_called_off:
            raise ProbeError("the load was called off")
