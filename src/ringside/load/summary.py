"""A load's result for a person: figures, a table of times, a plot, errors and warnings in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside import units as numbers
from ringside.load.result import PERCENTILES, LoadResult, unsupported
from ringside.load.target import Target
from ringside.probe.protocol import (
    ClosedLoop,
    EngineWarning,
    LatencySummary,
    LoadFigures,
    LoadPlan,
    PoissonRate,
    Staircase,
)
from ringside.render.text import terminal
from ringside.render.text.cells import TableCell, TableData
from ringside.stats.samples import MIN_BEYOND
from ringside.text import one_line, sentences
from ringside.units import MILLISECONDS, TimeUnit, significant
from ringside.workloads.target import errors_text

CLOSED_LOOP = (
    "Closed loop: latency counts from the sending, so a server that stalls holds back the requests that "
    "would have met the stall, and percentiles hide it (coordinated omission). --rate N counts from when "
    "each request was due."
)
ERRORS = {
    "connect-refused": "no server listens there, or its backlog is full",
    "connect-timeout": "no answer to a connect within --timeout",
    "connect-failed": "a connection could not be made",
    "ports-exhausted": "no source port was free on this machine",
    "descriptors-exhausted": "this process or machine has no more descriptors",
    "send": "the connection broke while a request was being sent",
    "reset": "the server reset the connection",
    "closed-early": "the server closed the connection before the reply began",
    "ended": "the server ended a response that was to be held open: name ordinary replies as http://…",
    "truncated": "the server closed the connection within a reply",
    "timeout": "no whole reply within --timeout; for a stream, silence",
    "protocol": "the reply breaks the rules of its protocol",
    "tls": "the server speaks TLS where HTTP was expected (https://…), or breaks its rules",
    "http2": "the server seems to accept only HTTP/2: name the target as h2://…, or add --http2",
    "too-large": "a head, line or message larger than the engine's limit",
    "unsolicited": "a reply without a request",
    "status": "another status than expected",
    "content": "another body, line or message than expected",
    "redirect-elsewhere": "a redirect to another host, port or scheme, which is not followed",
    "redirect-limit": "more than 10 redirects of one request",
    "redirect-invalid": "a redirect without a usable Location",
    "certificate": "the server's certificate is not accepted: --cacert FILE, or --insecure",
    "handshake-timeout": "no end of a handshake within --timeout",
    "no-http2": "the server does not speak HTTP/2",
    "stream-reset": "the server reset a stream of HTTP/2",
    "goaway": "the server ended a connection of HTTP/2 with an error, or before it processed requests",
    "client-certificate": "the server asks for a certificate of the client: --cert FILE --key FILE",
    "early-reply": "the reply was complete before the request was sent: the server did not read the body",
    "hung-up": "the client gave up, as it had been told to",
    "reuse-closed": "the server closed a kept connection as a request came, which is not sent twice: --renew "
    "before it does",
    "upgrade": "the server does not make the connection a WebSocket: check the path",
}
# The meaning of `tls` where TLS was to be spoken.
NO_TLS = "the server does not speak TLS there (name it without the s, as http://…), or breaks its rules"
SEQUENCE = {
    "gaps": "messages missing",
    "repeats": "messages sent again",
    "swaps": "messages out of order",
    "foreign": "messages of another stream",
    "malformed": "messages of another form",
    "early": "messages before they were due",
}
_ROWS = (
    *("latency", "service", "queue", "connect", "handshake"),
    *("first_byte", "lateness", "schedule_error"),
)
_TIMES = ("mean", *PERCENTILES, "max")
_COLUMNS = tuple(name.replace("_", ".") for name in _TIMES)
_BARS = 16
_BAR_WIDTH = 50
_MAX_LISTED = 12
# Busy-polling below this share of a core is not mentioned.
_MIN_POLLING_SHARE = 0.01


def show(
    target: Target,
    plan: LoadPlan,
    result: LoadResult,
    console: Console,
    *,
    unit: TimeUnit = MILLISECONDS,
    shares: Sequence[tuple[Target, int]] = (),
) -> None:
    """Print one load. `shares`: several targets and their weights, which are combined in `target`."""
    figures = result.figures
    console.print(Text(one_line(target.text), style="bold"))
    console.print(Text(how(target, plan, result)))
    if figures.outcome == "load-failed":
        console.print(
            Text.assemble(
                ("The load failed: ", "bold red"), one_line(figures.detail) or "for an unknown reason"
            )
        )
    elif figures.outcome == "interrupted":
        console.print(Text("Interrupted: these are the figures until then.", style="yellow"))
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in facts(target, result):
        grid.add_row(Text(name), Text(text))
    console.print(grid)
    if any(figures.latency(name) for name in _ROWS):
        console.print()
        terminal.render(times(result, unit), console)
        if shares:
            console.print()
            terminal.render(targets(shares, result, unit), console)
        if result.engines:
            console.print()
            terminal.render(engines(result, unit), console)
        plot(result, console)
    if target.protocol != "stream" and not result.is_open_loop and result.is_answered:
        console.print()
        console.print(Text(CLOSED_LOOP, style="dim"))
    meanings = {**ERRORS, "tls": NO_TLS} if target.is_secure else ERRORS
    _faults("Errors", figures.errors, meanings, console)
    _faults("Sequence faults", figures.sequence, SEQUENCE, console)
    terminal.warn((_sentences(warning, figures) for warning in figures.warnings), console)


def _sentences(warning: EngineWarning, figures: LoadFigures) -> str:
    text = errors_text(sum(figures.errors.values())) if warning.code == "errors" else warning.text
    return sentences(text, warning.remedy)


def how(target: Target, plan: LoadPlan, result: LoadResult) -> str:
    """The load in one line: its schedule, connections, duration, threads."""
    started = result.started
    threads = (started and started.threads) or plan.threads
    parts = [
        _schedule(target, plan),
        f"{significant(result.figures.duration_ns / 1e9)} s",
        numbers.count(threads, "thread"),
    ]
    if plan.http2:
        parts.append(version(plan))
    if plan.request and plan.request.close:
        parts.append("a connection for each request")
    if started and started.io:
        parts.append(started.io)
    return one_line(", ".join(parts))


def version(plan: LoadPlan) -> str:
    """The version of HTTP of a load by HTTP."""
    if not plan.http2:
        return "HTTP/1.1"
    return f"HTTP/2 with {numbers.count(plan.http2.streams, 'stream')} on each connection"


def _schedule(target: Target, plan: LoadPlan) -> str:
    if target.protocol == "stream":
        ramp = f", opened at {plan.ramp_per_s:,.10g} per second" if plan.ramp_per_s else ""
        return f"{numbers.count(plan.connections, 'stream')}{ramp}"
    pacing, connections = plan.pacing, numbers.count(plan.connections, "connection")
    if isinstance(pacing, ClosedLoop):
        return f"closed loop, {connections}"
    slack = f", sent together within {numbers.quantity(plan.slack_s, 's')}" if plan.slack_s else ""
    if isinstance(pacing, Staircase):
        steps = ", ".join(f"{step.rate_per_s:,.10g}/s for {step.duration_s:g} s" for step in pacing.steps)
        return f"open loop, {steps}{slack}; {connections}"
    if isinstance(pacing, PoissonRate):
        spacing = f"Poisson, seed {pacing.seed}"
    elif pacing.burst > 1:
        spacing = f"in bursts of {pacing.burst:,}"
    else:
        spacing = "at even intervals"
    return f"open loop, {pacing.rate_per_s:,.10g} requests per second {spacing}{slack}; {connections}"


def facts(target: Target, result: LoadResult) -> list[tuple[str, str]]:
    """Names and texts of the figures other than times."""
    figures, streams = result.figures, target.protocol == "stream"
    rows = []
    if streams:
        rate = figures.messages / (figures.duration_ns / 1e9) if figures.duration_ns else 0.0
        rows.append(("messages", f"{figures.messages:,}, {significant(rate)} per second"))
    if not streams or figures.requests:
        rows.append(("answered", _answered(result)))
    if figures.late_requests:
        rows.append(("late", f"{figures.late_requests:,} answered after the end, while the engine waited"))
    if figures.unfinished:
        unsent = f", {figures.unsent:,} of them never sent" if figures.unsent else ""
        rows.append(("unfinished", f"{figures.unfinished:,} without an answer at the end{unsent}"))
    if figures.statuses:
        listed = list(figures.statuses.items())
        more = [f"and {len(listed) - _MAX_LISTED} more"] if len(listed) > _MAX_LISTED else []
        texts = [f"{one_line(status, 20)}: {count:,}" for status, count in listed[:_MAX_LISTED]]
        rows.append(("statuses", ", ".join(texts + more)))
    errors = sum(figures.errors.values())
    rows.append(("errors", f"{errors:,}, see below" if errors else "0"))
    if figures.first_wrong:
        rows.append(("first wrong", one_line(figures.first_wrong, 300)))
    if connections := figures.connections:
        text = f"{connections.get('opened', 0):,} opened"
        text += f", at most {connections.get('most_open', 0):,} at one time"
        if idle_closes := connections.get("idle_closes"):
            text += f", {idle_closes:,} closed by the server while idle"
        if resent := connections.get("resent"):
            text += f"; {resent:,} requests met such a close and were sent again"
        rows.append(("connections", text))
    if figures.security:
        rows.append(("security", one_line(figures.security, 80)))
    if figures.concurrency and not streams:
        rows.append(("in flight", f"{significant(figures.concurrency)} requests on average"))
    bytes_in, bytes_out = (numbers.quantity(value, "B") for value in (figures.bytes_in, figures.bytes_out))
    rows.append(("bytes", f"{bytes_in} in, {bytes_out} out"))
    rows.append(("engine", _engine(result)))
    if result.started:
        rows += [("not used", one_line(missing)) for missing in result.started.missing]
    return rows


def _answered(result: LoadResult) -> str:
    figures = result.figures
    text = f"{figures.requests:,}"
    if figures.intended is not None:
        text += f" of {figures.intended:,} intended"
    text += f", {significant(figures.achieved_rate_per_s)} per second"
    if figures.intended_rate_per_s:
        share = figures.achieved_rate_per_s / figures.intended_rate_per_s
        text += f" of {significant(figures.intended_rate_per_s)} intended ({share:.1%})"
    return text


def _engine(result: LoadResult) -> str:
    figures = result.figures
    busy_share = figures.busy_share_most or 0.0
    parts = [f"busiest thread {busy_share:.0%} of a core"]
    polling_share = figures.cpu_share_most - busy_share
    if polling_share >= _MIN_POLLING_SHARE:
        parts.append(f"{polling_share:.0%} more to poll for what is due next")
    if transfers := figures.messages or figures.requests + figures.late_requests:
        unit = "message" if figures.messages else "request"
        parts.append(f"{numbers.quantity(figures.cpu_ns / transfers, 'ns')} of CPU per {unit}")
    if figures.peak_memory_bytes:
        parts.append(numbers.quantity(figures.peak_memory_bytes, "B"))
    return ", ".join(parts)


def targets(shares: Sequence[tuple[Target, int]], result: LoadResult, unit: TimeUnit) -> TableData:
    """The table of several targets."""
    rows = []
    seconds = result.figures.duration_ns / 1e9
    for (target, weight), figures in zip(shares, result.figures.targets, strict=True):
        latency = figures.latency if figures.latency.count else None
        texts = [
            str(weight),
            f"{figures.requests:,}",
            significant(figures.requests / seconds) if seconds else "–",
            f"{sum(figures.errors.values()):,}",
        ]
        for time in ("p50_ns", "p99_ns", "max_ns"):
            texts.append(significant(getattr(latency, time) / unit.ns) if latency else "–")
        rows.append((TableCell(one_line(target.text, 80), "text"), *map(TableCell, texts)))
    return TableData(
        f"Targets, latency in {unit.word}",
        ("", "weight", "answered", "per second", "errors", "p50", "p99", "max"),
        tuple(rows),
        narrow=("per second", "weight"),
    )


def engines(result: LoadResult, unit: TimeUnit) -> TableData:
    """The table of engines on several nodes."""
    rows = []
    for part in result.engines:
        figures = part.figures
        time = figures.latency(result.main_histogram)
        texts = [
            f"{part.started.connections:,}",
            f"{figures.messages or figures.requests:,}",
            significant(figures.achieved_rate_per_s),
            f"{sum(figures.errors.values()):,}",
            *(significant(ns / unit.ns) if time else "–" for ns in _ends(time)),
            f"{figures.busy_share_most or 0.0:.0%}",
            numbers.quantity(figures.peak_memory_bytes or 0, "B"),
        ]
        rows.append((TableCell(one_line(part.node, 60), "text"), *map(TableCell, texts)))
    within = numbers.quantity((result.started_within_s or 0.0) * 1e9, "ns")
    times = ("p50", "p99", "max")
    return TableData(
        f"Engines, {result.main_histogram} in {unit.word}",
        ("", "connections", "answered", "per second", "errors", *times, "busiest thread", "memory"),
        tuple(rows),
        notes=(f"The engines started within {within} of each other.",),
        narrow=("memory", "busiest thread", "per second"),
    )


def _ends(summary: LatencySummary | None) -> tuple[int, int, int]:
    return (summary.p50_ns, summary.p99_ns, summary.max_ns) if summary else (0, 0, 0)


def times(result: LoadResult, unit: TimeUnit = MILLISECONDS) -> TableData:
    """The table of times; lower bounds have a `≥`."""
    rows, is_thin = [], False
    for name in _ROWS:
        summary = result.figures.latency(name)
        # In a closed loop service is latency, and nothing queues.
        if summary is None or (name in ("service", "queue") and not result.is_open_loop):
            continue
        mark = "≥" if name == "latency" and result.is_lower_bound else ""
        is_thin |= bool(unsupported(summary))
        title = TableCell(name.replace("_", " "), "text")
        rows.append((title, *(TableCell(mark + text) for text in _times(summary, unit))))
    notes = []
    if is_thin:
        notes.append(f"?: fewer than {MIN_BEYOND} lie beyond this percentile: it describes those few alone.")
    if result.is_lower_bound:
        notes.append(
            f"≥: among these are the ages of {numbers.count(result.censored, 'request')} without an answer, "
            "when given up or at the end; the true latencies are longer."
        )
    return TableData(
        f"Times in {unit.word}",
        ("", *_COLUMNS),
        tuple(rows),
        notes=tuple(notes),
        narrow=("p95", "p90", "mean", "p99.9"),
    )


def _times(summary: LatencySummary, unit: TimeUnit) -> list[str]:
    few = unsupported(summary)
    texts = []
    for name in _TIMES:
        value = getattr(summary, f"{name}_ns")
        # The histogram's least value is a nanosecond: nothing.
        text = significant(value / unit.ns) if value > 1 else "0"
        texts.append(f"{text}?" if name in few else text)
    return texts


def plot(result: LoadResult, console: Console) -> None:
    """A bar for each band of latency, or of a stream's lateness."""
    name = result.main_histogram
    pairs = result.counts.get(name, ())
    if not pairs:
        return
    console.print()
    console.print(Text(f"{name.capitalize()}, up to", style="bold"))
    for line in bar_lines(pairs, console.width):
        console.print(Text(line, no_wrap=True, overflow="crop"))


def bar_lines(pairs: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Lines of a bar plot of (value in nanoseconds, count) pairs: band, bar, count, share."""
    values = [value for value, count in pairs if count]
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
    for label, count in zip(labels, counts, strict=True):
        share = f"{count / total:.2%}" if count else ""
        drawn = terminal.bar(count / highest, room)
        text = f"{label:>{label_width}} {drawn:<{room}} {count:>{count_width},} {share:>7}"
        lines.append(text[:width].rstrip())
    return lines


def _faults(title: str, counts: Mapping[str, int], meanings: Mapping[str, str], console: Console) -> None:
    rows = tuple(
        (
            TableCell(one_line(kind, 40), "text"),
            TableCell(f"{count:,}"),
            TableCell(meanings.get(kind, ""), "text"),
        )
        for kind, count in sorted(counts.items(), key=lambda pair: -pair[1])
        if count
    )
    if rows:
        console.print()
        terminal.render(TableData(title, ("kind", "count", "meaning"), rows), console)
