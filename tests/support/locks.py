"""Another process that has the lock of the machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HOLDS = """
import sys, time
from ringside.measure.host import alone
with alone(lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has the lock until its stdin ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=pipe, stdout=pipe) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
