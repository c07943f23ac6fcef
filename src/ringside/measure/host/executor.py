"""Where trials run: an executor takes a request of the probe and returns the probe's messages."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ringside.probe.process import Probe
from ringside.probe.protocol import TrialMessage, TrialRequest


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a contender can get where trials run: CPUs, and open descriptors in one process."""

    cpus: int
    descriptors: int


class Executor:
    """Carries out one trial at a time on this machine. `on_tick` is called every second or so meanwhile."""

    def __init__(self, probe: Probe | None = None, on_tick: Callable[[], None] | None = None) -> None:
        self.probe = probe or Probe()
        self._on_tick = on_tick
        self._usable = sorted(os.sched_getaffinity(0))

    def capacity(self) -> Capacity:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return Capacity(len(self._usable), sys.maxsize if hard == resource.RLIM_INFINITY else hard)

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """CPUs for a contender with so many cores, and those left for the probe (empty: shared). The
        contender gets the last ones: the first CPU takes most interrupts."""
        return tuple(self._usable[-cores:]), tuple(self._usable[:-cores])

    def prepare_loads(self) -> None:
        """Have the probe with the load engine ready, whose first build takes a minute. Raises ProbeError."""
        self.probe.need_loads()

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        """The probe's messages, the outcome last. Raises ProbeError when there is no outcome."""
        return self.probe.trial(request, self._on_tick)


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
