"""The workload `ring`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import (
    CORES,
    REPEATED,
    REPEATS,
    Capability,
    Factor,
    ProgramChecks,
    Slope,
    Workload,
    hold,
    repeats,
)
from ringside.workloads.evidence import MODULUS, ORDER_BASE
from ringside.workloads.metric_table import metric_tables
from ringside.workloads.phases import CYCLE_NS, PhaseRule
from ringside.workloads.process import (
    CPU_S,
    process_figures,
)


def checksum(nodes: int, messages: int) -> int:
    """The sum of the values that unit N receives: M(M-1)/2 + M·N(N-1)/2."""
    return messages * (messages - 1) // 2 + messages * nodes * (nodes - 1) // 2


def order(nodes: int, messages: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over v = r + S, r = M-1 … 0, S = N(N-1)/2, p prime.

    H = Σ (r + S)·31^r (mod p), since r messages follow the message with the number r. With q = 31:
    Σ q^r = (q^M - 1)/(q - 1) and Σ r·q^r = q·(1 - M·q^(M-1) + (M-1)·q^M)/(1 - q)² (geometric sums).
    """
    p, q = MODULUS, ORDER_BASE
    inverse = pow(q - 1, -1, p)
    powers = (pow(q, messages, p) - 1) * inverse
    weighted = q * (1 - messages * pow(q, messages - 1, p) + (messages - 1) * pow(q, messages, p))
    shift = nodes * (nodes - 1) // 2
    once = (shift * powers + weighted * inverse * inverse) % p
    folded = 0
    for _ in range(repeats):
        folded = (pow(q, messages, p) * folded + once) % p
    return folded


# A trace line is some forty characters; ids and numbers may be long.
_TRACE_LINE_BYTES = 120
_OTHER_OUTPUT_BYTES = 1 << 20


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
        Factor(
            "capacity",
            "own",
            "places in the queue between neighbours: what the contender's library has by default, a number "
            "(0 is a rendezvous), or unbounded",
            choices=("own", 0, 1, 30, 1000, "unbounded"),
        ),
        Factor("trace", 0, "1: every unit prints a line for each message", choices=(0, 1)),
        REPEATS,
        CORES,
    )
    capabilities = (
        hold("waits when all units are alive, so that their memory is measured", "held_pss_bytes"),
        Capability(
            "token", "sends the next message when the one before has arrived", "mode", bad=("mode=fast",)
        ),
        Capability("capacity", "takes the size of the queues between neighbours", "capacity"),
        Capability("trace", "prints a line for each message of each unit", "trace", bad=("trace=2",)),
        REPEATED,
    )
    (metrics,) = metric_tables(__file__)
    compared = ("hop_ns", "cpu_s")
    check_module = "ringside.workloads.ring.check"
    repeated_phase, repeated_metric = "relay", "hop_ns"
    phase_of: Mapping[str, str] = {"hop_ns": "relay", "spawn_ns": "spawn"}
    evidence_note = (
        "Every trial had to print the sum of the values that the last unit received and a hash of their "
        "order, which excludes wrong, missing and reordered messages; with trace=1 also the right number of "
        "lines of each kind."
    )
    plotted = (CPU_S.name,)
    secondary = ("spawn_ns", "peak_pss_bytes", "peak_threads")
    slopes = (
        Slope(
            "bytes_per_unit",
            "B",
            "Memory per unit",
            "growth of the PSS over N, while N units are alive and wait",
            over="nodes",
            metric="held_pss_bytes",
            regardless_of=("messages", "mode", "capacity", "trace"),
        ),
    )

    phase_rules: Mapping[str, PhaseRule] = {
        "spawn": PhaseRule(after="relay"),
        "relay": PhaseRule(after="spawn", exact=True),
    }
    checks = ProgramChecks(
        small={"nodes": 3, "messages": 3},
        required=("nodes", "messages"),
        bad=("nodes=1", "messages=0", "nodes=abc", "nodes=", "messages=-3"),
        sizes=(
            ({"nodes": 7, "messages": 13}, 1),
            ({"nodes": 2, "messages": 1, "mode": "token"}, 2),
            ({"nodes": 60, "messages": 50, "mode": "token"}, 3),
            ({"nodes": 1000, "messages": 3}, 4),
            *(
                ({"nodes": 7, "messages": 13, "capacity": capacity}, 6)
                for capacity in (0, 1, 30, 1000, "unbounded")
            ),
        ),
        phases=frozenset({"spawn", "relay"}),
        before_hold="spawn",
        growing=("spawn", "nodes"),
    )

    def arguments(self, point: Point) -> dict[str, str]:
        return {}

    def awaits(self, point: Point) -> tuple[str, ...]:
        return ("spawned",)

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        nodes, messages, times = int(point["nodes"]), int(point["messages"]), repeats(point)
        result = {
            "checksum": str(times * checksum(nodes, messages)),
            "order": str(order(nodes, messages, times)),
        }
        if point["trace"] == 0:
            return Evidence(result, ExpectedLines(total=0))
        starting = {
            ":": times * (nodes - 1) * (messages - 1),
            "*": times * (nodes - 1),
            ">": times * (messages - 1),
            "@": times,
        }
        return Evidence(result, ExpectedLines(total=times * nodes * messages, starting=starting))

    def output_bytes(self, point: Point) -> int:
        traced = repeats(point) * self.work(point) * _TRACE_LINE_BYTES if point["trace"] == 1 else 0
        return traced + _OTHER_OUTPUT_BYTES

    def work(self, point: Point) -> int:
        return int(point["nodes"]) * int(point["messages"])

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        # A cycle for each unit and for each delivery; with one message under way no core helps another.
        cores, in_turn = self.cores(point), point["mode"] == "token"
        relay_ns = self.work(point) * CYCLE_NS
        return {
            "spawn": int(point["nodes"]) * CYCLE_NS / cores,
            "relay": relay_ns if in_turn else relay_ns / cores,
        }

    def figures(self, trial: Trial) -> dict[str, float]:
        hops_ns = self.repeats_of(trial)
        figures = process_figures(trial.report, len(hops_ns) or 1)
        if relay_ns := trial.phase_ns("relay"):
            figures["hop_ns"] = relay_ns / self.work(trial.cell.point)
        if spawn_ns := trial.phase_ns("spawn"):
            figures["spawn_ns"] = spawn_ns / int(trial.cell.point["nodes"])
        if hops_ns:
            figures["first_hop_ns"] = hops_ns[0]
        held = trial.marks.get("spawned")
        if held and held.pss_bytes is not None:
            figures["held_pss_bytes"] = float(held.pss_bytes)
        return figures

    def repeated_unit_ns(self, point: Point) -> float:
        return float(self.work(point))

    def can_repeat(self, point: Point) -> bool:
        return point["trace"] == 0 and super().can_repeat(point)


RING = Ring()
