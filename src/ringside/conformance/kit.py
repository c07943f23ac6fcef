"""All rules for all workloads of a contender."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.conformance.fib import FIB
from ringside.conformance.http import FANOUT, FEED
from ringside.conformance.programs import check_program
from ringside.conformance.rules import Finding
from ringside.conformance.servers import Kind, check_server
from ringside.conformance.subject import Subject
from ringside.measure.executor import Executor
from ringside.measure.inputs import Inputs
from ringside.model.catalogue import Ready
from ringside.workloads import workload as find_workload

# The workloads of servers.
KINDS: dict[str, Kind] = {"fib": FIB, "fanout": FANOUT, "feed": FEED}


@dataclass(frozen=True, slots=True)
class Checked:
    """A workload of a contender and what it does against the contract. `not_offered`: the capabilities that
    its manifest does not name, whose rules were not tested. `reason`: why it was not checked. `seconds`: how
    long it took."""

    workload: str
    findings: tuple[Finding, ...]
    not_offered: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0


def check(
    ready: Ready,
    workloads: Sequence[str],
    executor: Executor,
    *,
    quick: bool = False,
    on_workload: Callable[[str], None] = lambda name: None,
) -> list[Checked]:
    """Check the contender in each of these workloads. Raises ProbeError, UsageError where an input cannot be
    written, OSError where the program cannot be started."""
    checked = []
    for name in workloads:
        on_workload(name)
        begun = time.monotonic()
        workload = find_workload(name)
        if workload.is_service and name not in KINDS:
            checked.append(Checked(name, (), reason=f"`check` knows no rules of the server `{name}`"))
            continue
        with tempfile.TemporaryDirectory(prefix="ringside-check-") as folder:
            place = Path(folder)
            subject = Subject(ready, workload, executor, Inputs(place / "inputs"), place, quick)
            if name in KINDS:
                check_server(subject, KINDS[name])
            else:
                check_program(subject)
            seconds = time.monotonic() - begun
            known = (capability.name for capability in workload.capabilities)
            not_offered = tuple(name for name in known if name not in subject.offered)
            checked.append(Checked(name, tuple(subject.findings), not_offered, seconds=seconds))
    return checked
