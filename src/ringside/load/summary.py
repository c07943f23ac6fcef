"""A load's result for a person: figures, a table of times, a plot, errors and warnings in words."""

import itertools
import re
from collections.abc import Mapping, Sequence

from msgspec import structs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside.files import tables_beside
from ringside.load.result import FIRST, LoadResult, is_kept, unsupported
from ringside.load.target import Target
from ringside.load.thresholds import highest_sentence
from ringside.probe import protocol as ipc
from ringside.render.text import terminal
from ringside.render.text.cells import TableCell, TableData, plain_table
from ringside.stats.samples import MIN_BEYOND, PERCENTILES
from ringside.text import one_line, sentences
from ringside.units import MILLISECONDS, TimeUnit, count, quantity, significant

CLOSED_LOOP = (
    "Closed loop: latency counts from the sending, so a server that stalls holds back the requests that "
    "would have met the stall, and percentiles hide it (coordinated omission). --rate N counts from when "
    "each request was due."
)
_WORDS = tables_beside(__file__, "summary.toml")
ERRORS: Mapping[str, str] = _WORDS["errors"]
SEQUENCE: Mapping[str, str] = _WORDS["sequence"]
# The meaning of `tls` if the load used TLS.
NO_TLS = "the server does not speak TLS there (name it without the s, as http://…), or breaks its rules"
_ROWS = ("latency", "service", "queue", "connect", "handshake", "first_byte", "lateness", "schedule_error")
_TIMES = ("mean", *PERCENTILES, "max")
# Not a port, a part of an address or a date.
_LONG = re.compile(r"(?<![\w.:/\[-])\d{4,}(?![\w:-])")
_BARS = 16
_BAR_WIDTH = 50
_MAX_LISTED = 12
# Busy-polling below this share of a core is not mentioned.
_MIN_POLLING_SHARE = 0.01


def show(
    target: Target, plan: ipc.LoadPlan, result: LoadResult, console: Console, unit: TimeUnit = MILLISECONDS
) -> None:
    """Print one load. Several targets are combined in `target`."""
    figures = result.figures
    console.print(Text(one_line(target.text), style="bold"))
    console.print(Text(how(target, plan, result)))
    if figures.outcome == "load-failed":
        detail = one_line(figures.detail) or "for an unknown reason"
        console.print(Text.assemble(("The load failed: ", "bold red"), detail))
    elif figures.outcome == "aborted":
        console.print(Text(f"Aborted: {figures.detail}.", style="bold red"))
    elif figures.outcome == "interrupted":
        console.print(Text("Interrupted: these are the figures until then.", style="yellow"))
    warnings = {each.code: sentences(each.text, each.remedy) for each in warnings_of(result)}
    for code in sorted(FIRST & warnings.keys()):
        console.print(Text(warnings.pop(code), style="bold red"))
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in facts(target, result):
        grid.add_row(Text(name), Text(text))
    console.print(grid)
    shown = tables(result, unit)
    for table in shown:
        console.print()
        terminal.render(table, console)
    if shown and (bars := bar_lines(result.counts.get(result.main_histogram, ()), console.width)):
        console.print()
        console.print(Text(f"{result.main_histogram.capitalize()}, up to", style="bold"))
        for line in bars:
            console.print(Text(line, no_wrap=True, overflow="crop"))
    if target.protocol != "stream" and not result.is_open_loop and result.is_answered:
        console.print()
        console.print(Text(CLOSED_LOOP, style="dim"))
    for table in fault_tables(target, result):
        console.print()
        terminal.render(table, console)
    terminal.warn(warnings.values(), console)


def warnings_of(result: LoadResult) -> list[ipc.EngineWarning]:
    """The engine's warnings, with numbers as the tables write them."""
    told = result.figures.warnings
    return [structs.replace(each, text=_LONG.sub(lambda m: f"{int(m[0]):,}", each.text)) for each in told]


def log_words(log: ipc.RequestLog | None) -> str:
    """The content of the file of `--log` in words."""
    log = log or ipc.RequestLog()
    words = f"has {count(log.lines, 'line')}"
    words += f", each for up to {log.of} requests" * (log.of > 1)
    words += f"; {log.dropped:,} more had no room" * (log.dropped > 0)
    return f"{words}; it is not whole: {one_line(log.failed)}" if log.failed else words


def tables(result: LoadResult, unit: TimeUnit) -> list[TableData]:
    """The tables of a load: times, targets, engines, steps."""
    if not any(result.figures.latency(name) for name in _ROWS):
        return []
    makers = ((_times, True), (_targets, result.several), (_engines, result.engines), (_steps, result.steps))
    return [make(result, unit) for make, is_there in makers if is_there]


def how(target: Target, plan: ipc.LoadPlan, result: LoadResult) -> str:
    """The load in one line: its schedule, connections, duration, threads."""
    started = result.started
    threads = (started and started.threads) or plan.threads
    seconds = significant(result.figures.duration_ns / 1e9)
    parts = [_schedule(target, plan), f"{seconds} s", count(threads, "thread")]
    if result.warmup_s:
        parts.append(f"after a warm-up of {result.warmup_s:g} s that does not count")
    if plan.http2:
        parts.append(version(plan))
    if plan.request and plan.request.close:
        parts.append("a connection for each request")
    return one_line(", ".join(parts))


def version(plan: ipc.LoadPlan) -> str:
    if not plan.http2:
        return "HTTP/1.1"
    return f"HTTP/2 with {count(plan.http2.streams, 'stream')} on each connection"


def _schedule(target: Target, plan: ipc.LoadPlan) -> str:
    if target.protocol == "stream":
        ramp = f", opened at {plan.ramp_per_s:,.10g} per second" if plan.ramp_per_s else ""
        return f"{count(plan.connections, 'stream')}{ramp}"
    pacing, connections = plan.pacing, count(plan.connections, "connection")
    if isinstance(pacing, ipc.ClosedLoop):
        return f"closed loop, {connections}"
    slack = f", sent together within {quantity(plan.slack_s, 's')}" if plan.slack_s else ""
    if isinstance(pacing, ipc.Staircase):
        steps = ", ".join(f"{rate_text(step)} for {step.duration_s:g} s" for step in pacing.steps)
        return f"open loop, {steps}{slack}; {connections}"
    spacing = "at even intervals"
    if isinstance(pacing, ipc.PoissonRate):
        spacing = f"Poisson, seed {pacing.seed}"
    elif pacing.burst > 1:
        spacing = f"in bursts of {pacing.burst:,}"
    return f"open loop, {pacing.rate_per_s:,.10g} requests per second {spacing}{slack}; {connections}"


def facts(target: Target, result: LoadResult) -> list[tuple[str, str]]:
    """Names and texts of the figures other than times."""
    figures, is_stream = result.figures, target.protocol == "stream"
    rows = []
    if is_stream:
        rate = figures.messages / (figures.duration_ns / 1e9) if figures.duration_ns else 0.0
        rows.append(("messages", f"{figures.messages:,}, {significant(rate)} per second"))
    if not is_stream or figures.requests:
        text = f"{figures.requests:,}"
        if figures.intended is not None:
            text += f" of {figures.intended:,} intended"
        text += f", {significant(figures.achieved_rate_per_s)} per second"
        if figures.intended_rate_per_s:
            share = figures.achieved_rate_per_s / figures.intended_rate_per_s
            text += f" of {significant(figures.intended_rate_per_s)} intended ({share:.1%})"
        rows.append(("answered", text))
    if figures.late_requests:
        rows.append(("late", f"{figures.late_requests:,} answered after the end, while the engine waited"))
    if figures.unfinished:
        unsent = f", {figures.unsent:,} of them never sent" if figures.unsent else ""
        rows.append(("unfinished", f"{figures.unfinished:,} without an answer at the end{unsent}"))
    if statuses := [f"{one_line(status, 20)}: {number:,}" for status, number in figures.statuses.items()]:
        more = [f"and {len(statuses) - _MAX_LISTED} more"] if len(statuses) > _MAX_LISTED else []
        rows.append(("statuses", ", ".join(statuses[:_MAX_LISTED] + more)))
    errors = sum(figures.errors.values())
    rows.append(("errors", f"{errors:,}, see below" if errors else "0"))
    if figures.first_wrong:
        rows.append(("first wrong", one_line(figures.first_wrong, 300)))
    if connections := figures.connections:
        text = f"{connections.get('opened', 0):,} opened"
        text += f", at most {connections.get('most_open', 0):,} at one time"
        if idle_closes := connections.get("idle_closes"):
            text += f", {idle_closes:,} closed by the server while idle"
        rows.append(("connections", text))
    if figures.security:
        resumed, opened = (figures.connections.get(key, 0) for key in ("resumed", "opened"))
        text = f", {resumed:,} of {count(opened, 'session')} resumed" if resumed else ""
        rows.append(("security", f"{one_line(figures.security, 80)}{text}"))
    if figures.concurrency and not is_stream:
        rows.append(("in flight", f"{significant(figures.concurrency)} requests on average"))
    rows.append(("bytes", f"{quantity(figures.bytes_in, 'B')} in, {quantity(figures.bytes_out, 'B')} out"))
    rows.append(("engine", _engine(result.figures)))
    missing = result.started.missing if result.started else ()
    return [*rows, *(("not used", one_line(text)) for text in missing)]


def _engine(figures: ipc.LoadFigures) -> str:
    busy_share = figures.busy_share_most or 0.0
    parts = [f"busiest thread {busy_share:.0%} of a core"]
    polling_share = figures.cpu_share_most - busy_share
    if polling_share >= _MIN_POLLING_SHARE:
        parts.append(f"{polling_share:.0%} more to poll for what is due next")
    if transfers := figures.messages or figures.requests + figures.late_requests:
        unit = "message" if figures.messages else "request"
        parts.append(f"{quantity(figures.cpu_ns / transfers, 'ns')} of CPU per {unit}")
    if figures.peak_memory_bytes:
        parts.append(quantity(figures.peak_memory_bytes, "B"))
    return ", ".join(parts)


def _ends(latency: ipc.LatencySummary | None, unit: TimeUnit) -> list[str]:
    """Median, p99 and maximum, as the table of times has them."""
    if latency is None or not latency.count:
        return ["–"] * 3
    few = unsupported(latency)
    ends = {"p50": latency.p50_ns, "p99": latency.p99_ns, "max": latency.max_ns}
    return [significant(ns / unit.ns) + "?" * (name in few) for name, ns in ends.items()]


def _targets(result: LoadResult, unit: TimeUnit) -> TableData:
    rows: list[list[TableCell | str]] = []
    for target, figures in zip(result.several, result.figures.targets, strict=True):
        rate = significant(result.rate_of(figures)) if result.figures.duration_ns else "–"
        counts = (f"{figures.requests:,}", rate, f"{sum(figures.errors.values()):,}")
        rows.append([one_line(target.text, 80), *map(TableCell, (*counts, *_ends(figures.latency, unit)))])
    columns = ("", "answered", "per second", "errors", "p50", "p99", "max")
    return plain_table(f"Targets, latency in {unit.word}", columns, rows, narrow=("per second",))


def rate_text(step: ipc.StaircaseStep) -> str:
    """The rate of a step, or the rates between which it changes."""
    rise = "" if step.to_per_s is None else f"..{step.to_per_s:,.10g}"
    return f"{step.rate_per_s:,.10g}{rise}/s"


def _steps(result: LoadResult, unit: TimeUnit) -> TableData:
    """A row for each step of a staircase, and the highest rate that was kept."""
    rows, note = [], "No rate had 99 % answered as expected."
    for rate, step in result.steps:
        ends = {"p50_ns": step.p50_ns, "p99_ns": step.p99_ns, "max_ns": step.max_ns}
        times = _ends(ipc.LatencySummary(count=step.answered, **ends), unit)
        share = step.answered / max(1, step.due)
        texts = (rate_text(rate), f"{step.due:,}", f"{step.answered:,}", f"{share:.1%}", *times)
        rows.append(map(TableCell, texts))
        if is_kept(step):
            p99 = quantity(step.p99_ns, "ns")
            note = f"The last rate with 99 % answered as expected: {texts[0]}, with a p99 of {p99}."
    columns = ("rate", "due", "answered", "kept", "p50", "p99", "max")
    notes = (note, *itertools.starmap(highest_sentence, result.highest.items()))
    return plain_table(f"Steps, latency in {unit.word}", columns, rows, notes=notes)


def _engines(result: LoadResult, unit: TimeUnit) -> TableData:
    rows: list[list[TableCell | str]] = []
    for part in result.engines:
        figures = part.figures
        texts = [
            f"{part.started.connections:,}",
            f"{figures.messages or figures.requests:,}",
            significant(figures.achieved_rate_per_s),
            f"{sum(figures.errors.values()):,}",
            *_ends(figures.latency(result.main_histogram), unit),
            f"{figures.busy_share_most or 0.0:.0%}",
            quantity(figures.peak_memory_bytes or 0, "B"),
        ]
        rows.append([one_line(part.node, 60), *map(TableCell, texts)])
    within = quantity((result.started_within_s or 0.0) * 1e9, "ns")
    notes = [f"The engines started within {within} of each other."]
    title = f"Engines, {result.main_histogram} in {unit.word}"
    columns = ("", "connections", "answered", "per second", "errors", "p50", "p99", "max")
    narrow = ("memory", "busiest thread", "per second")
    return plain_table(title, (*columns, "busiest thread", "memory"), rows, notes=notes, narrow=narrow)


def _times(result: LoadResult, unit: TimeUnit) -> TableData:
    """The table of times; lower bounds have a `≥`."""
    rows, is_thin = [], False
    for name in _ROWS:
        summary = result.figures.latency(name)
        # In a closed loop service is latency, and nothing queues.
        if summary is None or (name in ("service", "queue") and not result.is_open_loop):
            continue
        mark = "≥" if name == "latency" and result.censored else ""
        few = unsupported(summary)
        is_thin |= bool(few)
        cells: list[TableCell | str] = [name.replace("_", " ")]
        for time in _TIMES:
            value = getattr(summary, f"{time}_ns")
            # The histogram's least value is a nanosecond: nothing.
            text = significant(value / unit.ns) if value > 1 else "0"
            cells.append(TableCell(f"{mark}{text}{'?' if time in few else ''}"))
        rows.append(cells)
    notes = []
    if is_thin:
        notes.append(f"?: fewer than {MIN_BEYOND} lie beyond this percentile: it describes those few alone.")
    if result.censored:
        notes.append(
            f"≥: among these are the ages of {count(result.censored, 'request')} without an answer, "
            "when given up or at the end; the true latencies are longer."
        )
    columns = ("", *(name.replace("_", ".") for name in _TIMES))
    narrow = ("p95", "p90", "mean", "p99.9")
    return plain_table(f"Times in {unit.word}", columns, rows, notes=notes, narrow=narrow)


def bar_lines(pairs: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Lines of a bar plot of (value in nanoseconds, count) pairs: band, bar, count, share."""
    values = [value for value, number in pairs if number]
    if not values:
        return []
    edges = terminal.band_edges(min(values), max(values), _BARS)
    counts = terminal.band_counts(pairs, edges)
    highest, total = max(counts), sum(counts)
    labels = [terminal.band_label(edge) for edge in edges]
    label_width, count_width = max(map(len, labels)), len(f"{highest:,}")
    # Label, space, bar, space, count, space, share of seven characters.
    room = max(1, min(_BAR_WIDTH, width - label_width - count_width - 10))
    lines = []
    for label, number in zip(labels, counts, strict=True):
        share = f"{number / total:.2%}" if number else ""
        bar = terminal.bar(number / highest, room)
        text = f"{label:>{label_width}} {bar:<{room}} {number:>{count_width},} {share:>7}"
        lines.append(text[:width].rstrip())
    return lines


def fault_tables(target: Target, result: LoadResult) -> list[TableData]:
    """The errors and the faults of sequence that occurred, by kind, the most frequent first."""
    meanings = {**ERRORS, "tls": NO_TLS} if target.is_secure else ERRORS
    figures, shown = result.figures, []
    kinds = (("Errors", figures.errors, meanings), ("Sequence faults", figures.sequence, SEQUENCE))
    for title, counts, texts in kinds:
        rows = [
            (one_line(kind, 40), TableCell(f"{number:,}"), texts.get(kind, ""))
            for kind, number in sorted(counts.items(), key=lambda pair: -pair[1])
            if number
        ]
        if rows:
            shown.append(plain_table(title, ("kind", "count", "meaning"), rows))
    return shown
