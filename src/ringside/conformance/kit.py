"""All rules for all workloads of a contender.

python -m ringside.conformance.kit N W PORT    so many clients of workload W at one time
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.conformance.programs import RuleTests, check_program
from ringside.conformance.servers import Kind, answered, check_server
from ringside.conformance.subject import Finding, Subject
from ringside.measure.host import Executor
from ringside.measure.runs.inputs import Inputs
from ringside.model.catalogue import Ready
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload


def checks_of(workload: Workload) -> Kind | RuleTests:
    """What `check` tests besides the rules that all workloads share."""
    if workload.check_module:
        checks: Kind | RuleTests = importlib.import_module(workload.check_module).CHECKS
        return checks
    if not workload.is_service:
        return ()
    # A server that accepts connections and answers the loads of its trials.
    return Kind(workload, lambda connection: None, nonsense=(b"", b"\0\xff" * 40), request=b"")


@dataclass(frozen=True, slots=True)
class Checked:
    """A workload of a contender and what it does against the contract."""

    workload: str
    findings: tuple[Finding, ...]
    # The capabilities that its manifest does not name, whose rules were not tested.
    not_offered: tuple[str, ...] = ()
    # How long it took.
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
        begun, workload = time.monotonic(), find_workload(name)
        own, known = checks_of(workload), (capability.name for capability in workload.capabilities)
        with tempfile.TemporaryDirectory(prefix="ringside-check-") as folder:
            inputs = Inputs(Path(folder) / "inputs")
            subject = Subject(ready, workload, executor, inputs, Path(folder), quick)
            if isinstance(own, Kind):
                check_server(subject, own)
            else:
                check_program(subject, own)
        not_offered = tuple(name for name in known if name not in subject.offered)
        seconds = time.monotonic() - begun
        checked.append(Checked(name, tuple(subject.findings), not_offered, seconds=seconds))
    return checked


def main(count: str, name: str, port: str) -> None:
    """Clients that no usual command can play, for the line that repeats a finding."""
    kind = checks_of(find_workload(name))
    assert isinstance(kind, Kind)
    print(f"{answered(kind, int(port), int(count))} of {count} simultaneous clients got an answer")


if __name__ == "__main__":
    main(*sys.argv[1:])
