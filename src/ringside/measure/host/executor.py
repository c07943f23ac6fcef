"""Where trials run. An executor takes a request of the probe and returns the probe's messages."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from ringside.probe.process import Probe
from ringside.probe.protocol import TrialMessage, TrialRequest


class Capacity(Protocol):
    """What programs can get where trials run."""

    def available_cpus(self) -> int:
        """How many CPUs a contender may get."""
        ...

    def descriptors(self) -> int:
        """How many a process may have open at most."""
        ...


class Executor(Capacity, Protocol):
    """Carries out one trial at a time."""

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """CPUs for a contender with so many cores, and those left for the probe (empty: shared)."""
        ...

    def trial(self, request: TrialRequest, tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        """The probe's messages, the outcome last. `tick` is called every second or so meanwhile. Raises
        ProbeError when there is no outcome."""
        ...


class LocalExecutor:
    """Trials on this machine."""

    def __init__(self, probe: Probe | None = None) -> None:
        self.probe = probe or Probe()
        self._usable = sorted(os.sched_getaffinity(0))

    def available_cpus(self) -> int:
        return len(self._usable)

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        # The last ones: the first CPU takes most interrupts.
        return tuple(self._usable[-cores:]), tuple(self._usable[:-cores])

    def descriptors(self) -> int:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        return sys.maxsize if most == resource.RLIM_INFINITY else most

    def trial(self, request: TrialRequest, tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        return self.probe.trial(request, tick)


@contextmanager
def off_contender_cpus(executor: Executor) -> Iterator[None]:
    """Keep ringside itself off the CPU that one-core contenders get meanwhile, where there is another."""
    before = os.sched_getaffinity(0)
    _, others = executor.cpus(1)
    os.sched_setaffinity(0, others or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
