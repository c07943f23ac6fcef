"""The message ring: M messages through a chain of N units (docs/PROTOCOL.md, `ring`)."""

from __future__ import annotations

from ringside.model.design import Expectation, Metric, Point
from ringside.model.results import Trial
from ringside.workloads.base import (
    CORES,
    CPU_S,
    PEAK,
    REPEATS,
    RUN_QUEUE,
    SWITCHES,
    THREADS,
    WALL_S,
    Factor,
    Slope,
    Workload,
    phase_ns,
    process_figures,
    repeated,
    repeats,
)

ORDER_BASE = 31
ORDER_MODULUS = 2147483647
# A trace line is some forty characters; ids and numbers may be long.
_TRACE_LINE_BYTES = 120
_OTHER_OUTPUT_BYTES = 1 << 20


def checksum(nodes: int, messages: int) -> int:
    """The sum of the values that unit N sees: M(M-1)/2 + M·N(N-1)/2."""
    return messages * (messages - 1) // 2 + messages * nodes * (nodes - 1) // 2


def order(nodes: int, messages: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over v = r + S, r = M-1 … 0, S = N(N-1)/2, p prime.

    In closed form, so that a big point costs nothing: H = Σ (r + S)·31^r (mod p), as r messages follow
    the one with the number r. With q = 31: Σ q^r = (q^M - 1)/(q - 1) and
    Σ r·q^r = q·(1 - M·q^(M-1) + (M-1)·q^M)/(1 - q)² (geometric sums).
    """
    p, q = ORDER_MODULUS, ORDER_BASE
    inverse = pow(q - 1, -1, p)
    powers = (pow(q, messages, p) - 1) * inverse
    weighted = q * (1 - messages * pow(q, messages - 1, p) + (messages - 1) * pow(q, messages, p))
    shift = nodes * (nodes - 1) // 2
    once = (shift * powers + weighted * inverse * inverse) % p
    found = 0
    for _ in range(repeats):
        found = (pow(q, messages, p) * found + once) % p
    return found


class Ring(Workload):
    name = "ring"
    title = "The message ring"
    factors = (
        Factor("nodes", 100, "units of concurrency in the chain", least=2, most=1_000_000),
        Factor("messages", 1000, "messages sent through the chain", least=1, most=10_000_000),
        Factor(
            "mode",
            "pipelined",
            "pipelined: the feeder sends as fast as the queue takes; token: one message at a time",
            choices=("pipelined", "token"),
        ),
        Factor("trace", 0, "1: every unit prints a line for each message", choices=(0, 1)),
        REPEATS,
        CORES,
    )
    metrics = (
        Metric(
            "hop_ns",
            "ns",
            "Per hop",
            "the relay phase by the program's clock, over N·M deliveries; of repeats the median of the later "
            "half",
        ),
        Metric("first_hop_ns", "ns", "First per hop", "that of the first repeat, where there are several"),
        CPU_S,
        WALL_S,
        Metric("spawn_ns", "ns", "Per spawn", "the spawn phase by the program's clock, over N units"),
        Metric("held_pss_bytes", "B", "Memory held", "PSS while N units are alive and wait"),
        PEAK,
        THREADS,
        SWITCHES,
        RUN_QUEUE,
    )
    compared = ("hop_ns", "cpu_s")
    repeated_metric = "hop_ns"
    beside = ("spawn_ns", "peak_pss_bytes", "peak_threads")
    slopes = (
        Slope(
            "bytes_per_unit",
            "B",
            "Memory per unit",
            "growth of the PSS over N, while N units are alive and wait",
            over="nodes",
            figure="held_pss_bytes",
            regardless_of=("messages", "mode", "trace"),
        ),
    )

    def arguments(self, point: Point) -> dict[str, str]:
        return {"hold": "1"}

    def expectation(self, point: Point, seed: int) -> Expectation:
        nodes, messages, times = int(point["nodes"]), int(point["messages"]), repeats(point)
        result = {
            "checksum": str(times * checksum(nodes, messages)),
            "order": str(order(nodes, messages, times)),
        }
        if point["trace"] == 0:
            return Expectation(result, lines_total=0)
        starting = {
            ":": times * (nodes - 1) * (messages - 1),
            "*": times * (nodes - 1),
            ">": times * (messages - 1),
            "@": times,
        }
        return Expectation(result, lines_total=times * nodes * messages, lines_starting=starting)

    def output_bytes(self, point: Point) -> int:
        traced = repeats(point) * self.work(point) * _TRACE_LINE_BYTES if point["trace"] == 1 else 0
        return traced + _OTHER_OUTPUT_BYTES

    def work(self, point: Point) -> int:
        return int(point["nodes"]) * int(point["messages"])

    def figures(self, trial: Trial) -> dict[str, float]:
        found = process_figures(trial.outcome_line)
        if relay_ns := phase_ns(trial, "relay"):
            found["hop_ns"] = relay_ns / self.work(trial.cell.point)
        if spawn_ns := phase_ns(trial, "spawn"):
            found["spawn_ns"] = spawn_ns / int(trial.cell.point["nodes"])
        if each := self.repeats_of(trial):
            found["first_hop_ns"] = each[0]
        held = trial.marks.get("spawned", {}).get("pss_bytes")
        if isinstance(held, int):
            found["held_pss_bytes"] = float(held)
        return found

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        deliveries = self.work(trial.cell.point)
        return tuple(relay_ns / deliveries for relay_ns in repeated(trial, "relay"))


RING = Ring()
