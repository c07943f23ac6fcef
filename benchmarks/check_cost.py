"""How long `ringside check` takes for all workloads of a contender (target: 60 s), and for each of them.
Arguments: names of contenders; without any, all of the catalogue. Wall times of this machine, not ratios:
what a check waits for is the same everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ringside.cli import context
from ringside.measure import host

ROOT = Path(__file__).resolve().parents[1]
RINGSIDE = str(Path(sys.executable).parent / "ringside")
TARGET_S = 60


def checked(name: str) -> tuple[dict[str, float], float, float, str]:
    """Seconds of each workload; wall time and CPU time of a whole command whose build is ready; the reason if
    the contender does not conform."""
    command = [RINGSIDE, "check", name, "--json"]
    # Builds the contender if that has not been done.
    context.toolchain().prepare(context.catalogue([]).contender(name))
    cpu_before, begun = os.times(), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    wall_s, cpu = time.perf_counter() - begun, os.times()
    cpu_s = cpu.children_user - cpu_before.children_user + cpu.children_system - cpu_before.children_system
    if not done.stdout:
        return {}, wall_s, cpu_s, done.stderr.strip().splitlines()[-1]
    (document,) = json.loads(done.stdout)["contenders"]
    broken = [
        f"{each['workload']}: {finding['rule']}"
        for each in document["workloads"]
        for finding in each["findings"]
    ]
    seconds = {each["workload"]: each["seconds"] for each in document["workloads"]}
    return seconds, wall_s, cpu_s, document["reason"] or ", ".join(broken)


def main() -> int:
    os.chdir(ROOT)
    facts = host.facts()
    machine = f"{facts['cpu_model']}, {len(facts['cpus_usable'])} CPUs, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}; target {TARGET_S} s")
    late = []
    for name in sys.argv[1:] or context.catalogue([]).contender_names():
        seconds, wall_s, cpu_s, problem = checked(name)
        parts = ", ".join(f"{workload} {took:.1f}" for workload, took in seconds.items())
        mark = "" if wall_s <= TARGET_S else " MISSED"
        print(f"{name:22} {wall_s:6.1f} s, CPU {cpu_s:5.1f} s{mark}  {parts}", flush=True)
        if problem:
            print(f"{'':22} does not conform: {problem}")
        if mark or problem:
            late.append(name)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
