"""Programs with one mistake each, for `traps.py`: `program.py HOW`."""

from __future__ import annotations

import os
import random
import sys
import time

# Of hyperfine and of Ringside: the number of the execution; a warm-up has none.
ITERATION = os.environ.get("HYPERFINE_ITERATION", "")


def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def total(limit: int) -> None:
    print(sum(range(limit)))


def two_modes() -> None:
    time.sleep(random.choice((0.03, 0.5)))


def stalls() -> None:
    time.sleep(0.22 if ITERATION.isdigit() and int(ITERATION) % 5 == 0 else 0.02)


def prints() -> None:
    for _ in range(4000):
        os.write(1, bytes(1 << 16))


HOWS = {
    "sum": lambda: total(300_000),
    "less-sum": lambda: total(30_000),
    "two-modes": two_modes,
    "sleeps": lambda: time.sleep(0.02),
    "stalls": stalls,
    "memory": lambda: bytearray(200_000_000),
    "prints": prints,
}

HOWS[sys.argv[1]]()
