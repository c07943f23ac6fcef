"""What runs on a node: an actor that prepares contenders there and carries out their trials, one at a time.

Its methods are called one after another. Errors of Ringside's pass through to the driver.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringside.cluster.engines import Engines
from ringside.cluster.groups import GroupSession, Site
from ringside.cluster.parcel import sent, sent_probe
from ringside.cluster.two_sided import TwoSidedExecutor
from ringside.files import cache_folder
from ringside.measure import host, plan, sandbox
from ringside.measure.exclusive import MachineLock
from ringside.measure.executor import LocalExecutor
from ringside.measure.inputs import Inputs
from ringside.measure.places import SilentObserver, attempt
from ringside.measure.prepare import Prepared, input_files
from ringside.measure.toolchain import Toolchain
from ringside.measure.trials import ContenderTrials
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Trial
from ringside.workloads import workload as find_workload


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as contenders find it. `host`: `measure/host.py` `facts`."""

    host: Mapping[str, Any]
    cpus: int
    descriptors: int


class Bench:
    """Measures on one node, whose `name` its trials carry."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._folder = cache_folder()
        self._lock = MachineLock()
        self._prepared: dict[str, Prepared] = {}
        self._maker: ContenderTrials | None = None
        self._address: str | None = None

    def facts(self) -> NodeFacts:
        """The node's. Raises ProbeError where no probe starts there."""
        self._executor = LocalExecutor(sent_probe())
        usable, _ = self._executor.cpus(self._executor.available_cpus())
        facts = host.facts() | {"cpus_usable": list(usable)}
        return NodeFacts(facts, self._executor.available_cpus(), self._executor.descriptors())

    def take_machine(self) -> bool:
        """Have the lock of the machine, unless another process measures there."""
        return self._lock.take()

    def take_engines(self, site: Site) -> dict[str, Mapping[str, Any]]:
        """Have the loads of trials come from the site's engines; the facts of their machines, by name. Raises
        ClusterError where an engine cannot be started."""
        import ray

        probe = self._executor.probe
        engines = Engines(GroupSession(ray, site), site.engines, _say_nothing, probe=probe)
        self._executor = TwoSidedExecutor(probe, engines)
        self._address = site.node.address
        return {node.name: facts for node, facts in engines.facts().items()}

    def prepare(
        self, experiment: Experiment, points: Sequence[Point], contenders: Mapping[str, Contender]
    ) -> dict[str, Ready | Unavailable]:
        """Receipts and builds of contenders, and the files that they read; returns what can run here. Raises
        UsageError where the node has too few CPUs or descriptors, or no room for a file."""
        workload = find_workload(experiment.workload)
        if experiment.sandbox:
            sandbox.check()
        plan.check_machine(points, workload, self._executor.available_cpus(), self._executor.descriptors())
        toolchain = Toolchain(self._folder / "builds")
        prepared = {name: toolchain.prepare(_here(contender)) for name, contender in contenders.items()}
        inputs = Inputs(Path(os.environ.get("RINGSIDE_INPUTS") or self._folder / "inputs"))
        files = input_files(points, workload, inputs, _Silent())
        self._prepared[experiment.name] = Prepared(experiment, workload, tuple(points), prepared, files)
        return prepared

    def begin(self, experiment: str, seed: int) -> None:
        """Begin a run of what was prepared: each contender once, as before every run."""
        prepared = self._prepared[experiment]
        # Not for preparing: builds may use all CPUs.
        _keep_off_contender_cpus(self._executor)
        self._maker = ContenderTrials(seed, prepared, self._executor, listen_at=self._address)
        self._maker.warm_up(SilentObserver())

    def trial(self, block: int, position: int, cell: Cell, first: bool) -> Trial:
        """One trial of a cell; one whose probe failed says so."""
        assert self._maker
        trial = attempt(self._maker, block, position, cell, first=first, tick=_nothing)
        return replace(trial, machine=self._name)

    def can_measure(self, cell: Cell) -> bool:
        """Whether the probe carries out a harmless program in the place of a cell's."""
        assert self._maker
        return self._maker.can_measure(cell)

    def end(self) -> None:
        """After the last trial of a run."""
        if self._maker:
            self._maker.close()
        self._maker = None


class _Silent(SilentObserver):
    def on_prepare(self, contender: str) -> None:
        pass

    def on_build(self, contender: Contender) -> None:
        pass

    def on_prepared(self, contender: Ready | Unavailable) -> None:
        pass

    def on_input(self, name: str, most_bytes: int) -> None:
        pass


def _nothing() -> None:
    pass


def _say_nothing(text: str) -> None:
    """The driver tells users what it waits for."""


def _here(contender: Contender) -> Contender:
    folder = sent(contender.folder)
    return replace(contender, folder=folder if folder.is_dir() else Path.home())


def _keep_off_contender_cpus(executor: LocalExecutor) -> None:
    """Keep all threads of this worker, Ray's too, off the CPU that one-core contenders get, where there is
    another."""
    _, others = executor.cpus(1)
    for task in os.listdir("/proc/self/task") if others else []:
        with suppress(OSError):
            os.sched_setaffinity(int(task), others)
