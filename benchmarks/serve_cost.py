"""The cost of the live page while a run is in progress (target: 2 % of a core for 50 watchers): the CPU time
of `ringside serve`, and how many bytes and events each watcher gets. The run is made up: the showdown's ring,
a trial every 200 ms.

    .venv/bin/python benchmarks/serve_cost.py [WATCHERS [SECONDS]]
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.runs import experiment, make_run

from ringside.store import Store

TRIAL_EVERY_S = 0.2
# The time until all watchers are connected and the first analysis is done.
SETTLING_S = 10.0


def cpu_s(process: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(url: str, run: str, seen: Counter[str]) -> None:
    """Read the events of a run until the server ends."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        connection.request("GET", f"/runs/{run}/events")
        for line in connection.getresponse():
            seen["bytes"] += len(line)
            if line.startswith(b"event: "):
                seen[line[7:].decode().strip()] += 1
    except (OSError, http.client.HTTPException):
        pass


def main() -> None:
    words = sys.argv[1:]
    watchers = int(words[0]) if words else 50
    seconds = int(words[1]) if len(words) > 1 else 60
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        store = Store(path)
        whole = make_run(store, experiment())
        trials = store.trials(whole)
        run = store.begin_run("live", 1, whole.plan, whole.host, {})
        command = [sys.executable, "-m", "ringside.cli.main", "serve", "--port", "0", "--store", str(path)]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr
        url = server.stderr.readline().split()[0]
        seen: Counter[str] = Counter()
        try:
            with store.hold(run.id):
                for _ in range(watchers):
                    threading.Thread(target=watch, args=(url, run.id, seen), daemon=True).start()
                began_s, before_s = time.monotonic(), None
                for trial in trials:
                    store.add_trial(run, trial)
                    time.sleep(TRIAL_EVERY_S)
                    passed_s = time.monotonic() - began_s
                    if before_s is None and passed_s > SETTLING_S:
                        before_s, counted_s = cpu_s(server.pid), passed_s
                        seen.clear()
                    if passed_s > SETTLING_S + seconds:
                        break
                assert before_s is not None
                used_s, measured_s = cpu_s(server.pid) - before_s, passed_s - counted_s
        finally:
            server.terminate()
            server.wait()
    print(f"{watchers} watchers for {measured_s:.0f} s: {used_s / measured_s:.2%} of one core")
    each = {name: round(count / watchers) for name, count in seen.items()}
    print(f"each got {each.pop('bytes', 0) / 1e6:.2f} MB; events: {each}")


if __name__ == "__main__":
    main()
