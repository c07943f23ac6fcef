"""The driver of the probe: one process for each request, one policy for failures and for interrupts.

A probe that dies, hangs or sends what is no message is a ProbeError, after everything that it may have left
behind was ended. Ctrl-C and SIGTERM end the request, not ringside: the probe ends in order and still reports;
then `interrupted` is True. A second interrupt ends it at once.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TypeVar

from ringside.errors import ProbeError
from ringside.probe.protocol import (
    VERSION,
    EngineMessage,
    LoadOutcome,
    LoadRequest,
    Started,
    TrialMessage,
    TrialOutcome,
    TrialRequest,
    engine_message,
    trial_message,
)

Message = TypeVar("Message", TrialMessage, EngineMessage)

_TICK_S = 1.0
# What an interrupted probe may take to end its contender and to report.
_INTERRUPT_GRACE_S = 15.0
# Beyond the limits of the request; a probe may take five minutes to end what forks without end.
_WATCHDOG_GRACE_S = 330.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The most of a bad message that is shown.
_SHOWN = 200


class Probe:
    """Carries out one request at a time."""

    def __init__(self, path: str | None = None, *, grace_s: float = _WATCHDOG_GRACE_S) -> None:
        """`path`: the program, found if left out. `grace_s`: how long it may take beyond the limits of a
        request before it counts as hung. Raises ProbeError unless it starts and speaks this protocol."""
        self.path = path or find_probe()
        check_probe(self.path)
        self.interrupted = False
        self._grace_s = grace_s
        self._process: subprocess.Popen[bytes] | None = None
        self._kill_at: float | None = None

    def trial(self, request: TrialRequest, on_tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        """The messages of a trial, the outcome last. `on_tick` is called every second or so meanwhile. Raises
        ProbeError where there is no outcome, KeyboardInterrupt where a second interrupt prevented it."""
        service = request.service
        extra_s = (service.ready_s + service.idle_s + service.end_s) if service else 0.0
        return self._carry_out(
            request.encode(), trial_message, request.limits.wall_s + extra_s, on_tick=on_tick
        )

    def load(
        self, request: LoadRequest, on_message: Callable[[EngineMessage], None] | None = None
    ) -> list[EngineMessage]:
        """The messages of a load, the outcome last; `on_message` gets each as it comes. Raises as `trial`."""
        plan = request.load
        limit_s = None if plan.duration_s is None else plan.duration_s + plan.timeout_s
        return self._carry_out(request.encode(), engine_message, limit_s, on_message=on_message)

    def _carry_out(
        self,
        request: bytes,
        decode: Callable[[bytes], Message],
        limit_s: float | None,
        *,
        on_tick: Callable[[], None] | None = None,
        on_message: Callable[[Message], None] | None = None,
    ) -> list[Message]:
        messages: list[Message] = []
        deadline = None if limit_s is None else time.monotonic() + limit_s + self._grace_s
        with self._interrupts():
            process = self._process = _start(self.path)
            try:
                _send(process, request)
                for line in self._lines(process, deadline, on_tick):
                    if _has_outcome(messages):
                        raise ProbeError("the probe sent a message after the outcome")
                    messages.append(_decoded(line, decode))
                    if on_message:
                        on_message(messages[-1])
                _end(process, messages)
            except BaseException as error:
                _stop(process, messages)
                if self.interrupted and isinstance(error, ProbeError):
                    raise KeyboardInterrupt from None
                raise
            finally:
                self._process = None
        return messages

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Signals end the request: no exception may lose a line that is half read."""
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
        if self._process and self.interrupted:
            _kill(self._process)
        elif self._process:
            self._process.send_signal(signal.SIGINT)
        self._kill_at = time.monotonic() + _INTERRUPT_GRACE_S
        self.interrupted = True

    def _lines(
        self,
        process: subprocess.Popen[bytes],
        deadline: float | None,
        on_tick: Callable[[], None] | None,
    ) -> Iterator[bytes]:
        """The lines that the probe prints, as they come. Wakes every second. Raises ProbeError past the
        deadline."""
        assert process.stdout
        descriptor = process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        if self.interrupted:  # before there was a process to signal
            process.send_signal(signal.SIGINT)
        rest = b""
        tick_at = time.monotonic() + _TICK_S
        while True:
            if poll.poll(max(0.0, tick_at - time.monotonic()) * 1000):
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    break
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
            now = time.monotonic()
            if now < tick_at:
                continue
            tick_at = now + _TICK_S
            if on_tick:
                on_tick()
            if self._kill_at is not None and now > self._kill_at:
                _kill(process)
            elif deadline is not None and now > deadline:
                raise ProbeError("the probe hung: it did not report long after the trial's limits had passed")
        if rest:
            yield rest


def _decoded(line: bytes, decode: Callable[[bytes], Message]) -> Message:
    try:
        return decode(line)
    except ValueError as error:
        shown = line[:_SHOWN].decode(errors="replace")
        raise ProbeError(f"the probe sent an invalid message ({error}): {shown}") from error


def _start(path: str) -> subprocess.Popen[bytes]:
    """Start the probe, which waits for its request. Raises ProbeError."""
    try:
        return subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own: Ctrl-C reaches ringside alone, which then ends the probe in order.
            process_group=0,
            # Nothing of ours is inheritable, so the search for open descriptors is not needed.
            close_fds=False,
        )
    except OSError as error:
        raise ProbeError(f"the probe {path} cannot be started: {error.strerror}") from error


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    """Send the request. A probe that ended before it read it says why on its stderr."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(request + b"\n")
        process.stdin.close()
    process.stdin = None  # closed: `communicate` must not flush it


def _end(process: subprocess.Popen[bytes], messages: list[Message]) -> None:
    """Wait for a probe whose output has ended. Raises ProbeError unless its last message is the outcome."""
    assert process.stdout is not None
    assert process.stderr is not None
    complaint = process.stderr.read().decode(errors="replace").strip()
    process.stderr.close()
    process.stdout.close()
    status = process.wait()
    if status != 0 or not _has_outcome(messages):
        reason = complaint.splitlines()[-1] if complaint else f"exit status {status}"
        raise ProbeError(f"the probe ended without an outcome: {reason}")


def _stop(process: subprocess.Popen[bytes], messages: list[Message]) -> None:
    """End a probe that failed, and what it may have left: its `started` names process and cgroup."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=_INTERRUPT_GRACE_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.communicate()
    else:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    started = next((message for message in messages if isinstance(message, Started)), None)
    if started is None or _has_outcome(messages):
        return
    if started.cgroup:
        with suppress(OSError):
            Path(started.cgroup, "cgroup.kill").write_text("1", encoding="ascii")
            time.sleep(0.1)
            os.rmdir(started.cgroup)
    if started.pid:
        with suppress(OSError):
            os.killpg(started.pid, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a probe with its own children, which may hold its output open; contenders are no part of its
    group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _has_outcome(messages: list[Message]) -> bool:
    return bool(messages) and isinstance(messages[-1], TrialOutcome | LoadOutcome)


def find_probe() -> str:
    """The probe's path: RINGSIDE_PROBE, beside this Python, or on PATH. Raises ProbeError."""
    if named := os.environ.get("RINGSIDE_PROBE"):
        return named
    beside = Path(sys.executable).parent / "ringside-probe"
    path = str(beside) if beside.exists() else shutil.which("ringside-probe")
    if not path:
        raise ProbeError("the probe is not installed: run `make setup`, or `pip install ringside-probe`")
    return path


def check_probe(path: str) -> None:
    """Raise ProbeError unless the probe starts and speaks this version of the protocol."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise ProbeError(f"the probe {path} cannot be started: {reason}") from error
    words = answer.stdout.split()
    if words[-2:] != ["protocol", str(VERSION)]:
        printed = answer.stdout.strip() or answer.stderr.strip() or "nothing"
        raise ProbeError(
            f"the probe {path} does not speak protocol {VERSION} (it printed: {printed[:100]}): "
            "run `make setup`"
        )
