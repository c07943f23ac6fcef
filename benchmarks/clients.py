"""The clients of two posts beside the load engine, taking turns on the same server: who limits the rate?

2015 (concurrency in Python vs GO): a Python loop that sends a line, waits for its answer and counts, while a
thread reads the count once a second. 2016 (Go concurrency programming): `ab`, a closed loop of HTTP/1.0, a
connection for each request. `clients.py [rounds]`. Servers: `fib` of python-threads, and `fanout` of go with
kind=cpu.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from pairs import take_turns, tell

CONTENDERS = Path(__file__).resolve().parents[1] / "contenders"
SECONDS = 2
# The structure of the post's program, rewritten.
LOOP = """
import socket, sys, threading, time
count = 0
def watch():
    global count
    while True:
        time.sleep(1)
        print(count, flush=True)
        count = 0
threading.Thread(target=watch, daemon=True).start()
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
end = time.monotonic() + float(sys.argv[2]) + 0.5
while time.monotonic() < end:
    server.sendall(b"1\\n")
    server.recv(100)
    count += 1
"""


@contextlib.contextmanager
def serving(words: Sequence[str], folder: Path) -> Iterator[str]:
    """Starts a contender's server; yields its port."""
    with subprocess.Popen(
        words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        try:
            yield server.stdout.readline().strip().removeprefix("::ready port=")
        finally:
            server.terminate()


def output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def python_loop(port: str) -> float:
    counts = [int(line) for line in output(sys.executable, "-c", LOOP, port, str(SECONDS)).splitlines()]
    return sum(counts) / len(counts)


def engine(target: str, connections: int, *options: str) -> float:
    words = [
        "load",
        target,
        "--connections",
        str(connections),
        "--duration",
        f"{SECONDS}s",
        "--json",
        *options,
    ]
    document = json.loads(output(str(Path(sys.executable).with_name("ringside")), *words))
    return float(document["achieved_rate"])


def ab(url: str, connections: int) -> float:
    printed = output("ab", "-q", f"-c{connections}", f"-t{SECONDS}", "-n1000000", url)
    return float(re.search(r"Requests per second: +([\d.]+)", printed)[1])  # type: ignore[index]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with serving(
        [sys.executable, "-B", "fib.py", "port=0", "cores=1"], CONTENDERS / "python-threads"
    ) as port:
        print("fib(1) of python-threads, one connection")
        peer = partial(engine, f"tcp://127.0.0.1:{port}", 1, "--line", "1")
        tell(
            take_turns({"the engine": peer, "a loop in Python": partial(python_loop, port)}, rounds),
            "/s",
            "the engine",
        )
    if not (shutil.which("ab") and shutil.which("go")):
        print("ab (apache2-utils) or go is missing: left out")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["go", "build", "-o", folder, "./fanout"], cwd=CONTENDERS / "go", check=True)
        words = [f"{folder}/fanout", "port=0", "cores=1", "kind=cpu", "work=1000"]
        with serving(words, Path(folder)) as port:
            url = f"http://127.0.0.1:{port}/"
            print("fanout of go, kind=cpu, 20 connections, one for each request")
            sides = {"the engine": partial(engine, url, 20, "--close"), "ab": partial(ab, url, 20)}
            tell(take_turns(sides, rounds), "/s", "the engine")


if __name__ == "__main__":
    main()
