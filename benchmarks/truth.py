"""Whether latencies are true: a server that answers at once, but freezes for D of every P seconds.

In an open loop that keeps its rate L(q) = max(0, D - (1 - q) P), and the mean is D^2 / 2P (a request that
falls into a freeze waits for its end). wrk and ab, closed loops, are asked about the same server.
`truth.py [quick]`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from engine import load
from peers import peer

QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p99_9_ns": 0.999}


def freezing(period_s: float, freeze_s: float, rate: int, seconds: int, io: str) -> None:
    """Print what the engine says beside the law."""
    words = [peer("freezing"), str(round(period_s * 1000)), str(round(freeze_s * 1000))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        try:
            print(f"P={period_s:g} s, D={freeze_s:g} s, {rate}/s for {seconds} s, {io}")
            found = load(
                [],
                protocol="http",
                addresses=[f"127.0.0.1:{port}"],
                connections=64,
                io=io,
                duration_s=seconds,
                pacing={"kind": "constant", "rate_per_s": rate},
                request={"headers": [["Host", "127.0.0.1"]]},
            )
            latency = found["histograms"]["latency"]
            mean = freeze_s**2 / 2 / period_s
            rows = [("mean", mean, latency["mean_ns"])]
            rows += [
                (key[:-3], max(0.0, freeze_s - (1 - q) * period_s), latency[key])
                for key, q in QUANTILES.items()
            ]
            for name, law, ns in rows:
                print(f"  {name:<6} law {law * 1e3:9.2f} ms   found {ns / 1e6:9.2f} ms")
            print(f"  largest lag of the engine itself {found['largest_lag_ns'] / 1e6:.1f} ms")
            others(port)
        finally:
            server.kill()


def others(port: int) -> None:
    """What closed loops say of this server."""
    url = f"http://127.0.0.1:{port}/"
    if wrk := shutil.which("wrk"):
        done = subprocess.run(
            [wrk, "-t1", "-c64", "-d10s", "--latency", url], capture_output=True, text=True, check=True
        )
        print("  wrk:", "; ".join(re.findall(r"(?:50|90|99)%\s+\S+", done.stdout)))
    if ab := shutil.which("ab"):
        words = [ab, "-q", "-k", "-c64", "-t10", "-n1000000", url]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        print("  ab:", "; ".join(re.findall(r"(?:50|90|99)%\s+\d+", done.stdout)), "(ms)")


def for_good(io: str) -> None:
    """A server that freezes at half time: half of the requests have no answer."""
    with subprocess.Popen([peer("freezing"), "0", "2000"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        try:
            found = load(
                [],
                protocol="http",
                addresses=[f"127.0.0.1:{port}"],
                connections=64,
                io=io,
                duration_s=4,
                timeout_s=30,
                pacing={"kind": "constant", "rate_per_s": 1000},
                request={"headers": [["Host", "127.0.0.1"]]},
            )
        finally:
            server.kill()
    print(f"frozen for good after 2 of 4 s, {io}: {found['unfinished']} of {found['intended']} unfinished")


def main() -> int:
    quick = sys.argv[1:] == ["quick"]
    for io in ("uring", "epoll"):
        freezing(1, 0.1, 1000, 20, io)
        if not quick:
            freezing(10, 1, 1000, 40, io)
            freezing(10, 1, 20_000, 40, io)
        for_good(io)
    return 0


if __name__ == "__main__":
    sys.exit(main())
