"""feed: answers held open, a chunk on each of them every interval (docs/PROTOCOL.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside.errors import UsageError
from ringside.model.design import Metric, Point
from ringside.model.results import Trial
from ringside.stats.settling import rate_settled_at, settled_at
from ringside.workloads.base import CORES, PEAK, THREADS, Factor, Slope
from ringside.workloads.serving import (
    ENGINE,
    IDLE,
    PERCENTILES,
    RSS,
    TIMEOUT_S,
    Serving,
    load_of,
    percentile_curve,
    server_figures,
    service,
    step,
    times,
)
from ringside.workloads.timeline import Timeline, timeline

# The last look at the server comes so long before its connections are closed.
_BEFORE_END_S = 1.0
# A feed is lost when nothing has come for so long at the end (or for a third of the hold), and at any time: a
# host may stand still for seconds, and a server may be behind by as much; that is lateness.
_SILENT_S, _LOST_S = 5.0, 60.0
_SILENT_INTERVALS, _LOST_INTERVALS = 3, 10
# Where readers stop, ids have twenty digits and the probe's sockets hold little: so many chunks fill the
# buffers of the kernel (it took some 630 of 39 bytes on Linux 6.18).
_FELT_CHUNKS = 800
_LONG = "1000000000000"
# What the probe has open besides a connection's own descriptor.
_OTHER_DESCRIPTORS = 128


class Feed(Serving):
    """Connections are opened at a rate and held. Every chunk's number and id are checked on each."""

    name = "feed"
    title = "Feed: answers held open, a chunk on each every interval"
    factors = (
        Factor("connections", 1000, "connections that are held open", least=1, most=1_000_000),
        Factor("ramp", 1000, "connections opened per second", least=1, most=1_000_000),
        Factor("interval_ms", 1000, "milliseconds between two chunks", least=10, most=3_600_000),
        Factor("seconds", 10, "how long they are held when all are open", least=1, most=86_400),
        Factor("slow", 0, "percent that read nothing for the second third of the hold", most=100),
        Factor("vanish", 0, "percent that are reset, for good, after a third of the hold", most=100),
        CORES,
    )
    metrics = (
        Metric(
            "bytes_per_connection",
            "B",
            "Memory/conn",
            "PSS of the process tree while all are held, less that before the first request, over "
            "connections",
        ),
        Metric(
            "kernel_bytes_per_connection",
            "B",
            "Kernel/conn",
            "the same of what the host's kernel holds (slabs, stacks of threads, page tables, buffers of "
            "TCP): for both ends of each connection, and for whatever else the host did",
        ),
        Metric(
            "cpu_per_kchunk_s",
            "s",
            "CPU/1000 chunks",
            "the server's CPU seconds for a thousand chunks, while all are held",
        ),
        *(
            Metric(
                f"late_ms.{name}",
                "ms",
                f"Late {name.replace('_', '.')}",
                f"{name.replace('_', '.')} of the time between a chunk's due instant and its arrival",
            )
            for name, _ in PERCENTILES
        ),
        Metric("late_ms.max", "ms", "Late max", "the latest chunk"),
        Metric(
            "memory_settled_s",
            "s",
            "Memory settled",
            "from the first connection until PSS stays within 2 % of its final value",
        ),
        Metric(
            "cpu_settled_s",
            "s",
            "CPU settled",
            "from the first connection until the rate of CPU stays within 2 % of its final value, in "
            "twentieths of the hold",
        ),
        Metric(
            "given_back_percent",
            "%",
            "Given back",
            "memory at the end of the hold below that before connections vanished, of what had grown since "
            "the first request",
            smaller_is_better=False,
        ),
        Metric("connect_ms.p99", "ms", "Connect p99", "p99 of the time a connect took, in the ramp"),
        Metric("first_ms.p99", "ms", "First p99", "p99 of the time from a request to its first byte"),
        Metric("behind", "", "Behind", "chunks that were due and had not come at the end"),
        IDLE,
        PEAK,
        RSS,
        Metric("held_pss_bytes", "B", "Memory held", "PSS of the process tree while all are held"),
        Metric(
            "held_kernel_bytes", "B", "Kernel held", "what the kernel of the host holds while all are held"
        ),
        THREADS,
        ENGINE,
    )
    compared = ("bytes_per_connection", "cpu_per_kchunk_s", "late_ms.p99")
    beside = (
        "late_ms.p50",
        "late_ms.p99_9",
        "late_ms.max",
        "kernel_bytes_per_connection",
        "memory_settled_s",
        IDLE.name,
        "held_pss_bytes",
        THREADS.name,
        ENGINE.name,
    )
    landscapes = (("bytes_per_connection", "cpu_per_kchunk_s"),)
    timeline = True
    slopes = (
        Slope(
            "bytes_per_connection_slope",
            "B",
            "Bytes per connection",
            "growth of the memory held over connections: what each further one costs",
            "connections",
            "held_pss_bytes",
        ),
        Slope(
            "kernel_bytes_per_connection_slope",
            "B",
            "Kernel bytes per connection",
            "the same of what the kernel of the host holds, for both ends of a connection",
            "connections",
            "held_kernel_bytes",
        ),
    )
    curves = (percentile_curve("late_ms.{}".format, "Lateness percentiles", "how late chunks came"),)

    def check(self, point: Point) -> None:
        if _ramp_s(point) > 3600:
            raise UsageError(
                f"connections={point['connections']} at ramp={point['ramp']} take {_ramp_s(point):,.0f} s to "
                "open: take a higher ramp"
            )
        held = int(point["seconds"]) / 3 / (int(point["interval_ms"]) / 1000)
        if point["slow"] and held < _FELT_CHUNKS:
            raise UsageError(
                f"slow={point['slow']}: the kernel's buffers would take the {held:,.0f} chunks of a third of "
                f"the hold, and no server would feel it: take seconds, interval_ms for {_FELT_CHUNKS} of them"
            )
        if int(point["slow"]) + int(point["vanish"]) > 100:
            raise UsageError(
                f"slow={point['slow']} and vanish={point['vanish']} are more than 100 percent together"
            )

    def rehearsal(self, point: Point) -> Point:
        """A few seconds of a few feeds: all code has run then, and the hold of a minute need not."""
        most = {"connections": 100, "ramp": 100, "seconds": 3, "slow": 0, "vanish": 0}
        return point.but(**{factor: min(int(point[factor]), level) for factor, level in most.items()})

    def descriptors(self, point: Point) -> int:
        return int(point["connections"]) + _OTHER_DESCRIPTORS

    def service(self, point: Point, seed: int) -> dict[str, Any]:
        interval_s = int(point["interval_ms"]) / 1000
        ramp_s, hold_s = _ramp_s(point), float(point["seconds"])
        host = {"headers": [["Host", "127.0.0.1"]]}
        name = f"{_LONG}{{id}}" if point["slow"] else "{id}"
        third_s = ramp_s + hold_s / 3
        stream: dict[str, Any] = {
            "first": f"Welcome: {name}",
            "chunk": f"Chunk {{k}} for {name}",
            "interval_s": interval_s,
            "silent_s": max(_SILENT_S, _SILENT_INTERVALS * interval_s, hold_s / 3),
        }
        if point["slow"]:
            stream["slow"] = {"percent": point["slow"], "at_s": third_s, "for_s": hold_s / 3}
        if point["vanish"]:
            stream["vanish"] = {"percent": point["vanish"], "at_s": third_s}
        plan = {
            "protocol": "stream",
            "connections": point["connections"],
            "ramp_per_s": point["ramp"],
            "duration_s": ramp_s + hold_s,
            "timeout_s": max(_LOST_S, _LOST_INTERVALS * interval_s),
            "request": {"target": f"/test/{name}", **host},
            "stream": stream,
        }
        disturbed = bool(point["slow"] or point["vanish"])
        end_s = ramp_s + max(hold_s - _BEFORE_END_S, hold_s / 2)
        # Nothing is there; but whoever says so is ready.
        nothing = {"protocol": "http", "connections": 1, "requests": 1, "timeout_s": TIMEOUT_S}
        held = step("measured", all=plan)
        held["marks"] = [
            {"name": "ramped", "at_s": ramp_s},
            {"name": "held", "at_s": third_s - hold_s / 60 if disturbed else end_s},
            *([{"name": "after", "at_s": end_s}] if disturbed else []),
        ]
        return service(
            [
                step("first", all={**nothing, "request": {"target": "/", **host}, "expect": {"status": 404}}),
                held,
            ]
        )

    def work(self, point: Point) -> int:
        return 4 + round(2 * (_ramp_s(point) + int(point["seconds"])))

    def timeline_of(self, trial: Trial) -> Timeline | None:
        return timeline(trial, "measured", _ramp_s(trial.cell.point))

    def figures(self, trial: Trial) -> dict[str, float]:
        point, load = trial.cell.point, load_of(trial, "measured")
        found = server_figures(trial, "measured")
        for name in ("requests_per_s", "cpu_per_request_s"):
            found.pop(name, None)
        late = times(load, "lateness")
        found |= {f"late_ms.{name}": late[name] * 1e3 for name in (*dict(PERCENTILES), "max") if name in late}
        for metric, histogram in (("connect_ms.p99", "connect"), ("first_ms.p99", "first_byte")):
            if "p99" in (spread := times(load, histogram)):
                found[metric] = spread["p99"] * 1e3
        if load and load.get("streams"):
            found["behind"] = float(load["streams"]["behind"])
        ramped, held = trial.marks.get("ramped"), trial.marks.get("held")
        found |= _memory(point, trial.marks)
        if line := self.timeline_of(trial):
            found |= _settled(trial, line)
        if ramped and held and held["t_ns"] > ramped["t_ns"]:
            # Each of them is accounted for: as many came as were due.
            seconds = (held["t_ns"] - ramped["t_ns"]) * 1e-9
            chunks = int(point["connections"]) * seconds / (int(point["interval_ms"]) / 1000)
            found["cpu_per_kchunk_s"] = (held["cpu_ns"] - ramped["cpu_ns"]) * 1e-9 / (chunks / 1000)
        return found


def _memory(point: Point, marks: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    idle, held, after = (marks.get(name, {}) for name in ("idle", "held", "after"))
    connections = int(point["connections"])
    if held:
        found[RSS.name] = float(held["rss_bytes"])
    if held.get("pss_bytes"):
        found["held_pss_bytes"] = float(held["pss_bytes"])
        if idle.get("pss_bytes"):
            grown = max(0.0, float(held["pss_bytes"]) - float(idle["pss_bytes"]))
            found["bytes_per_connection"] = grown / connections
            if point["vanish"] and after.get("pss_bytes") and grown:
                given_back = float(held["pss_bytes"]) - float(after["pss_bytes"])
                found["given_back_percent"] = 100 * given_back / grown
    kernel = [_kernel_bytes(look) for look in (idle, held)]
    if kernel[0] is not None and kernel[1] is not None:
        found["held_kernel_bytes"] = kernel[1]
        found["kernel_bytes_per_connection"] = max(0.0, kernel[1] - kernel[0]) / connections
    return found


def _kernel_bytes(look: Mapping[str, Any]) -> float | None:
    parts = [look.get("kernel_bytes"), look.get("tcp_bytes")]
    return None if None in parts else float(sum(part for part in parts if part))


def _settled(trial: Trial, line: Timeline) -> dict[str, float]:
    point = trial.cell.point
    end_s = line.edges[-1]
    found = {"memory_settled_s": settled_at(line.pss_bytes.times, line.pss_bytes.values, end=end_s)}
    begin = trial.marks.get("begin measured")
    if begin and not (point["slow"] or point["vanish"]):
        times = [(one["t_ns"] - begin["t_ns"]) * 1e-9 for one in trial.samples]
        totals = [one["cpu_ns"] * 1e-9 for one in trial.samples]
        found["cpu_settled_s"] = rate_settled_at(times, totals, begin=line.ramped_s, end=end_s)
    return {name: value for name, value in found.items() if value is not None}


def _ramp_s(point: Point) -> float:
    return int(point["connections"]) / int(point["ramp"])


FEED = Feed()
