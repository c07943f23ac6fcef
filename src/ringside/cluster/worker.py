"""Runs on a node: an actor that prepares contenders there and carries out their trials, one at a time. Errors
of Ringside's pass through to the driver."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from ringside.cluster.engines import Engines
from ringside.cluster.session import GroupPlacement, NodeLostError, Session, uploaded, uploaded_probe
from ringside.errors import ClusterError, ProbeError
from ringside.files import cache_folder
from ringside.measure import host
from ringside.measure.host import Capacity, Executor, MachineLock
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import Listener, attempt
from ringside.measure.runs.plan import Prepared, check_machine, prepare
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Trial
from ringside.probe import protocol
from ringside.probe.process import Probe
from ringside.probe.protocol import TrialMessage, TrialRequest
from ringside.text import one_line
from ringside.workloads import workload as find_workload


class TwoSidedExecutor(Executor):
    """Trials whose probe is here, on the contender's node, and whose loads engines on other nodes carry out.
    The probe merges and judges what they count as the records of its own engines (docs/PROBE.md)."""

    def __init__(self, probe: Probe, engines: Engines) -> None:
        super().__init__(probe)
        self._engines = engines
        # One thread for all steps: calls of the engines follow one another.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engines")

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        """Raises NodeLostError, too, if an engine was lost: that says nothing about the contender."""
        service = request.service
        steps: list[Future[None]] = []

        def on_message(message: TrialMessage) -> None:
            if isinstance(message, protocol.Drive) and service:
                steps.append(self._thread.submit(self._drive, service, message))

        self._engines.go_on()
        try:
            return self.probe.trial(request, on_message=on_message)
        finally:
            # The trial may be over while a step is under way: its server has crashed, say.
            if any(not step.done() for step in steps):
                self._engines.interrupt()
            for step in steps:
                with suppress(KeyboardInterrupt):
                    step.result()

    def _drive(self, service: protocol.Service, drive: protocol.Drive) -> None:
        """Have the engines carry out a step, and tell the probe their counts."""
        step = service.steps[drive.step]
        host = f"[{service.host}]" if ":" in service.host else service.host
        plans: list[protocol.LoadPlan] = [
            structs.replace(load.plan, addresses=(f"{host}:{drive.port}",), progress_s=None)
            for load in step.loads
        ]

        def begun(counts: Sequence[int]) -> None:
            within_ns = round(self._engines.started_within_s * 1e9)
            self.probe.notify(protocol.Notice(begun=protocol.Begun(tuple(counts), within_ns)))

        try:
            # Upstreams are here, and know requests by their numbers; engines know how long each took.
            parts = self._engines.step(plans, begun, service_times=service.stub is not None)
        except (ClusterError, ProbeError) as error:
            self.probe.notify(protocol.Notice(failed=one_line(str(error), 300)))
            if isinstance(error, NodeLostError | ProbeError):
                raise NodeLostError(str(error)) from error
            # An engine cannot do its part, as a probe here could not: a row.
            return
        for number, _, record in parts:
            self.probe.notify(protocol.Notice(record=protocol.PartRecord(number, record)))


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as contenders find it. `host`: its `facts`; `engines`: those of engines' machines, by name."""

    host: Mapping[str, Any]
    capacity: Capacity
    engines: Mapping[str, Mapping[str, Any]]


class NodeWorker:
    """Measures on one node, whose `name` its trials carry."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._folder = cache_folder()
        self._lock = MachineLock()
        self._prepared: dict[str, Prepared] = {}
        self._address: str | None = None
        self._probe: Probe | None = None

    def engage(self, site: GroupPlacement) -> NodeFacts | None:
        """Have the lock of the machine, and the site's engines; None if another process measures there.
        Raises ProbeError if no probe starts there, ClusterError if an engine cannot be started."""
        # Asked again and again while another run measures here: the probe is checked once.
        probe = self._probe = self._probe or uploaded_probe()
        self._executor = Executor(probe)
        if not self._lock.take():
            return None
        engines: dict[str, Mapping[str, Any]] = {}
        if site.engines:
            import ray

            # The driver tells users why it waits.
            actors = Engines(Session(ray, site.name), site.engines, lambda _: None, probe=probe)
            self._executor = TwoSidedExecutor(probe, actors)
            self._address = site.node.address
            engines = actors.facts()
        return NodeFacts(host.facts(cpus=self._executor.usable), self._executor.capacity(), engines)

    def prepare(
        self,
        experiment: Experiment,
        points: Sequence[Point],
        contenders: Mapping[str, Contender | Unavailable],
    ) -> Mapping[str, Ready | Unavailable]:
        """Builds the contenders that can run here. Raises UsageError if the node has too few CPUs or
        descriptors, no sandbox, or no room for a file."""
        workload = find_workload(experiment.workload)
        check_machine(points, workload, self._executor.capacity())
        here = {name: _here(each) for name, each in contenders.items()}
        inputs = Inputs(Path(os.environ.get("RINGSIDE_INPUTS") or self._folder / "inputs"))
        prepared = prepare(experiment, points, here, Toolchain(self._folder / "builds"), inputs, Listener())
        self._prepared[experiment.name] = prepared
        return prepared.contenders

    def begin(self, experiment: str, seed: int) -> None:
        """Begin a run of the prepared contenders: each once, as before every run."""
        prepared = self._prepared[experiment]
        # Not for preparing: builds may use all CPUs.
        _keep_off_contender_cpus(self._executor)
        self._maker = ContenderTrials(seed, prepared, self._executor, listen_at=self._address)
        self._maker.warm_up(Listener())

    def trial(self, block: int, position: int, cell: Cell, first: bool) -> Trial:
        """One trial of a cell; one whose probe failed says so."""
        trial = attempt(self._maker, block, position, cell, first=first)
        return replace(trial, machine=self.name)

    def can_measure(self, cell: Cell) -> bool:
        """Whether the probe carries out a harmless program in the place of a cell's."""
        return self._maker.can_measure(cell)

    def end(self) -> None:
        """After the last trial of a run."""
        self._maker.close()


def _here(contender: Contender | Unavailable) -> Contender | Unavailable:
    if isinstance(contender, Unavailable):
        return contender
    folder = uploaded(contender.folder)
    return structs.replace(contender, folder=folder if folder.is_dir() else Path.home())


def _keep_off_contender_cpus(executor: Executor) -> None:
    """Keep all threads of this worker, Ray's too, off the CPU that one-core contenders get."""
    _, others = executor.cpus(1)
    for task in os.listdir("/proc/self/task") if others else []:
        with suppress(OSError):
            os.sched_setaffinity(int(task), others)
