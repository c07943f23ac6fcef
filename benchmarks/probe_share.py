"""The probe's own CPU while it samples at 20 Hz, as a share of one core. Target: at most 1 %."""

from __future__ import annotations

import json
import os
import sys

from ringside.measure import trials as trial
from ringside.probe.local import LocalExecutor

SECONDS = 5
PROGRAMS = {
    "one process that computes": "import time\nt = time.time() + {s}\nwhile time.time() < t: pass",
    "200 threads that sleep": (
        "import threading, time\n"
        "for _ in range(200): threading.Thread(target=time.sleep, args=({s},)).start()"
    ),
    "20 processes that sleep": (
        "import os, time\n"
        "for _ in range(20):\n    if os.fork() == 0: time.sleep({s}); os._exit(0)\n"
        "for _ in range(20): os.wait()"
    ),
    "200 MB held": "import time\nx = bytearray(os.urandom(1) * (200 << 20))\ntime.sleep({s})",
}


def main() -> int:
    executor = LocalExecutor()
    cpus, probe_cpus = executor.cpus(1)
    print(f"the probe's own CPU at {trial.SAMPLE_HZ:g} Hz over {SECONDS} s, share of one core")
    for name, program in PROGRAMS.items():
        request = {
            "version": trial.PROTOCOL,
            "argv": [sys.executable, "-S", "-E", "-c", "import os\n" + program.format(s=SECONDS)],
            "cwd": "/",
            "env": {"PATH": os.environ["PATH"]},
            "cpus": cpus,
            "probe_cpus": probe_cpus,
            "limits": {"wall_s": 60, "memory_bytes": 1 << 30, "output_bytes": 1 << 20, "processes": 64},
            "sample_hz": trial.SAMPLE_HZ,
            "cgroup": "auto",
            "expect": None,
            "service": None,
        }
        found = json.loads(executor.run(request)[-1])
        assert found["outcome"] == "ok", found
        share = found["probe_cpu_ns"] / found["wall_ns"]
        rate = 1e9 / found["sample_interval_ns"] if found["sample_interval_ns"] else 0
        print(f"  {name:<28} {share:6.2%}   {found['samples']} samples, {rate:.1f} a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
