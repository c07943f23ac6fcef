"""The load engine beside wrk and h2load over TLS, taking turns on the same nginx and CPUs.

The generators have one CPU, nginx (one worker, TLS 1.3 with
TLS_AES_128_GCM_SHA256, a certificate on P-256, replies from memory) another. Over
HTTP/1.1 each connection has one request in flight, over HTTP/2 as many as STREAMS says; handshakes are a part
of each load, 64 in two seconds. Target: over HTTP/1.1 at least the requests per second of wrk and of h2load.
Where nginx is the slower side, requests per second say little about a generator: its CPU per request does.
RINGSIDE_BEFORE names a probe of an earlier revision, which takes turns with the others.
`engine_secure.py [http1] [http2]`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import CONNECTIONS, H2LOAD, ROUNDS, SECONDS, WRK, Side, counted, our_sides, show

from pairs import take_turns  # isort: skip

STREAMS = 1, 10
CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port} ssl http2 backlog=1024;
        ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_certificate {folder}/own.pem; ssl_certificate_key {folder}/own.key;
        location / {{ return 200 hello; }}
    }}
}}
"""


def certificate(folder: Path) -> None:
    """Writes `own.pem`, a self-signed certificate, and `own.key`."""
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out own.pem "
        "-days 9 -subj /CN=own -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def nginx(cpu: int) -> Iterator[int]:
    """Starts nginx on a CPU; yields its port."""
    with tempfile.TemporaryDirectory() as name, socket.socket() as free:
        folder = Path(name)
        certificate(folder)
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        free.close()
        (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port))
        words = ["taskset", "-c", str(cpu), "nginx", "-e", f"{folder}/errors", "-c", f"{folder}/conf"]
        with subprocess.Popen(words) as process:
            try:
                _wait_for(port, process)
                yield port
            finally:
                process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise SystemExit(f"nginx ended with status {process.returncode}")


def http1(pinned: Sequence[str], port: int) -> None:
    url = f"https://127.0.0.1:{port}/"
    # The CPU belongs to this thread alone, so it may poll for a moment before it sleeps.
    plan: dict[str, Any] = {"tls": {"server_name": "127.0.0.1", "insecure": True}, "cpus": [int(pinned[-1])]}
    sides = our_sides(port, pinned, **plan)
    plan["cpus"] = []
    sides |= our_sides(port, pinned, ", no polling", **plan)
    if wrk := shutil.which("wrk"):
        words = [*pinned, wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", url]
        sides["wrk"] = Side(counted(words, *WRK))
    if h2load := shutil.which("h2load"):
        words = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS), url]
        sides["h2load"] = Side(counted(words, *H2LOAD))
    print(f"HTTP/1.1 over TLS: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections, one CPU each")
    values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("wrk", "h2load") if name in sides])


def http2(pinned: Sequence[str], port: int) -> None:
    for streams in STREAMS:
        plan: dict[str, Any] = {
            "tls": {"server_name": "127.0.0.1", "insecure": True},
            "http2": {"streams": streams},
            "cpus": [int(pinned[-1])],
        }
        sides = our_sides(port, pinned, **plan)
        if h2load := shutil.which("h2load"):
            words = [*pinned, h2load, "-t1", f"-c{CONNECTIONS}", f"-m{streams}", "-D", str(SECONDS)]
            sides["h2load"] = Side(counted([*words, f"https://127.0.0.1:{port}/"], *H2LOAD))
        print(f"HTTP/2 over TLS, {streams} at once on each of {CONNECTIONS} connections")
        values = take_turns(sides, ROUNDS)
        show(sides, values, [name for name in ("h2load",) if name in sides])


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not shutil.which("nginx"):
        print("needs two CPUs, and nginx", file=sys.stderr)
        return 1
    parts = {"http1": http1, "http2": http2}
    for name in sys.argv[1:] or parts:
        if name not in parts:
            print(f"{name}: one of {', '.join(parts)}", file=sys.stderr)
            return 2
    with nginx(cpus[-1]) as port:
        for name in sys.argv[1:] or parts:
            parts[name](["taskset", "-c", str(cpus[0])], port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
