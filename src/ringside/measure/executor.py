"""Where trials run. An executor takes a probe's request and gives back the probe's lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Executor(Protocol):
    """Carries out one trial at a time."""

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """CPUs for a contender with so many cores, and those left for the probe (empty: shared)."""
        ...

    def available_cpus(self) -> int:
        """How many CPUs a contender may be given."""
        ...

    def descriptors(self) -> int:
        """How many a process may have open at most."""
        ...

    def run(self, request: Mapping[str, Any], tick: Callable[[], None] | None = None) -> list[bytes]:
        """The probe's lines for this request; the last is the outcome. `tick` is called every second or
        so meanwhile. Raises ProbeError when there is no outcome."""
        ...
