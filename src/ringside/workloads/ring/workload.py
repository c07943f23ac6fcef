"""The workload `ring`: its factors, metrics, evidence and figures."""

from collections.abc import Mapping

from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import Workload, repeats
from ringside.workloads.evidence import MODULUS, ORDER_BASE, fold_again
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import held_figures, repeat_figures
from ringside.workloads.tables import declared


def checksum(nodes: int, messages: int) -> int:
    """The sum of the values that unit N receives: M(M-1)/2 + M·N(N-1)/2."""
    return messages * (messages - 1) // 2 + messages * nodes * (nodes - 1) // 2


def order(nodes: int, messages: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over v = r + S, r = M-1 … 0, S = N(N-1)/2, p prime.

    H = Σ (r + S)·31^r (mod p), since r messages follow the message with the number r. With q = 31:
    Σ q^r = (q^M - 1)/(q - 1) and Σ r·q^r = q·(1 - M·q^(M-1) + (M-1)·q^M)/(1 - q)² (geometric sums)."""
    p, q = MODULUS, ORDER_BASE
    inverse = pow(q - 1, -1, p)
    powers = (pow(q, messages, p) - 1) * inverse
    weighted = q * (1 - messages * pow(q, messages - 1, p) + (messages - 1) * pow(q, messages, p))
    shift = nodes * (nodes - 1) // 2
    return fold_again((shift * powers + weighted * inverse * inverse) % p, messages, repeats)


# A trace line is some forty characters; ids and numbers may be long.
_TRACE_LINE_BYTES = 120


@declared(__file__)
class Ring(Workload):
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
        return traced + super().output_bytes(point)

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        # A cycle for each unit and for each delivery; with one message under way no core helps another.
        cores = self.cores(point)
        at_once = 1 if point["mode"] == "token" else cores
        spawn_ns, relay_ns = int(point["nodes"]) * CYCLE_NS, self.work(point) * CYCLE_NS
        return {"spawn": spawn_ns / cores, "relay": relay_ns / at_once}

    def figures(self, trial: Trial) -> dict[str, float]:
        figures = repeat_figures(self, trial) | held_figures(trial, "spawned", "held_pss_bytes")
        if relay_ns := trial.phase_ns("relay"):
            figures["hop_ns"] = relay_ns / self.work(trial.cell.point)
        if spawn_ns := trial.phase_ns("spawn"):
            figures["spawn_ns"] = spawn_ns / int(trial.cell.point["nodes"])
        return figures


RING = Ring()
