"""All rules for all workloads of a contender.

python -m ringside.conformance.kit N W PORT    N clients of workload W at one time
"""

import importlib
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ringside.conformance.programs import RuleTests, check_program
from ringside.conformance.servers import Kind, answered, check_server
from ringside.conformance.subject import Subject
from ringside.measure.host import Executor
from ringside.measure.runs.inputs import Inputs
from ringside.model.catalogue import Ready
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload


def checks_of(workload: Workload) -> Kind | RuleTests:
    """The tests of `check` beyond the rules that all workloads share."""
    if workload.check_module:
        checks: Kind | RuleTests = importlib.import_module(workload.check_module).CHECKS
        return checks
    if not workload.is_service:
        return ()
    # A server that accepts connections and answers the loads of its trials.
    return Kind(lambda connection: None, nonsense=(b"", b"\0\xff" * 40), request=b"")


def check(ready: Ready, name: str, executor: Executor, *, quick: bool) -> dict[str, Any]:
    """Check the contender in the workload of that name: what it does against the contract, the capabilities
    that its manifest does not name, whose rules were not tested, and how long it took. Raises ProbeError,
    UsageError if an input cannot be written, OSError if the program cannot be started."""
    begun, workload = time.monotonic(), find_workload(name)
    own, known = checks_of(workload), [capability.name for capability in workload.capabilities]
    with tempfile.TemporaryDirectory(prefix="ringside-check-") as folder:
        inputs = Inputs(Path(folder) / "inputs")
        subject = Subject(ready, workload, executor, inputs, Path(folder), quick)
        if isinstance(own, Kind):
            check_server(subject, own)
        else:
            check_program(subject, own)
    return {
        "workload": name,
        "findings": [asdict(finding) for finding in subject.findings],
        "not_offered": [name for name in known if name not in subject.offered],
        "seconds": round(time.monotonic() - begun, 1),
    }


def main(count: str, name: str, port: str) -> None:
    """Test clients with no curl equivalent, for the command that repeats a finding."""
    kind = checks_of(find_workload(name))
    assert isinstance(kind, Kind)
    print(f"{answered(kind, int(port), int(count))} of {count} simultaneous clients got an answer")


if __name__ == "__main__":
    main(*sys.argv[1:])
