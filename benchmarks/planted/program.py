"""Programs with one mistake each, for `traps.py`: `program.py HOW`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path


def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def total(limit: int) -> None:
    print(sum(range(limit)))


def executions() -> int:
    """The number of executions in this folder, including this one."""
    log = Path(sys.argv[2], "executions")
    with log.open("ab") as file:
        file.write(b".")
    return log.stat().st_size


def two_modes() -> None:
    time.sleep((0.1, 1.5)[executions() % 2])


def stalls() -> None:
    time.sleep(2 if executions() % 6 == 0 else 0.1)


def leaves() -> None:
    cleans()
    Path(sys.argv[2], "left").touch()


def cleans() -> None:
    left = Path(sys.argv[2], "left")
    if left.exists():
        left.unlink()
        time.sleep(0.04)
    time.sleep(0.02)


def works_on() -> None:
    """Continues for a second of CPU time after the program has ended."""
    if os.fork() == 0:
        spin(1)
        os._exit(0)


def neighbours(is_busy: Callable[[float], bool]) -> None:
    """Starts two neighbours for each CPU."""
    beside(lambda passed: spin(0.02) if is_busy(passed) else time.sleep(0.02), 2 * (os.cpu_count() or 1))


def prints() -> None:
    for _ in range(4000):
        os.write(1, bytes(1 << 16))


def beside(work: Callable[[float], None], number: int) -> None:
    """`number` processes work until stdin ends. `work` gets the seconds since the start."""
    begin, parent = time.monotonic(), os.getpid()
    for _ in range(number):
        if os.fork() == 0:
            while os.getppid() == parent:
                work(time.monotonic() - begin)
            os._exit(0)
    sys.stdin.read()


HOWS: dict[str, Callable[[], object]] = {
    "sum": lambda: total(300_000),
    "less-sum": lambda: total(30_000),
    "two-modes": two_modes,
    "stalls": stalls,
    "memory": lambda: bytearray(200_000_000),
    "prints": prints,
    "works-on": works_on,
    "busy": lambda: beside(lambda passed: spin(0.05), 3),
    "works": lambda: spin(0.05),
    "leaves": leaves,
    "cleans": cleans,
    "later": lambda: neighbours(lambda passed: passed > 4),
    "bursts": lambda: neighbours(lambda passed: passed % 1 > 0.5),
}

HOWS[sys.argv[1]]()
