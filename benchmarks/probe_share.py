"""The probe's own CPU while it samples at 20 Hz, as a share of one core. Target: at most 1 %."""

from __future__ import annotations

import os
import sys

from ringside.measure.host import Executor
from ringside.probe.protocol import Limits, TrialOutcome, TrialRequest

SECONDS = 5
SAMPLE_HZ = 20.0
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
    executor = Executor()
    cpus, probe_cpus = executor.cpus(1)
    print(f"the probe's own CPU at {SAMPLE_HZ:g} Hz over {SECONDS} s, share of one core")
    for name, program in PROGRAMS.items():
        request = TrialRequest(
            argv=(sys.executable, "-S", "-E", "-c", "import os\n" + program.format(s=SECONDS)),
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            limits=Limits(wall_s=60, memory_bytes=1 << 30, output_bytes=1 << 20, processes=64),
            cpus=cpus,
            probe_cpus=probe_cpus,
            sample_hz=SAMPLE_HZ,
        )
        outcome = executor.trial(request)[-1]
        assert isinstance(outcome, TrialOutcome)
        assert outcome.outcome == "ok", outcome
        share = (outcome.probe_cpu_ns or 0) / (outcome.wall_ns or 1)
        rate = 1e9 / outcome.sample_interval_ns if outcome.sample_interval_ns else 0
        print(f"  {name:<28} {share:6.2%}   {outcome.samples} samples, {rate:.1f} a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
