"""Trials on this machine: one process of the probe for each."""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ringside.errors import ProbeError
from ringside.measure.trials import PROTOCOL

_TICK_S = 1.0
# An interrupted probe ends its contender and says so; this bounds how long that may take.
_GRACE_S = 15.0


class LocalExecutor:
    """Starts the probe, waits for it, and cleans up should it break off."""

    def __init__(self, probe: str | None = None) -> None:
        self.probe = probe or find_probe()
        check_probe(self.probe)
        self._usable = sorted(os.sched_getaffinity(0))

    def available_cpus(self) -> int:
        return len(self._usable)

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        # The last ones: the first CPU takes most interrupts.
        return tuple(self._usable[-cores:]), tuple(self._usable[:-cores])

    def descriptors(self) -> int:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        return sys.maxsize if most == resource.RLIM_INFINITY else most

    def run(self, request: Mapping[str, Any], tick: Callable[[], None] | None = None) -> list[bytes]:
        process = start_probe(self.probe)
        try:
            send_request(process, request)
            output = _read_all(process, tick)
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                output, _ = process.communicate(timeout=_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            _clean_up(output.splitlines())
            raise
        lines = output.splitlines()
        try:
            end_probe(process, lines)
        except ProbeError:
            _clean_up(lines)
            raise
        return lines


def start_probe(probe: str) -> subprocess.Popen[bytes]:
    """Start the probe, which waits for its request. Raises ProbeError."""
    try:
        return subprocess.Popen(
            [probe],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own: Ctrl-C reaches ringside alone, which then ends the probe in order.
            process_group=0,
            # Nothing of ours is inheritable, so the search for open descriptors is not needed.
            close_fds=False,
        )
    except OSError as error:
        raise ProbeError(f"the probe {probe} cannot be started: {error.strerror}") from error


def send_request(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    """Give the probe its request. One that ended before it read it says why on its stderr."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
    process.stdin = None  # closed: `communicate` must not flush it


def end_probe(process: subprocess.Popen[bytes], lines: list[bytes]) -> None:
    """Wait for a probe whose output has ended. Raises ProbeError unless its last line is an outcome."""
    assert process.stdout is not None
    assert process.stderr is not None
    complaint = process.stderr.read().decode(errors="replace").strip()
    process.stderr.close()
    process.stdout.close()
    status = process.wait()
    if status != 0 or not lines or b'"outcome"' not in lines[-1]:
        reason = complaint.splitlines()[-1] if complaint else f"exit status {status}"
        raise ProbeError(f"the probe ended without an outcome: {reason}")


def _read_all(process: subprocess.Popen[bytes], tick: Callable[[], None] | None) -> bytes:
    return b"".join(chunks(process, tick))


def chunks(process: subprocess.Popen[bytes], tick: Callable[[], None] | None = None) -> Iterator[bytes]:
    """What the probe prints, piece by piece; wakes for a tick each second, and otherwise sleeps."""
    assert process.stdout
    descriptor = process.stdout.fileno()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    due = time.monotonic() + _TICK_S
    while True:
        ready = poll.poll(max(0.0, due - time.monotonic()) * 1000 if tick else None)
        if ready:
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return
            yield chunk
        if tick and time.monotonic() >= due:
            tick()
            due = time.monotonic() + _TICK_S


def _clean_up(lines: list[bytes]) -> None:
    """End what a probe that broke off may have left: its `started` line names process and cgroup."""
    if not lines or (lines and b'"outcome"' in lines[-1]):
        return
    try:
        started = json.loads(lines[0])
    except ValueError:
        return
    if started.get("cgroup"):
        with suppress(OSError):
            Path(started["cgroup"], "cgroup.kill").write_text("1", encoding="ascii")
            time.sleep(0.1)
            os.rmdir(started["cgroup"])
    if started.get("pid"):
        with suppress(OSError):
            os.killpg(started["pid"], signal.SIGKILL)


def find_probe() -> str:
    """The probe's path: RINGSIDE_PROBE, beside this Python, or on PATH. Raises ProbeError."""
    if named := os.environ.get("RINGSIDE_PROBE"):
        return named
    beside = Path(sys.executable).parent / "ringside-probe"
    found = str(beside) if beside.exists() else shutil.which("ringside-probe")
    if not found:
        raise ProbeError("the probe is not installed: run `make setup`, or `pip install ringside-probe`")
    return found


def check_probe(probe: str) -> None:
    """Raise ProbeError unless the probe starts and speaks this version of the protocol."""
    try:
        answer = subprocess.run([probe, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise ProbeError(f"the probe {probe} cannot be started: {reason}") from error
    words = answer.stdout.split()
    if words[-2:] != ["protocol", str(PROTOCOL)]:
        said = answer.stdout.strip() or answer.stderr.strip() or "nothing"
        raise ProbeError(
            f"the probe {probe} does not speak protocol {PROTOCOL} (it says: {said[:100]}): run `make setup`"
        )
