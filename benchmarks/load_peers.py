"""The load engine beside wrk and h2load: requests per second and the generator's own CPU per request.

Target: at least 1.25 times wrk's requests per second, at most 0.75 of its CPU per request. The server is nginx with one
worker on one CPU, the generators take turns on another; 64 connections, one request in flight on each.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ringside.executor.local import find_probe

from pairs import take_turns, tell  # isort: skip

SECONDS, ROUNDS, CONNECTIONS = 2, 10, 64
CONFIGURATION = """
worker_processes 1; daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 20000; }}
http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 "hello"; }} }} }}
"""


def main() -> int:
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    cpus = sorted(os.sched_getaffinity(0))
    if not nginx or len(cpus) < 2:
        print("needs nginx (apt-get install nginx-light) and two CPUs", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        (Path(folder) / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=port))
        words = ["taskset", "-c", str(cpus[-1]), nginx, "-p", folder, "-c", f"{folder}/nginx.conf"]
        server = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            compare(port, cpus[0])
        finally:
            server.terminate()
            server.wait()
    return 0


def compare(port: int, cpu: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    pinned = ["taskset", "-c", str(cpu)]
    cpu_us: dict[str, dict[int, float]] = {}

    def side(name: str, run: Callable[[], float]) -> Callable[[], float]:
        found = cpu_us.setdefault(name, {})
        count = iter(range(1_000_000))

        def call() -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            requests = run()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            # The first call is the warm-up of `take_turns`.
            if number := next(count):
                found[number] = used / requests * 1e6
            return requests / SECONDS

        return call

    sides = {f"ringside, {io}": side(f"ringside, {io}", lambda io=io: ours(port, io, pinned)) for io in ("uring", "epoll")}
    if wrk := shutil.which("wrk"):
        words = [*pinned, wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", url]
        sides["wrk"] = side("wrk", lambda: number(words, r"(\d+) requests in"))
    if h2load := shutil.which("h2load"):
        more = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS), url]
        sides["h2load"] = side("h2load", lambda: number(more, r"(\d+) succeeded"))
    print(f"{ROUNDS} rounds of {SECONDS} s, taking turns, {CONNECTIONS} connections, one CPU each")
    values = take_turns(sides, ROUNDS)
    peer = "wrk" if "wrk" in sides else "ringside, epoll"
    print("requests per second")
    tell(values, "/s", peer)
    print("the generator's CPU per request")
    tell(cpu_us, "us", peer)


def ours(port: int, io: str, pinned: list[str]) -> float:
    plan = {
        "protocol": "http",
        "addresses": [f"127.0.0.1:{port}"],
        "connections": CONNECTIONS,
        "io": io,
        "duration_s": SECONDS,
        "request": {"headers": [["Host", "127.0.0.1"]]},
        "expect": {"status": 200, "equals": "hello"},
    }
    request = json.dumps({"version": 1, "load": plan}).encode() + b"\n"
    done = subprocess.run([*pinned, find_probe()], input=request, capture_output=True, check=True)
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["outcome"] == "ok" and not outcome["errors"], outcome
    return float(outcome["requests"])


def number(words: list[str], pattern: str) -> float:
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = re.search(pattern, done.stdout)
    assert found, done.stdout
    return float(found[1])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("nginx does not listen")


if __name__ == "__main__":
    sys.exit(main())
