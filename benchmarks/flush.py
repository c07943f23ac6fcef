"""What is the flush of the C10k post good for? Compares how late lines arrive from Go's feed as it is, and
from a copy that flushes nothing after the head. In the copy, one chunk may contain several lines. The
contract of `feed` forbids that, so here a message is a line. `flush.py [MILLISECONDS between two lines]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from clients import CONTENDERS, serving  # isort: skip

RINGSIDE = Path(sys.executable).with_name("ringside")
CONNECTIONS, SECONDS = 100, 20
# The server's buffers hold some hundred lines. They should fill several times before the load gives up.
INTERVAL_MS = "10"


def main() -> None:
    interval_ms = sys.argv[1] if len(sys.argv) > 1 else INTERVAL_MS
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/feed"
        subprocess.run(["go", "build", "-o", program, "./feed"], cwd=CONTENDERS / "go", check=True)
        for flush, title in (("each", "a flush after each line"), ("first", "no flush after the first line")):
            words = [program, "port=0", "cores=1", f"interval_ms={interval_ms}", f"flush={flush}"]
            with serving(words, CONTENDERS / "go") as port:
                print(f"\n{title}, a line every {interval_ms} ms", flush=True)
                load = ["load", f"stream+http://127.0.0.1:{port}/test/{{id}}", "--quiet"]
                load += ["--connections", str(CONNECTIONS), "--duration", f"{SECONDS}s", "--framing", "line"]
                load += ["--first", "Welcome: {id}", "--chunk", "Chunk {k} for {id}"]
                subprocess.run([RINGSIDE, *load, "--interval", f"{interval_ms}ms"], check=False)


if __name__ == "__main__":
    main()
