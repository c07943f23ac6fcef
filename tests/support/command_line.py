"""The real command, in a process of its own, or in this one: starts are slow."""

import contextlib
import contextvars
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from ringside.cli import main as cli

RINGSIDE = [sys.executable, "-m", "ringside.cli.main"]


def captured(words: Sequence[str | bytes | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has ended, whatever its status, and the text that it printed."""
    return subprocess.run(
        words, **{"capture_output": True, "text": True, "timeout": 300, "check": False, **options}
    )


def ringside(
    *words: str, status: int | None = 0, timeout_s: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The output of `ringside` with these words. It has to end with `status` (None: any), and without a
    traceback."""
    done = captured([*RINGSIDE, *words], env={**os.environ, **environment}, timeout=timeout_s)
    assert status is None or done.returncode == status, done
    assert "Traceback" not in done.stderr, done.stderr
    return done


class Ended(NamedTuple):
    """How a command line ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


def in_process(*words: str, status: int | None = 0, **environment: str) -> Ended:
    """`ringside` with these words in this process. It has to end with `status` (None: any)."""
    # A command keeps off the CPUs of contenders to its end, which here is not that of the process.
    cpus = os.sched_getaffinity(0)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    # With the bytes below the text, to which output of programs goes.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["ringside", *words]),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            # Settings of one command line do not affect the next one.
            contextvars.copy_context().run(cli.main)
        except SystemExit as ended:
            code = ended.code
        finally:
            os.sched_setaffinity(0, cpus)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert isinstance(code, int)
    printed = Ended(code, *(stream.detach().getvalue().decode() for stream in (out, err)))
    assert status is None or code == status, printed
    return printed


def parsed(*words: str, status: int | None = 0) -> dict[str, Any]:
    """The document of `ringside --json` with these words, in this process."""
    document: dict[str, Any] = json.loads(in_process(*words, "--json", status=status).stdout)
    return document


def load_document(*arguments: str, status: int | None = 0) -> dict[str, Any]:
    """The document of `ringside load --json` with these arguments."""
    document = parsed("load", *arguments, status=status)
    assert document["format"] == (2 if "--vs" in arguments else 1)
    return document
