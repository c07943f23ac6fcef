"""A load while it runs, on a terminal: figures, and a strip of latency over time."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import structs
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ringside import units as numbers
from ringside.load import thresholds
from ringside.load.plan import max_duration_s
from ringside.load.result import LoadResult, Threshold
from ringside.probe.protocol import EngineMessage, LatencySummary, LoadFigures, LoadPlan, LoadProgress
from ringside.render.text import terminal
from ringside.stats.samples import PERCENTILES, ValueCounts
from ringside.text import one_line

_STYLES = ("", "blue", "cyan", "yellow", "bright_red")
_LABEL = 8
_MAX_ROWS = 12
# The lines above and below the strip, and the line with the cursor.
_OTHER_LINES = 7
# Bands of latency that are drawn for each doubling; the engine has finer ones.
_BANDS = 8
# The strip gets a column each second, and more columns in a short load.
_PROGRESS_S = 1.0
_MIN_PROGRESS_S = 0.1
_COLUMNS = 40
# The columns kept of a load of hours; odd, because pairs are merged once there is one more.
_MAX_COLUMNS = 1999
# A day.
_MAX_INTERVALS = 86_400
# The time between lines without a terminal: CI services end jobs that are silent for minutes.
_LINE_S = 10.0


def progress_interval_s(plan: LoadPlan) -> float:
    """How often the engine is to report the progress of a load."""
    duration_s = max_duration_s(plan) or math.inf
    return min(_PROGRESS_S, max(_MIN_PROGRESS_S, duration_s / _COLUMNS))


class View:
    """The progress of a load so far, as text for a screen of any size."""

    def __init__(self, title: str, plan: LoadPlan) -> None:
        self.title = title
        self._plan = plan
        self._total_s = max_duration_s(plan)
        self._columns: list[tuple[float, Counter[float]]] = []
        self._answered = self._errors = 0
        self._last: LoadProgress | None = None

    def add(self, progress: LoadProgress) -> None:
        """Take the progress of another interval."""
        self._last = progress
        self._answered += progress.requests
        self._errors += progress.errors
        counts: Counter[float] = Counter()
        for upper_ns, count in progress.buckets:
            counts[2 ** (math.floor(math.log2(upper_ns) * _BANDS) / _BANDS)] += count
        self._columns.append((progress.t_ns / 1e9, counts))
        if len(self._columns) > _MAX_COLUMNS:
            pairs = zip(self._columns[::2], self._columns[1::2], strict=False)
            self._columns = [(end_s, earlier + later) for (_, earlier), (end_s, later) in pairs]

    def render(self, width: int, height: int) -> Text:
        """The view in this many columns and lines."""
        lines = [Text(one_line(self.title, width), style="bold")]
        lines += [Text(line) for line in pack(self.fields(), width)]
        room = min(_MAX_ROWS, height - _OTHER_LINES)
        if room >= 2 and width > _LABEL + 2:
            lines += self._strip(width - _LABEL - 1, room)
        return Text("\n").join(lines)

    def fields(self) -> list[str]:
        """The figures of the last interval, each with its name."""
        last = self._last
        if last is None:
            return ["waiting for the first replies"]
        interval_s = max(1e-9, last.interval_ns / 1e9)
        so_far = self._seconds(last.t_ns / 1e9)
        fields = [f"{so_far} of {self._total_s:g} s" if self._total_s else f"{so_far} s"]
        if self._plan.requests:
            fields.append(f"{self._answered:,} of {self._plan.requests:,}")
        rate = f"{numbers.significant(last.requests / interval_s)}/s"
        if last.intended:
            rate += f" (intended {numbers.significant(last.intended / interval_s)}/s)"
        fields.append(rate)
        is_stream = self._plan.protocol == "stream"
        for name, value in (("p50", last.p50_ns), ("p99", last.p99_ns), ("max", last.max_ns)):
            text = numbers.quantity(value, "ns") if value is not None else "–"
            fields.append(f"{'late ' * is_stream}{name} {text}")
        fields.append(f"{last.open:,} open")
        if not is_stream:
            fields.append(f"{last.in_flight:,} in flight")
        return [*fields, numbers.count(self._errors, "error")]

    def _seconds(self, value: float) -> str:
        return f"{value:.{1 if self._total_s and self._total_s < 10 else 0}f}"

    def _strip(self, width: int, max_rows: int) -> list[Text]:
        """Rows of latency, the slowest above; columns of time, wider ones where there are too many."""
        last_s = self._columns[-1][0] if self._columns else 0.0
        column_s = progress_interval_s(self._plan)
        column_s *= max(1, math.ceil(last_s / column_s / width))
        merged: list[Counter[float]] = [Counter() for _ in range(max(1, math.ceil(last_s / column_s)))]
        for at_s, counts in self._columns:
            # Progress is reported at the end of its interval.
            merged[max(0, math.ceil(at_s / column_s) - 1)].update(counts)
        latencies = [value for counts in merged for value in counts]
        if not latencies:
            return []
        edges = terminal.band_edges(min(latencies), max(latencies), max_rows, fine=False)
        cells = [terminal.band_counts(counts.items(), edges) for counts in merged]
        darkest = max(max(column) for column in cells)
        rows = []
        for band in reversed(range(len(edges))):
            row = Text(f"{terminal.band_label(edges[band]):>{_LABEL}} ")
            for column in cells:
                level = terminal.shade(column[band], darkest)
                row.append(terminal.SHADES[level], style=_STYLES[level])
            rows.append(row)
        end = f"{self._seconds(last_s)} s"
        axis = f"{'':{_LABEL}} 0{end:>{max(len(end) + 1, len(merged) - 1)}}"
        return [*rows, Text(one_line(axis, width + _LABEL + 1), style="dim")]


def pack(fields: list[str], width: int) -> list[str]:
    """Fields into lines of this width, two spaces between; a field that is longer is cut."""
    lines: list[str] = []
    for each in (one_line(text, width) for text in fields):
        if lines and len(lines[-1]) + 2 + len(each) <= width:
            lines[-1] += f"  {each}"
        else:
            lines.append(each)
    return lines


@dataclass(eq=False)
class Watch:
    """Keeps a load's progress, and ends the load once a condition holds for all of it so far: judged each
    second, a percentile once enough requests lie beyond it."""

    conditions: Sequence[Threshold]
    give_up: Callable[[], None]
    forward: Callable[[EngineMessage], None]
    # Why the load was ended early; empty if it was not.
    reason: str = ""
    intervals: list[LoadProgress] = field(default_factory=list)
    _total: Counter[str] = field(default_factory=Counter)
    _times: Counter[int] = field(default_factory=Counter)
    _judged_s: int = 0
    _max_ns: int = 0

    def receive(self, message: EngineMessage) -> None:
        """Take the progress of another interval, where the message reports it."""
        self.forward(message)
        if not isinstance(message, LoadProgress):
            return
        if len(self.intervals) < _MAX_INTERVALS:
            self.intervals.append(structs.replace(message, buckets=()))
        if not self.conditions or self.reason:
            return
        self._total.update(requests=message.requests, errors=message.errors)
        self._times.update({int(upper_ns): count for upper_ns, count in message.buckets})
        self._max_ns = max(self._max_ns, message.max_ns or 0)
        before_s, self._judged_s = self._judged_s, message.t_ns // 1_000_000_000
        if self._judged_s == before_s:
            return
        if crossed := thresholds.crossed(self.conditions, self._so_far(message.t_ns)):
            self.reason = f"after {self._judged_s} s {crossed[0].sentence()}"
            self.give_up()

    def _so_far(self, t_ns: int) -> LoadResult:
        counts, requests = ValueCounts(sorted(self._times.items())), self._total["requests"]
        times = {}
        if counts.total:
            percentiles = {f"{name}_ns": int(counts.percentile(level)) for name, level in PERCENTILES.items()}
            times["latency"] = LatencySummary(count=counts.total, max_ns=self._max_ns, **percentiles)
        errors = {"": self._total["errors"]}
        rate_per_s = requests / t_ns * 1e9
        figures = LoadFigures("", "", t_ns, None, None, requests, rate_per_s, errors=errors, histograms=times)
        return LoadResult(figures, {"latency": tuple(self._times.items())})


class Screen:
    """Draws a load on a terminal as it progresses; elsewhere, if it `says` so, prints a line now and then."""

    def __init__(self, console: Console, *, wanted: bool, says: bool = False, reports: bool = True) -> None:
        self._console, self._reports = console, reports
        self._line_at = time.monotonic() + _LINE_S if says and not console.is_terminal else math.inf
        self.is_shown = wanted and reports and console.is_terminal
        # No thread of its own: nothing but the engine should run beside a load.
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._view: View | None = None

    def __enter__(self) -> "Screen":
        if self.is_shown:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def progress_s(self, plan: LoadPlan) -> float | None:
        """How often the engine is to report; None of engines elsewhere, which do not."""
        return (progress_interval_s(plan) if self.is_shown else _PROGRESS_S) if self._reports else None

    def begin(self, title: str, plan: LoadPlan) -> None:
        """Show another load from now on."""
        self._view = View(title, plan)
        self._draw(self._view)

    def receive(self, message: EngineMessage) -> None:
        """Draw the progress of another interval, where the message reports it."""
        if self._view and isinstance(message, LoadProgress):
            self._view.add(message)
            self._draw(self._view)
            if time.monotonic() >= self._line_at:
                self._line_at = time.monotonic() + _LINE_S
                line = Text("  ".join([f"{one_line(self._view.title, 60)}:", *self._view.fields()]))
                self._console.print(line, soft_wrap=True)

    def _draw(self, view: View) -> None:
        if self.is_shown:
            self._live.update(view.render(*self._console.size), refresh=True)
