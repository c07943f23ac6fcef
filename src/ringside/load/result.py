"""What a load by itself showed: the engine's messages as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from ringside.cluster.parts import EnginePart
from ringside.errors import ProbeError
from ringside.probe.protocol import EngineMessage, EngineWarning, Histogram, LoadFigures, LoadOutcome, Started


@dataclass(frozen=True, slots=True)
class LoadResult:
    """One load: the figures of its outcome, all counts of each histogram by its name (pairs of value in
    nanoseconds and count), and how the engine began, None where it did not. Of a load from several nodes:
    what each engine did, and how far apart they started at most, in seconds."""

    figures: LoadFigures
    counts: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    started: Started | None = None
    engines: tuple[EnginePart, ...] = ()
    started_within_s: float | None = None

    @property
    def is_open_loop(self) -> bool:
        return self.figures.intended is not None

    @property
    def is_answered(self) -> bool:
        """Whether anything came back as expected."""
        return self.figures.requests + self.figures.late_requests + self.figures.messages > 0

    @property
    def is_refused(self) -> bool:
        """Whether no server listened: every connection was refused."""
        return self._failed_by("connect-refused")

    @property
    def is_untrusted(self) -> bool:
        """Whether every connection failed because of the server's certificate."""
        return self._failed_by("certificate")

    def _failed_by(self, kind: str) -> bool:
        return not self.figures.connections.get("opened") and set(self.figures.errors) == {kind}

    @property
    def is_lower_bound(self) -> bool:
        """Whether latencies are lower bounds: requests without an answer are among them with their age."""
        return self.is_open_loop and self.figures.unfinished > 0

    @property
    def main_histogram(self) -> str:
        """The name of the histogram that matters most: latency, or a stream's lateness."""
        return "lateness" if self.figures.latency("lateness") else "latency"

    def with_warnings(self, warnings: Iterable[EngineWarning]) -> LoadResult:
        """The same with more warnings."""
        figures = structs.replace(self.figures, warnings=(*self.figures.warnings, *warnings))
        return replace(self, figures=figures)


def from_messages(messages: Iterable[EngineMessage]) -> LoadResult:
    """The result in an engine's messages. Raises ProbeError where there is no outcome."""
    started: Started | None = None
    outcome: LoadOutcome | None = None
    counts = {}
    for message in messages:
        match message:
            case Started():
                started = message
            case Histogram():
                counts[message.name] = message.counts
            case LoadOutcome():
                outcome = message
    if outcome is None:
        raise ProbeError("the probe sent no outcome of the load: run `make setup`")
    return LoadResult(outcome, counts, started)
