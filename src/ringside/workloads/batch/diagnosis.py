"""Where the wall time of a batch went: to the unit that reads, to the unit that writes, or to the cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringside.model.results import Interval

# From this share of the wall time on, a unit is called the bottleneck.
_BOTTLENECK = 0.8
# Mean number of busy cores, where there are several, that a single unit at a time explains.
_ONE_CORE = (0.9, 1.1)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of the wall time: of the unit that reads, of the unit that writes, and of all cores; and the
    share of the computing units' time in which they waited for a place in the queue."""

    read: float
    write: float
    busy: float
    full: float


def bottleneck(contender: str, cores: int, figures: Mapping[str, Interval]) -> str | None:
    """A sentence on what holds the contender back; None where the figures lack a share."""
    shares = _shares(figures)
    if shares is None:
        return None
    core = f"its {cores} cores are" if cores > 1 else "its core is"
    observation = (
        f"reading by one unit takes {shares.read:.0%} of the wall time, writing {shares.write:.0%}; "
        f"{core} busy for {shares.busy:.0%} of it"
    )
    return f"{contender}: {observation}: {_conclusion(shares, cores)}"


def _conclusion(shares: _Shares, cores: int) -> str:
    if shares.read + shares.write >= _BOTTLENECK and shares.busy < _BOTTLENECK and cores > 1:
        part = "reading" if shares.read >= shares.write else "writing"
        return f"{part} is the bottleneck, and more cores cannot help"
    if shares.busy >= _BOTTLENECK:
        return "the cores are the bottleneck"
    if shares.full >= _BOTTLENECK:
        return "its units wait for places in the queue of answers"
    if cores > 1 and _ONE_CORE[0] <= shares.busy * cores <= _ONE_CORE[1]:
        return (
            "one core is busy at a time: it has a single unit, or all its units share one lock, and more "
            "cores cannot help"
        )
    return "neither explains it: units wait for each other, the disk, or a host that gives no CPU"


def _shares(figures: Mapping[str, Interval]) -> _Shares | None:
    def estimate(name: str) -> float | None:
        return figures[name].estimate if name in figures else None

    wall, read, write, busy = map(estimate, ("wall_s", "read_s", "write_s", "busy_share"))
    if not wall or read is None or write is None or busy is None:
        return None
    waited, computed = estimate("wait_full_s") or 0.0, estimate("compute_s") or 0.0
    full = waited / (waited + computed) if waited else 0.0
    return _Shares(read / wall, write / wall, busy, full)
