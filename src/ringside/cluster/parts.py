"""The nodes of a cluster that get a load engine each, and what their answers are together."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from msgspec.structs import replace

from ringside.cluster.engine import EngineReply
from ringside.cluster.session import RESOURCE, Node
from ringside.errors import ClusterError, ProbeError, UsageError
from ringside.load.result import EnginePart
from ringside.probe import protocol
from ringside.text import one_line
from ringside.units import count

# Warnings about an engine's machine: the engines' own say more than that of the merged record.
_OF_MACHINES = ("generator-bound", "lag", "near-ports", "near-descriptors")


def choose(nodes: Sequence[Node], wanted: int | Sequence[str] | None) -> list[Node]:
    """The nodes for the engines, one each: so many, those of these names or addresses, or all. Raises
    UsageError where there are not so many, ClusterError where there is none."""
    if not nodes:
        raise ClusterError(
            f"the cluster has no node for an engine: start one with CPUs, or with the resource {RESOURCE}"
        )
    names = ", ".join(node.name for node in nodes)
    if isinstance(wanted, int) and wanted > len(nodes):
        raise UsageError(f"--engines {wanted}: the cluster has {count(len(nodes), 'node')} for them, {names}")
    if wanted is None or isinstance(wanted, int):
        return list(nodes[:wanted])
    chosen: list[Node] = []
    for name in wanted:
        named = [node for node in nodes if node.name == name]
        named = named or [node for node in nodes if node.address == name]
        if len(named) != 1 or named[0] in chosen:
            reason = "is more than one node" if named else "is not a node"
            reason = "is named twice" if named and named[0] in chosen else reason
            raise UsageError(f"--engines: {one_line(name, 60)} {reason}; the cluster has {names}")
        chosen += named
    return chosen


def check_reach(addresses: Sequence[str], nodes: Sequence[Node]) -> None:
    """Raise UsageError where an address (`127.0.0.1:80`) is another server on each of several machines."""
    remote = next((node for node in nodes if not _is_here(node)), None)
    for address in addresses:
        host = address.rpartition(":")[0].strip("[]").partition("%")[0]
        if remote and ipaddress.ip_address(host).is_loopback:
            raise UsageError(
                f"{address} is another server on each machine: name the target by an address that "
                f"{remote.name} reaches"
            )


def _is_here(node: Node) -> bool:
    """Whether the node's address is one of this machine's."""
    family = socket.AF_INET6 if ":" in node.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((node.address, 0))
        except OSError:
            return False
    return True


def part_of(node: Node, answer: EngineReply) -> tuple[EnginePart, protocol.EngineRecord]:
    """The messages of an engine's part. Raises ProbeError where they are not complete."""
    try:
        messages = protocol.engine_messages(answer.text)
    except ValueError as error:
        raise ProbeError(f"{node.name} sent an invalid message: {one_line(str(error), 100)}") from error
    started = [message for message in messages if isinstance(message, protocol.Started)]
    records = [message for message in messages if isinstance(message, protocol.EngineRecord)]
    outcome = messages[-1] if messages else None
    if not (started and records and isinstance(outcome, protocol.LoadOutcome)):
        raise ProbeError(f"{node.name} sent no record of its part: install the same ringside-probe there")
    return EnginePart(node.name, node.address, started[0], outcome), records[0]


def begun(parts: Sequence[EnginePart]) -> protocol.Started:
    """How the engines began, as one."""
    each = [part.started for part in parts]
    return protocol.Started(
        protocol.VERSION,
        io=", ".join(sorted({started.io for started in each})),
        threads=sum(started.threads for started in each),
        connections=sum(started.connections for started in each),
        missing=tuple(f"{part.node}: {text}" for part in parts for text in part.started.missing),
    )


def warnings(whole: protocol.LoadOutcome, parts: Sequence[EnginePart]) -> tuple[protocol.EngineWarning, ...]:
    """Warnings of the whole load; those about a machine name it."""
    named = []
    for part in parts:
        if part.figures.outcome == "load-failed":
            text, remedy = f"{part.node}: {part.figures.detail}", "check that this node reaches the target"
            named.append(protocol.EngineWarning("engine-failed", text, remedy))
        own = [warning for warning in part.figures.warnings if warning.code in _OF_MACHINES]
        named += [replace(warning, text=f"{part.node}: {warning.text}") for warning in own]
    of_load = [warning for warning in whole.warnings if warning.code not in _OF_MACHINES]
    return (*of_load, *named)
