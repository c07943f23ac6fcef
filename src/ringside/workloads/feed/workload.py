"""The workload `feed`: its factors, metrics, load and figures."""

from msgspec.structs import replace

from ringside.errors import UsageError
from ringside.model.design import Point
from ringside.model.results import Timeline, Trial
from ringside.probe import protocol
from ringside.stats.series import rate_settled_at, settled_at
from ringside.workloads import serving
from ringside.workloads.feed.timeline import memory_over_time, timeline
from ringside.workloads.tables import declared

# The last sample of the server is taken this long before its connections are closed.
_BEFORE_END_S = 1.0
# A feed is lost if nothing has come for this long, at the end (or for a third of the hold) and at any time. A
# host may stall for seconds, and a server may be behind by as much; that is lateness.
_SILENT_S, _LOST_S = 5.0, 60.0
_SILENT_INTERVALS, _LOST_INTERVALS = 3, 10
# Where readers stop, ids have twenty digits and the probe's sockets hold little: this many chunks fill the
# buffers of the kernel (it took some 630 of 39 bytes on Linux 6.18).
_BUFFERED_CHUNKS = 800
_LONG = "1000000000000"
# How many feeds warm a server up, and for how long it counts as cold.
_EARLIER_CONNECTIONS, _COLD_S = 1000, 1.0
# Between a sample with the earlier connections and the first measured one.
_APART_S = 0.1
# Descriptors that the probe has open besides those of connections.
_OTHER_DESCRIPTORS = 128


@declared(__file__)
class Feed(serving.Serving):
    """Connections are opened at a rate and held. Every chunk's number and id are checked on each."""

    percentiles = serving.high_percentiles("late_s.{}", "lateness")

    def check(self, point: Point) -> None:
        if _ramp_s(point) > 3600:
            raise UsageError(
                f"connections={point['connections']} at ramp={point['ramp']} take {_ramp_s(point):,.0f} s to "
                "open: take a higher ramp"
            )
        chunks = float(point["seconds"]) / 3 / (int(point["interval_ms"]) / 1000)
        if point["slow"] and chunks < _BUFFERED_CHUNKS:
            raise UsageError(
                f"slow={point['slow']}: a third of the hold has {chunks:,.0f} chunks, which fit into the "
                "kernel's buffers without any effect on the server: choose seconds and interval_ms so that "
                f"it has {_BUFFERED_CHUNKS}"
            )
        if int(point["slow"]) + int(point["vanish"]) > 100:
            raise UsageError(
                f"slow={point['slow']} and vanish={point['vanish']} are more than 100 percent together"
            )

    def descriptors(self, point: Point) -> tuple[int, str]:
        held = sum(int(each["connections"]) for each in (point, _earlier(point)) if each)
        return held + _OTHER_DESCRIPTORS, "take fewer connections with --set connections=N"

    def service(self, point: Point, seed: int) -> protocol.Service:
        hold_s, ramped_s = float(point["seconds"]), _lead_s(point) + _ramp_s(point)
        third_s, end_s = ramped_s + hold_s / 3, ramped_s + max(hold_s - _BEFORE_END_S, hold_s / 2)
        marks = [protocol.TimedMark("ramped", ramped_s)]
        if point["slow"] or point["vanish"]:
            marks += [protocol.TimedMark("held", third_s - hold_s / 60), protocol.TimedMark("after", end_s)]
        else:
            marks += [protocol.TimedMark("held", end_s)]
        # No feed is at `/`; but a server that answers 404 is ready.
        nothing = protocol.LoadPlan(
            protocol="http",
            requests=1,
            timeout_s=serving.TIMEOUT_S,
            request=_get("/"),
            expect=protocol.ExpectedReply(status=404),
        )
        held = serving.step("measured", counts=True, all=_plan(point), marks=marks)
        if earlier := _earlier(point):
            others = replace(_plan(earlier), duration_s=ramped_s + hold_s)
            cold_s = _ramp_s(earlier)
            early = {"cold": cold_s, "cold-end": cold_s + _COLD_S, "base": _lead_s(point) - _APART_S}
            marks = [*(protocol.TimedMark(name, at_s) for name, at_s in early.items()), *marks]
            held = serving.step("measured", counts=True, all=_plan(point), earlier=others, marks=marks)
        return serving.service([serving.step("first", all=nothing), held])

    def work(self, point: Point) -> int:
        held = (point, _earlier(point))
        return 4 + round(2 * sum(_ramp_s(each) + float(each["seconds"]) for each in held if each))

    def timeline_of(self, trial: Trial) -> Timeline | None:
        load = _load(trial)
        return timeline(trial, load, _ramp_s(trial.cell.point)) if load else None

    def figures(self, trial: Trial) -> dict[str, float]:
        point, load = trial.cell.point, _load(trial)
        figures = serving.step_figures(trial, "measured")
        late_s = serving.percentiles_s(load, "lateness")
        figures |= {f"late_s.{name}": value for name, value in late_s.items()}
        for metric, histogram in (("connect_s.p99", "connect"), ("first_s.p99", "first_byte")):
            if "p99" in (times_s := serving.percentiles_s(load, histogram)):
                figures[metric] = times_s["p99"]
        if load and load.streams:
            figures["behind"] = float(load.streams.behind)
        figures |= _held_figures(trial) | self._settling_figures(trial)
        connections = int(point["connections"])
        if earlier := _earlier(point):
            others = int(earlier["connections"])
            figures |= _cpu_figure("cold_cpu_per_kchunk_s", trial, others, "cold", "cold-end")
            # In older records the earlier connections were already closed.
            connections += others if trial.load("measured", "earlier") else 0
        return figures | _cpu_figure("cpu_per_kchunk_s", trial, connections, "ramped", "held")

    def _settling_figures(self, trial: Trial) -> dict[str, float]:
        """When memory and the rate of CPU had come to their final values."""
        point, load, usage = trial.cell.point, _load(trial), trial.usage()
        if load is None or not len(usage.t_ns):
            return {}
        end_s = (load.end_ns - load.begin_ns) * 1e-9
        figures = {"memory_settled_s": settled_at(*memory_over_time(load, usage), end=end_s)}
        if not (point["slow"] or point["vanish"]):
            times_s, cpu_s = (usage.t_ns - load.begin_ns) * 1e-9, usage.cpu_ns * 1e-9
            figures["cpu_settled_s"] = rate_settled_at(times_s, cpu_s, begin=_ramp_s(point), end=end_s)
        return {name: value for name, value in figures.items() if value is not None}


def _lead_s(point: Point) -> float:
    """How long the earlier connections are held before the measured ones are opened."""
    earlier = _earlier(point)
    return _ramp_s(earlier) + float(earlier["seconds"]) + _APART_S if earlier else 0.0


def _load(trial: Trial) -> protocol.LoadMessage | None:
    """The measured load, with times from the opening of the first measured connection."""
    load, lead_s = trial.load("measured"), _lead_s(trial.cell.point)
    if load is None or trial.load("measured", "earlier") is None:
        return load
    # Its seconds count from the earlier ones' first connection.
    series = tuple(replace(each, t_s=each.t_s - lead_s) for each in load.series if each.t_s + 1 > lead_s)
    return replace(load, begin_ns=load.begin_ns + round(lead_s * 1e9), series=series)


def _plan(point: Point) -> protocol.LoadPlan:
    """The feeds: opened at a rate, held, and disturbed for the second third of the hold."""
    interval_s, hold_s, ramp_s = int(point["interval_ms"]) / 1000, float(point["seconds"]), _ramp_s(point)
    lead_s, slow, vanish = _lead_s(point), int(point["slow"]), int(point["vanish"])
    third_s = lead_s + ramp_s + hold_s / 3
    name = f"{_LONG}{{id}}" if slow else "{id}"
    return protocol.LoadPlan(
        protocol="stream",
        connections=int(point["connections"]),
        ramp_per_s=float(point["ramp"]),
        duration_s=ramp_s + hold_s,
        lead_s=lead_s or None,
        timeout_s=max(_LOST_S, _LOST_INTERVALS * interval_s),
        request=_get(f"/test/{name}"),
        stream=protocol.StreamMessages(
            first=f"Welcome: {name}",
            chunk=f"Chunk {{k}} for {name}",
            interval_s=interval_s,
            silent_s=max(_SILENT_S, _SILENT_INTERVALS * interval_s, hold_s / 3),
            slow=protocol.SlowReaders(percent=slow, at_s=third_s, for_s=hold_s / 3) if slow else None,
            vanish=protocol.VanishingReaders(percent=vanish, at_s=third_s) if vanish else None,
        ),
    )


def _get(target: str) -> protocol.HttpRequest:
    return protocol.HttpRequest(target=target, headers=(("Host", "127.0.0.1"),))


def _earlier(point: Point) -> Point | None:
    """Connections held before and during the measurement: enough chunks for a compiler to do its work."""
    seconds = int(point["warm"])
    if not seconds:
        return None
    connections = min(int(point["connections"]), _EARLIER_CONNECTIONS)
    return point.but(connections=connections, seconds=seconds, slow=0, vanish=0, warm=0)


def _cpu_figure(name: str, trial: Trial, connections: int, *between: str) -> dict[str, float]:
    """The server's CPU seconds for a thousand chunks between two marks."""
    begin, end = map(trial.marks.get, between)
    if not begin or not end or end.t_ns <= begin.t_ns:
        return {}
    # The load checks that as many chunks came as were due.
    seconds = (end.t_ns - begin.t_ns) * 1e-9
    chunks = connections * seconds / (int(trial.cell.point["interval_ms"]) / 1000)
    return {name: (end.cpu_ns - begin.cpu_ns) * 1e-9 / (chunks / 1000)}


def _held_figures(trial: Trial) -> dict[str, float]:
    """Memory of the server and of the kernel while all feeds are held, and how much it gave back."""
    point, marks = trial.cell.point, trial.marks
    held, after = marks.get("held"), marks.get("after")
    idle = marks.get("base") or marks.get("idle")
    if held is None:
        return {}
    figures, connections = {"rss_bytes": float(held.rss_bytes)}, int(point["connections"])
    if held.pss_bytes:
        figures["held_pss_bytes"] = float(held.pss_bytes)
        if idle and idle.pss_bytes:
            grown = max(0, held.pss_bytes - idle.pss_bytes)
            figures["bytes_per_connection"] = grown / connections
            if point["vanish"] and after and after.pss_bytes and grown:
                figures["given_back_percent"] = 100 * (held.pss_bytes - after.pss_bytes) / grown
    kernel_idle, kernel_held = idle.all_kernel_bytes if idle else None, held.all_kernel_bytes
    if kernel_idle is not None and kernel_held is not None:
        figures["held_kernel_bytes"] = float(kernel_held)
        figures["kernel_bytes_per_connection"] = max(0, kernel_held - kernel_idle) / connections
    return figures


def _ramp_s(point: Point) -> float:
    return int(point["connections"]) / int(point["ramp"])


FEED = Feed()
