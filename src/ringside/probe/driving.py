"""Loads on this machine: one process of the probe, whose lines are seen as they come."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ringside.errors import ProbeError
from ringside.probe.local import check_probe, chunks, end_probe, find_probe, send_request, start_probe

# After an interrupt the engine has this long to say what it measured.
_GRACE_S = 15.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Driver:
    """Drives loads, one at a time. Ctrl-C ends the one that runs, which still has a result; then
    `interrupted` is True. Another Ctrl-C ends it without."""

    def __init__(self, probe: str | None = None) -> None:
        self.probe = probe or find_probe()
        check_probe(self.probe)
        self.interrupted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._kill_at: float | None = None

    def run(self, request: Mapping[str, Any], seen: Callable[[bytes], None] | None = None) -> list[bytes]:
        """The probe's lines, the outcome last; `seen` gets each as it comes. Raises ProbeError where there
        is no outcome, KeyboardInterrupt where there is none because of interrupts."""
        with self._interrupts():
            process = self._process = start_probe(self.probe)
            try:
                send_request(process, request)
                lines = []
                for line in self._lines(process):
                    lines.append(line)
                    if seen:
                        seen(line)
                end_probe(process, lines)
            except ProbeError:
                if self.interrupted:
                    raise KeyboardInterrupt from None
                raise
            finally:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
                self._process = None
        return lines

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Signals end the load, not ringside: no exception may lose a line that is half read."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._interrupt) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self._process:
            self._process.send_signal(signal.SIGKILL if self.interrupted else signal.SIGINT)
        self._kill_at = time.monotonic() + _GRACE_S
        self.interrupted = True

    def _lines(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        def overdue() -> None:
            if self._kill_at is not None and time.monotonic() > self._kill_at:
                process.kill()

        if self.interrupted:  # before there was a process to tell
            process.send_signal(signal.SIGINT)
        rest = b""
        for chunk in chunks(process, overdue):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
        if rest:
            yield rest
