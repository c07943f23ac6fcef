"""Two-sided trials, on the contender's node: its probe carries out the trial, but for the loads, which
engines on other nodes carry out. What these count is handed to that probe, which merges and judges it as the
records of its own engines (docs/PROTOCOL.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from msgspec.structs import replace

from ringside.cluster.engines import Engines
from ringside.cluster.session import NodeLostError
from ringside.errors import ClusterError, ProbeError
from ringside.measure.executor import LocalExecutor
from ringside.probe.process import Probe
from ringside.probe.protocol import (
    Begun,
    Drive,
    LoadPlan,
    LoadsBegun,
    LoadsFailed,
    PartEnded,
    PartRecord,
    Service,
    TrialMessage,
    TrialRequest,
)
from ringside.text import one_line

_SHOWN = 300


class TwoSidedExecutor(LocalExecutor):
    """Trials on this machine whose loads come from engines elsewhere."""

    def __init__(self, probe: Probe, engines: Engines) -> None:
        super().__init__(probe)
        self._engines = engines
        # One thread for all steps: calls of the engines follow one another.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engines")

    def trial(self, request: TrialRequest, tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        """As everywhere. Raises NodeLostError, too, where an engine was lost: that says nothing about the
        contender."""
        service = request.service
        steps: list[Future[None]] = []

        def on_message(message: TrialMessage) -> None:
            if isinstance(message, Drive) and service:
                steps.append(self._thread.submit(self._drive, service, message))

        self._engines.go_on()
        error: ProbeError | None = None
        messages: list[TrialMessage] = []
        try:
            messages = self.probe.trial(request, tick, on_message)
        except ProbeError as problem:
            error = problem
        finally:
            # The trial may be over while a step is under way: its server has crashed, say.
            if any(not step.done() for step in steps):
                self._engines.call_off()
        for step in steps:
            with suppress(KeyboardInterrupt):
                step.result()
        if error:
            raise error
        return messages

    def _drive(self, service: Service, drive: Drive) -> None:
        """Have the engines carry out a step, and tell the probe what they counted."""
        step = service.steps[drive.step]
        host = f"[{service.host}]" if ":" in service.host else service.host
        plans: list[LoadPlan] = [
            replace(load.plan, addresses=(f"{host}:{drive.port}",), progress_s=None) for load in step.loads
        ]

        def begun(counts: Sequence[int]) -> None:
            within_ns = round(self._engines.started_within_s * 1e9)
            self.probe.notify(LoadsBegun(Begun(tuple(counts), within_ns)))

        try:
            # Upstreams are here, and know requests by their numbers; engines know how long each took.
            parts = self._engines.step(plans, begun, service_times=service.stub is not None)
        except (NodeLostError, ProbeError) as error:
            self.probe.notify(LoadsFailed(one_line(str(error), _SHOWN)))
            raise NodeLostError(str(error)) from error
        except ClusterError as error:
            # An engine cannot do its part, as a probe here could not: a row.
            self.probe.notify(LoadsFailed(one_line(str(error), _SHOWN)))
            return
        for number, part, record in parts:
            self.probe.notify(PartEnded(PartRecord(number, part.started.io, record)))
