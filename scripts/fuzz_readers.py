#!/usr/bin/env python3
"""Fuzzes everything that Ringside reads: messages of the probe, manifests, experiments, published figures,
records, stores, and what is made of them.

    .venv/bin/python scripts/fuzz_readers.py [SECONDS [NAME…]]

Each reader (tests/support/readers.py) gets valid inputs, changed at random, for some seconds (20). It may
refuse one with its documented error; anything else ends this with status 1, and the input lies in
.ringside/fuzz/found. FUZZ_SEED draws the same changes again.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.support.readers import Reader, accepts, all_readers  # noqa: E402

FOUND = ROOT / ".ringside" / "fuzz" / "found"
# One input may not take longer.
PATIENCE_S = 30


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    signal.signal(signal.SIGALRM, _give_up)
    with tempfile.TemporaryDirectory() as folder:
        (place := Path(folder, "input")).mkdir()
        readers = all_readers(Path(folder))
        for name in sys.argv[2:] or readers:
            fuzz(name, readers[name], place, seconds)


def fuzz(name: str, reader: Reader, place: Path, seconds: float) -> None:
    """Feed a reader for this long, and print how many inputs it got and how many it took."""
    dice = random.Random(os.environ.get("FUZZ_SEED"))
    until = time.monotonic() + seconds
    count = taken = 0
    while time.monotonic() < until:
        data = reader.make(dice)
        signal.alarm(PATIENCE_S)
        try:
            taken += accepts(reader, data, place)
        except Exception:
            FOUND.mkdir(parents=True, exist_ok=True)
            path = FOUND / f"{name.replace(' ', '-')}-{time.time_ns()}"
            path.write_bytes(data)
            traceback.print_exc()
            sys.exit(f"fuzz_readers: {name} failed; what made it fail is {path}")
        finally:
            signal.alarm(0)
        count += 1
    print(f"fuzz_readers: {name}: {count} inputs in {seconds:g} s, {taken} of them valid", flush=True)


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"one input took more than {PATIENCE_S} s")


if __name__ == "__main__":
    main()
