"""The driver of the probe: one process for all trials of a run, one policy for failures and for interrupts.

A probe carries out one trial after another as long as they are `ok`. After any other, which may have changed
the probe, the next trial gets a new process. A load without a trial has its own process.

If a probe dies, hangs or sends an invalid message, the driver ends everything that it may have left behind
and raises ProbeError. Ctrl-C and SIGTERM end the request, not ringside: the probe ends in order and still
reports; then `interrupted` is True. A second interrupt ends it at once.
"""

import os
import resource
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

import msgspec

from ringside.errors import ProbeError
from ringside.probe import kernel, protocol

Message = TypeVar("Message", protocol.TrialMessage, protocol.EngineMessage)


class _DiedIdleError(ProbeError):
    """The probe exited without a message, perhaps before it read the request."""


_TICK_S = 1.0
# How long an interrupted probe may take to end its contender and to report.
INTERRUPT_GRACE_S = 15.0
# Beyond the limits of the request; a probe may take five minutes to end what forks without end.
_WATCHDOG_GRACE_S = 330.0
_MERGE_S = 60.0
# A killed probe may leave millions of files.
_SWEEP_S = 10.0
# How long an idle probe may take to end.
_CLOSE_GRACE_S = 5.0
_LIMITS = {
    "open files": resource.RLIMIT_NOFILE,
    "address space": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "stack": resource.RLIMIT_STACK,
    "CPU time": resource.RLIMIT_CPU,
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OWN_NAME = "ringside-probe: "
# The programs; each does what those before it do, and takes longer to build: trials without loads, loads over
# TCP and HTTP/1.1, which the workloads have, and all loads.
TRIALS, PLAIN, WHOLE = _PROGRAMS = ("ringside-probe-trial", "ringside-probe-plain", "ringside-probe")
_BUILD_S = {PLAIN: 30, WHOLE: 60}
# A shell, or the probe's first process, reports the signal as status 128 + its number.
_KILLED = (
    "the probe was killed (SIGKILL), by another process, or by the kernel because memory ran out (see "
    "`dmesg | grep -i oom`): free memory or ask for less, and run it again"
)
_NOT_BEGUN = f"{_OWN_NAME}cannot begin the trial: "


@contextmanager
def interrupts(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Within the block, signals that end programs call `handler`, because an exception could lose a line that
    is half read. Nothing changes outside the main thread, and for signals that are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


class _Process(subprocess.Popen[bytes]):
    """A probe that waits for its request."""

    def __init__(self, path: str) -> None:
        """Raises ProbeError if it cannot be started."""
        # Other programs could open a pipe below /proc, and write messages into it.
        own, its = zip(*(socket.socketpair() for _ in range(3)), strict=True)
        try:
            # In its own group: Ctrl-C reaches ringside alone, which then ends the probe in order. None of our
            # descriptors is inheritable, so Python need not search for open ones.
            super().__init__(
                [path], stdin=its[0], stdout=its[1], stderr=its[2], process_group=0, close_fds=False
            )
        except OSError as error:
            for end in own:
                end.close()
            raise ProbeError(f"the probe {path} cannot be started: {error.strerror}") from error
        finally:
            for end in its:
                end.close()
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(end.detach(), mode) for end, mode in zip(own, ("wb", "rb", "rb"), strict=True)
        )

    def send(self, line: bytes, *, is_last: bool) -> None:
        """Send a line. A probe that ended before it read the line says why on its stderr."""
        assert self.stdin
        with suppress(ConnectionError):
            self.stdin.write(line + b"\n")
            self.stdin.flush()
        if is_last:
            self.hang_up()

    def hang_up(self) -> None:
        """Close the pipe of requests, which ends a probe that waits for one."""
        if self.stdin:
            with suppress(ConnectionError):
                self.stdin.close()
        self.stdin = None  # closed: `communicate` must not flush it

    def kill_group(self) -> None:
        """Kill the probe and its own children, which may hold its output open, but no contender."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def end(self, messages: list[Message]) -> None:
        """Wait for a probe that gets no more requests. Raises ProbeError unless the outcome came last."""
        assert self.stdout
        assert self.stderr
        self.hang_up()
        rest = self.stdout.read()
        complaint = self.stderr.read().decode(errors="replace").strip()
        self.stderr.close()
        self.stdout.close()
        lowered = self._lowered_limits()
        status = self.wait()
        if status != 0 or not _has_outcome(messages):
            if status in (-signal.SIGKILL, 128 + signal.SIGKILL) and not lowered and not complaint:
                raise (ProbeError if messages else _DiedIdleError)(_KILLED)
            reason = lowered or (complaint.splitlines()[-1] if complaint else f"exit status {status}")
            if reason.startswith(_NOT_BEGUN):
                # No fault of the probe's: the machine lacks something.
                raise ProbeError(reason.removeprefix(_OWN_NAME).partition(" (os error")[0])
            kind = ProbeError if messages or complaint else _DiedIdleError
            raise kind(f"the probe ended without an outcome: {reason}")
        if rest:
            raise ProbeError("the probe sent a message after the outcome")

    def _lowered_limits(self) -> str:
        """The limits of the ending probe that a program lowered. In its own namespaces the probe says so."""
        if self.returncode is not None:
            return ""
        # The kernel keeps the limits of a process until its parent waits for it.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        names = []
        for name, number in _LIMITS.items():
            before, now = resource.getrlimit(number), resource.prlimit(self.pid, number)
            # The probe may have raised the first, soft limit itself; -1 means no limit.
            if any(limit >= 0 and not 0 <= own <= limit for limit, own in zip(now, before, strict=True)):
                names.append(name)
        return f"the probe's limits were lowered: {', '.join(names)}" if names else ""

    def stop(self, messages: list[Message], cgroup: str | None) -> None:
        """End a failed probe, and the process and cgroup that its message `started` names."""
        self.hang_up()
        if self.poll() is None:
            self.send_signal(signal.SIGTERM)
            try:
                self.communicate(timeout=INTERRUPT_GRACE_S)
            except subprocess.TimeoutExpired:
                self.kill_group()
                self.communicate()
        else:
            for pipe in filter(None, (self.stdout, self.stderr)):
                pipe.close()
        if cgroup and Path(cgroup).is_dir():
            with suppress(OSError):
                Path(cgroup, "cgroup.kill").write_text("1", encoding="ascii")
                time.sleep(0.1)
                os.rmdir(cgroup)
        started = next((message for message in messages if isinstance(message, protocol.Started)), None)
        if started and started.pid and not _has_outcome(messages):
            with suppress(OSError):
                os.killpg(started.pid, signal.SIGKILL)


class Probe:
    """Carries out one request at a time. `close`, or the end of the object, ends its process."""

    # The parts of several engines: a probe is a single engine, so there are none.
    parts: tuple[()] = ()
    started_within_s: float | None = None

    def __init__(self, path: str | None = None, *, grace_s: float = _WATCHDOG_GRACE_S) -> None:
        """`path`: the program, found if left out. `grace_s`: how long it may take beyond the limits of a
        request before it counts as hung. Raises ProbeError unless it starts and speaks this protocol."""
        self.path = path or find_probe(TRIALS)
        check_probe(self.path)
        self._program = WHOLE if path else TRIALS
        self.interrupted = False
        self._grace_s = grace_s
        self._process: _Process | None = None
        # Holds the process that waits for another trial, so that it can be ended without this object.
        self._idle: list[_Process] = []
        self._places: set[str] = set()
        self._finalizer = weakref.finalize(self, _close, self._idle, self.path, self._places)
        self._kill_at: float | None = None
        # The cgroup of the process that carries out trials, which may be killed between two of them.
        self._cgroup: str | None = None

    def trial(
        self,
        request: protocol.TrialRequest,
        on_tick: Callable[[], None] | None = None,
        on_message: Callable[[protocol.TrialMessage], None] | None = None,
    ) -> list[protocol.TrialMessage]:
        """The messages of a trial, the outcome last. `on_tick` is called every second or so meanwhile,
        `on_message` with each message as it comes. Raises ProbeError if there is no outcome,
        KeyboardInterrupt where a second interrupt prevented it."""
        request = msgspec.structs.replace(request, number=secrets.token_hex(8))
        if request.temporary:
            self._places.add(request.env.get("TMPDIR", "/tmp"))
        service = request.service
        extra_s = (service.ready_s + service.idle_s + service.end_s) if service else 0.0
        limit_s = request.limits.wall_s + extra_s
        if service and (service.steps or service.stub):
            self.need_loads(*(load.plan for step in service.steps for load in step.loads))
        is_reused = bool(self._idle)
        what = (request.encode(), protocol.trial_message, limit_s, on_tick, on_message)
        carry_out = partial(self._carry_out, *what, number=request.number)
        before_ns = time.process_time_ns()
        # A command may write to files of this process: `vs --output inherit`.
        with nullcontext() if request.plain else kernel.hidden():
            try:
                messages = carry_out()
            except _DiedIdleError:
                if not is_reused:
                    raise
                messages = carry_out()
        driver_cpu_ns = time.process_time_ns() - before_ns
        return [*messages[:-1], msgspec.structs.replace(messages[-1], driver_cpu_ns=driver_cpu_ns)]

    def close(self) -> None:
        """End a probe that waits for another trial."""
        _close(self._idle, self.path, self._places)

    def load(
        self,
        request: protocol.LoadRequest,
        on_message: Callable[[protocol.EngineMessage], None] | None = None,
        go: Callable[[], None] | None = None,
    ) -> list[protocol.EngineMessage]:
        """The messages of a load, the outcome last; `on_message` gets each as it comes. `go`, for an engine's
        part of a load: called when the engine is ready, which starts when it returns. Raises as `trial`."""
        plan = request.load
        self.need_loads(plan)
        limit_s = None if plan.duration_s is None else plan.duration_s + plan.timeout_s
        return self._carry_out(
            request.encode(), protocol.engine_message, limit_s, on_message=on_message, go=go
        )

    def merge(
        self, plan: protocol.LoadPlan, records: Sequence[protocol.EngineRecord]
    ) -> list[protocol.EngineMessage]:
        """Merge the records of several engines that shared a load: the messages that one engine with all
        their threads would have sent at the end, the outcome last. Raises as `trial`."""
        self.need_loads(plan)
        # No figure needs a large body.
        request = protocol.MergeRequest(protocol.Merge(protocol.without_body(plan), len(records)))
        lines = [request.encode(), *map(msgspec.json.encode, records)]
        return self._carry_out(b"\n".join(lines), protocol.engine_message, _MERGE_S)

    def need_loads(self, *plans: protocol.LoadPlan) -> None:
        """Use a program with a load engine that carries these out, from now on. Raises ProbeError."""
        program = program_for(*plans)
        if _PROGRAMS.index(program) <= _PROGRAMS.index(self._program):
            return
        if (path := find_probe(program)) != self.path:
            self.close()
            check_probe(path)
            self.path = path
        self._program = program

    def notify(self, notice: protocol.Notice) -> None:
        """Tell the probe about loads of other machines' engines, from any thread; nothing after the trial."""
        process = self._process
        stdin = process.stdin if process else None
        # Another thread may close it meanwhile.
        with suppress(OSError, ValueError):
            if stdin:
                stdin.write(msgspec.json.encode(notice) + b"\n")
                stdin.flush()

    def _carry_out(
        self,
        request: bytes,
        decode: Callable[[bytes], Message],
        limit_s: float | None,
        on_tick: Callable[[], None] | None = None,
        on_message: Callable[[Message], None] | None = None,
        *,
        go: Callable[[], None] | None = None,
        number: str | None = None,
    ) -> list[Message]:
        """`number`: of a trial's request; its process may carry out another trial."""
        messages: list[Message] = []
        keep = number is not None
        deadline = None if limit_s is None else time.monotonic() + limit_s + self._grace_s
        with interrupts(self.interrupt), kernel.adopted() as others:
            process = self._process = self._idle.pop() if keep and self._idle else _Process(self.path)
            try:
                process.send(request, is_last=not keep and go is None)
                for lines, more in self._lines(process, deadline, on_tick):
                    for line in lines:
                        if _has_outcome(messages):
                            raise ProbeError("the probe sent a message after the outcome")
                        messages.append(_read(line, decode, number))
                        if isinstance(messages[-1], protocol.Started):
                            self._cgroup = messages[-1].cgroup
                        if on_message:
                            on_message(messages[-1])
                        if go and isinstance(messages[-1], protocol.Started):
                            go()
                            process.send(b"", is_last=True)
                    if keep and _has_outcome(messages) and not more:
                        break
                if keep and messages and _is_good(messages[-1]):
                    self._idle.append(process)
                else:
                    process.end(messages)
            except BaseException as error:
                process.stop(messages, self._cgroup)
                kernel.end_all_but(others)
                if keep and not isinstance(error, _DiedIdleError):
                    _sweep(self.path, self._places)
                if self.interrupted and isinstance(error, ProbeError):
                    raise KeyboardInterrupt from None
                raise
            finally:
                self._process = None
        return messages

    def interrupt(self, *_signal: object) -> None:
        """End the current request; the probe still reports. Any thread may call this."""
        process = self._process  # Its own thread may give it up meanwhile.
        if process and self.interrupted:
            process.kill_group()
        elif process:
            process.send_signal(signal.SIGINT)
        self._kill_at = time.monotonic() + INTERRUPT_GRACE_S
        self.interrupted = True

    def _lines(
        self, process: _Process, deadline: float | None, on_tick: Callable[[], None] | None
    ) -> Iterator[tuple[list[bytes], bool]]:
        """The probe's lines, and whether another has begun. Wakes each second. Raises ProbeError if late."""
        assert process.stdout
        descriptor = process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        if self.interrupted:  # before there was a process to signal
            process.send_signal(signal.SIGINT)
        rest = bytearray()
        tick_at = time.monotonic() + _TICK_S
        while True:
            if poll.poll(max(0.0, tick_at - time.monotonic()) * 1000):
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    break
                whole: list[bytes] = []
                if b"\n" in chunk:
                    *whole, chunk = bytes(rest + chunk).split(b"\n")
                    rest.clear()
                rest += chunk
                yield whole, bool(rest)
            now = time.monotonic()
            if now < tick_at:
                continue
            tick_at = now + _TICK_S
            if on_tick:
                on_tick()
            if kernel.is_stopped(process.pid):
                # A stopped probe cannot handle signals, so only SIGKILL ends it.
                process.kill_group()
                raise ProbeError("the probe was stopped by a signal, perhaps from its contender")
            if self._kill_at is not None and now > self._kill_at:
                process.kill_group()
            elif deadline is not None and now > deadline:
                raise ProbeError("the probe hung: it did not report long after the trial's limits had passed")
        if rest:
            yield [bytes(rest)], False


def _read(line: bytes, decode: Callable[[bytes], Message], number: str | None) -> Message:
    """The message without its request's number, which programs that forge messages do not know."""
    try:
        message = decode(line)
    except ValueError as error:
        shown = line[:200].decode(errors="replace")
        raise ProbeError(f"the probe sent an invalid message ({error}): {shown}") from error
    if number is None or not isinstance(message, protocol.TrialOutcome):
        return message
    if message.number != number:
        raise ProbeError("the outcome is not the request's: another program writes to the probe's output")
    return msgspec.structs.replace(message, number=None)


def _close(idle: list[_Process], path: str, places: Collection[str]) -> None:
    """End idle probes. `places`: the folders in which they made temporary folders."""
    while idle:
        process = idle.pop()
        process.hang_up()
        try:
            process.communicate(timeout=_CLOSE_GRACE_S)
        except (subprocess.TimeoutExpired, MemoryError):
            # MemoryError: Ringside itself is ending without memory, so the probe is killed.
            process.kill_group()
            process.wait()
        if process.returncode != 0:
            _sweep(path, places)


def _sweep(path: str, places: Collection[str]) -> None:
    """Remove a killed probe's temporary folders, as far as time allows; the next run removes the rest."""
    for place in places:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([path, "--sweep", place], capture_output=True, timeout=_SWEEP_S, check=False)


def _is_good(last: Message) -> bool:
    """Whether the probe, by its own rule, carries out another trial after this message."""
    if not isinstance(last, protocol.TrialOutcome) or last.outcome != "ok":
        return False
    return not last.interference and not last.left_files


def _has_outcome(messages: list[Message]) -> bool:
    return bool(messages) and isinstance(messages[-1], protocol.TrialOutcome | protocol.LoadOutcome)


def program_for(*plans: protocol.LoadPlan) -> str:
    """The smallest program that carries out these loads."""
    return PLAIN if all(plan.is_plain for plan in plans) else WHOLE


def find_probe(program: str = WHOLE) -> str:
    """The path of a probe that does what this program does: RINGSIDE_PROBE, the smallest beside this Python,
    or on PATH. Raises ProbeError."""
    if named := os.environ.get("RINGSIDE_PROBE"):
        return named
    folder = Path(sys.executable).parent
    build = folder.parents[1] / "scripts" / "probe"
    paths = [folder / name for name in _PROGRAMS]
    fit = paths[_PROGRAMS.index(program) :]
    if any(path.exists() for path in paths) and not any(path.exists() for path in fit) and build.exists():
        print(f"ringside: building the load engine, once: about {_BUILD_S[program]} s", file=sys.stderr)
        subprocess.run([build, program], check=False)
    if path := next((str(path) for path in fit if path.exists()), None) or shutil.which(WHOLE):
        return path
    raise ProbeError("the probe is not installed: run `make setup`, or install the wheel of ringside-probe")


def check_probe(path: str) -> None:
    """Raise ProbeError unless the probe starts and speaks this version of the protocol."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise ProbeError(f"the probe {path} cannot be started: {reason}") from error
    words = answer.stdout.split()
    if words[-2:] != ["protocol", str(protocol.VERSION)]:
        printed = answer.stdout.strip() or answer.stderr.strip() or "nothing"
        raise ProbeError(
            f"the probe {path} does not speak protocol {protocol.VERSION} (it printed: {printed[:100]}): "
            "run `make setup`"
        )
