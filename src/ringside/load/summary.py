"""What a load showed, for a person: figures, a table of times, a plot, errors and warnings in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside import units as numbers
from ringside.load import bands
from ringside.load.options import Options
from ringside.load.result import Result, Spread
from ringside.load.target import Target
from ringside.render import terminal
from ringside.render.table import Entry, TableData
from ringside.text import one_line
from ringside.units import significant

CLOSED_LOOP = (
    "Closed loop: latency counts from the sending, so a server that stalls holds back the requests that "
    "would have met the stall, and percentiles hide it (coordinated omission). --rate N counts from when "
    "each request was due."
)
ERRORS = {
    "connect-refused": "nobody listens there, or the server's backlog is full",
    "connect-timeout": "no answer to a connect within --timeout",
    "connect-failed": "a connection could not be made",
    "ports-exhausted": "no source port was free on this machine",
    "descriptors-exhausted": "this process or machine has no more descriptors",
    "send": "the connection broke while a request was being sent",
    "reset": "the server reset the connection",
    "closed-early": "the server closed the connection before the reply began",
    "truncated": "the server closed the connection within a reply",
    "timeout": "no whole reply within --timeout; for a stream, silence",
    "protocol": "the reply breaks the rules of HTTP or of the line",
    "tls": "the server speaks TLS there, which is not spoken here: name a port of plain HTTP",
    "http2": "the server seems to speak HTTP/2 alone, and HTTP/1.1 is spoken here",
    "too-large": "a head, line or message beyond the engine's bound",
    "unsolicited": "a reply that nobody asked for",
    "status": "another status than expected",
    "content": "the body or line is not what was expected",
}
SEQUENCE = {
    "gaps": "messages missing",
    "repeats": "messages sent again",
    "swaps": "messages out of order",
    "foreign": "messages of another stream",
    "malformed": "messages of another form",
    "early": "messages before they were due",
}
_ROWS = {
    "latency": "latency",
    "service": "service",
    "queue": "queue",
    "connect": "connect",
    "first_byte": "first byte",
    "lateness": "lateness",
}
_COLUMNS = ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")
_BARS = 16
_BAR_WIDTH = 50
_MOST_LISTED = 12
# A share of a core below which nobody need know what it went into.
_WORTH_A_WORD = 0.01


def show(target: Target, options: Options, result: Result, console: Console) -> None:
    """Print one load."""
    console.print(Text(one_line(target.text), style="bold"))
    console.print(Text(how(target, options, result)))
    if result.outcome == "load-failed":
        console.print(
            Text.assemble(("The load failed: ", "bold red"), one_line(result.detail) or "no reason told")
        )
    elif result.outcome == "interrupted":
        console.print(Text("Interrupted: this is what was measured until then.", style="yellow"))
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in facts(target, result):
        grid.add_row(Text(name), Text(text))
    console.print(grid)
    if any(result.spreads[name].count for name in _ROWS if name in result.spreads):
        console.print()
        terminal.render(times(result), console)
        plot(result, console)
    if target.protocol != "stream" and not result.is_open_loop() and result.answered():
        console.print()
        console.print(Text(CLOSED_LOOP, style="dim"))
    _faults("Errors", result.errors, ERRORS, console)
    _faults("Sequence faults", result.sequence, SEQUENCE, console)
    terminal.warn((warned.sentences() for warned in result.warnings), console)


def how(target: Target, options: Options, result: Result) -> str:
    """What was driven at the target, in one line."""
    connections = f"{options.connections:,} connection{'s' * (options.connections != 1)}"
    pacing = options.pacing
    if target.protocol == "stream":
        ramp = f", opened at {options.ramp_per_s:,.10g} per second" if options.ramp_per_s else ""
        first = f"{options.connections:,} stream{'s' * (options.connections != 1)}{ramp}"
    elif pacing["kind"] == "closed":
        first = f"closed loop, {connections}"
    elif pacing["kind"] == "staircase":
        steps = ", ".join(
            f"{one['rate_per_s']:,.10g}/s for {one['duration_s']:g} s" for one in pacing["steps"]
        )
        first = f"open loop, {steps}; {connections}"
    else:
        if pacing["kind"] == "poisson":
            spacing = f"Poisson, seed {pacing['seed']}"
        elif pacing.get("burst", 1) > 1:
            spacing = f"in bursts of {pacing['burst']:,}"
        else:
            spacing = "at even intervals"
        first = f"open loop, {pacing['rate_per_s']:,.10g} requests per second {spacing}; {connections}"
    threads = result.threads or options.threads
    parts = [first, f"{significant(result.duration_ns / 1e9)} s", f"{threads} thread{'s' * (threads != 1)}"]
    if options.close:
        parts.append("a connection for each request")
    return one_line(", ".join([*parts, *([result.io] if result.io else [])]))


def facts(target: Target, result: Result) -> list[tuple[str, str]]:
    """Names and texts of the figures beside the times."""
    streams = target.protocol == "stream"
    found = []
    if streams:
        rate = result.messages / (result.duration_ns / 1e9) if result.duration_ns else 0.0
        found.append(("messages", f"{result.messages:,}, {significant(rate)} per second"))
    if not streams or result.requests:
        found.append(("answered", _answered(result)))
    if result.late_requests:
        found.append(
            ("late", f"{result.late_requests:,} answered after the end, while the rest was waited for")
        )
    if result.unfinished:
        found.append(("unfinished", f"{result.unfinished:,} without an answer at the end, or never sent"))
    if result.statuses:
        listed = list(result.statuses.items())
        more = [f"and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
        texts = [f"{one_line(status, 20)}: {count:,}" for status, count in listed[:_MOST_LISTED]]
        found.append(("statuses", ", ".join(texts + more)))
    errors = sum(result.errors.values())
    found.append(("errors", f"{errors:,}, see below" if errors else "0"))
    if result.connections:
        held = result.connections
        text = f"{held.get('opened', 0):,} opened, {held.get('most_open', 0):,} at one time at the most"
        if held.get("idle_closes"):
            text += f", {held['idle_closes']:,} closed by the server while idle"
        found.append(("connections", text))
    if result.concurrency and not streams:
        found.append(("in flight", f"{significant(result.concurrency)} requests on average"))
    found.append(
        (
            "bytes",
            f"{numbers.quantity(result.bytes_in, 'B')} in, {numbers.quantity(result.bytes_out, 'B')} out",
        )
    )
    found.append(("engine", _engine(result)))
    found += [("not used", one_line(missing)) for missing in result.missing]
    return found


def _answered(result: Result) -> str:
    text = f"{result.requests:,}"
    if result.intended is not None:
        text += f" of {result.intended:,} intended"
    text += f", {significant(result.achieved_rate_per_s)} per second"
    if result.intended_rate_per_s:
        share = result.achieved_rate_per_s / result.intended_rate_per_s
        text += f" of {significant(result.intended_rate_per_s)} intended ({share:.1%})"
    return text


def _engine(result: Result) -> str:
    done = result.messages or result.requests + result.late_requests
    parts = [f"busiest thread {result.busy_share_most:.0%} of a core"]
    waited = result.cpu_share_most - result.busy_share_most
    if waited >= _WORTH_A_WORD:
        parts.append(f"{waited:.0%} more to look for what is due next")
    if done:
        what = "message" if result.messages else "request"
        parts.append(f"{numbers.quantity(result.cpu_ns / done, 'ns')} of CPU per {what}")
    if result.peak_memory_bytes:
        parts.append(numbers.quantity(result.peak_memory_bytes, "B"))
    if result.is_open_loop():
        parts.append(f"at most {numbers.quantity(result.largest_lag_ns, 'ns')} behind its schedule")
    return ", ".join(parts)


def times(result: Result) -> TableData:
    """The table of times; bounds have a `≥`."""
    rows = []
    for name, title in _ROWS.items():
        spread = result.spreads.get(name)
        # In a closed loop service is latency, and nothing queues.
        if spread is None or not spread.count or (name in ("service", "queue") and not result.is_open_loop()):
            continue
        mark = "≥" if name == "latency" and result.is_bound() else ""
        rows.append((Entry(title, "text"), *(Entry(mark + text) for text in _milliseconds(spread))))
    notes = []
    if result.is_bound():
        count = f"{result.unfinished:,} request{'s are' if result.unfinished != 1 else ' is'}"
        notes.append(
            f"≥: {count} unfinished and counted with the age at the end; the true latencies are longer."
        )
    return TableData(
        "Times in milliseconds",
        ("", *_COLUMNS),
        tuple(rows),
        notes=tuple(notes),
        narrow=("p95", "p90", "mean", "p99.9"),
    )


def _milliseconds(spread: Spread) -> list[str]:
    values = (
        spread.mean_ns,
        spread.p50_ns,
        spread.p90_ns,
        spread.p95_ns,
        spread.p99_ns,
        spread.p99_9_ns,
        spread.max_ns,
    )
    return [significant(value / 1e6) for value in values]


def plot(result: Result, console: Console) -> None:
    """A bar for each band of latency, or of a stream's lateness."""
    pairs = result.counts.get(result.main(), ())
    if not pairs:
        return
    console.print()
    console.print(Text(f"{result.main().capitalize()}, up to", style="bold"))
    for line in bars(pairs, console.width):
        console.print(Text(line, no_wrap=True, overflow="crop"))


def bars(pairs: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Lines of a bar plot of (value in nanoseconds, count) pairs: band, bar, count, share."""
    values = [value for value, count in pairs if count]
    if not values:
        return []
    edges = bands.edges(min(values), max(values), _BARS)
    counts = bands.spread(pairs, edges)
    most, total = max(counts), sum(counts)
    labels = [bands.label(edge) for edge in edges]
    label_width, count_width = max(map(len, labels)), len(f"{most:,}")
    # Label, space, bar, space, count, space, share of seven characters.
    room = max(1, min(_BAR_WIDTH, width - label_width - count_width - 10))
    lines = []
    for label, count in zip(labels, counts, strict=True):
        share = f"{count / total:.2%}" if count else ""
        text = f"{label:>{label_width}} {bar(count / most, room):<{room}} {count:>{count_width},} {share:>7}"
        lines.append(text[:width].rstrip())
    return lines


def bar(share: float, width: int) -> str:
    """A bar of eighths of a character; what is not nothing can be seen."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _faults(title: str, counts: object, words: dict[str, str], console: Console) -> None:
    assert isinstance(counts, dict)
    rows = tuple(
        (Entry(one_line(kind, 40), "text"), Entry(f"{count:,}"), Entry(words.get(kind, ""), "text"))
        for kind, count in sorted(counts.items(), key=lambda pair: -pair[1])
        if count
    )
    if rows:
        console.print()
        terminal.render(TableData(title, ("kind", "count", "meaning"), rows), console)
