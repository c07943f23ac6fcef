"""Servers of the tests in processes of their own, which print their ports."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Prints the port of HTTP and that of lines.
LOAD_SERVER = (sys.executable, str(Path(__file__).parent / "load_server.py"))


@contextmanager
def ports_of(command: Sequence[str], folder: Path | None = None) -> Iterator[tuple[int, ...]]:
    """The ports that a server prints in its first line; it is killed in the end."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield tuple(map(int, process.stdout.readline().split()))
        finally:
            process.kill()
