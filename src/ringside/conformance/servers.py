"""The rules that all servers share."""

import re
import resource
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from ringside.conformance.common import check_arguments, check_evidence, in_time, without
from ringside.conformance.subject import (
    PATIENCE_S,
    PORT,
    Subject,
    alive_in_session,
    by_hand,
    end_of,
    lines_until,
    listeners,
)
from ringside.errors import UsageError
from ringside.measure.runs.trials import free_port
from ringside.workloads.phases import below

# Run as a module, it connects that many clients at once.
_BY_HAND = "ringside.conformance.kit"
_READY_S, _END_S = 60.0, 2.0
# A host may stall, so answers later than the contract allows are awaited until here.
_PATIENT_END_S = 10.0
_CONNECTIONS, _QUICK_CONNECTIONS, _OPEN_AT_END = 1000, 100, 100
# How many connections wait in the backlog of a server that serves one at a time.
_WAITING = 127
# An answer that takes this long was computed.
_WHILE_NS = 100_000_000
# How long a client sends that never reads, where the server reads on.
_UNREAD_S = 2.0
# Descriptors kept for everything but the connected clients; and the most clients that a server gets.
_OTHER_FILES = 100
_LEAST_FILES = _OTHER_FILES + _WAITING + 1
_BAD_PORTS = ("port=abc", "port=65536", "port=", "port=-1")
_LOOPBACK, _OTHER_HOST = "127.0.0.1", "127.0.0.2"


def connect(port: int) -> socket.socket:
    """A connection to a server of this machine, without delays of its own."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def reset_at_close(connection: socket.socket) -> None:
    """Make closing the connection a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclass
class Server:
    """A server that listens."""

    process: subprocess.Popen[bytes]
    port: int

    def connect(self) -> socket.socket:
        return connect(self.port)


@dataclass(frozen=True)
class Kind:
    """How a workload's servers are tested, besides its `checks`."""

    # Raises OSError or ValueError if the server does not answer as it should.
    answers: Callable[[socket.socket], None]
    # Examples of texts that are no request, and one that is.
    nonsense: Sequence[bytes]
    request: bytes
    checks: Sequence[Callable[[Subject, Server], None]] = ()
    further: Sequence[Callable[[Subject], None]] = ()


def check_server(subject: Subject, kind: Kind) -> None:
    """Add findings for each rule that a server of this workload breaks. If it does not start or answer,
    nothing else is checked. Raises UsageError if this process may not open enough connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < _LEAST_FILES:
        raise UsageError(
            f"checking a server takes {_LEAST_FILES} open files, but the hard limit is {hard}: raise it, see "
            "`ulimit -Hn`"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _LEAST_FILES), hard))
    if not _starts(subject, kind):
        return
    checks = subject.workload.checks
    check_arguments(subject, subject.served, checks.required, checks.bad or _BAD_PORTS)
    _arguments(subject)
    _stdin_end(subject)
    before = len(subject.findings)
    with running(subject, *subject.served) as server:
        for check in kind.checks:
            check(subject, server)
            if server.process.poll() is not None:
                break
    # If the workload's own rules are broken, the other checks would only repeat it.
    if len(subject.findings) == before:
        for further in kind.further:
            further(subject)
    if len(subject.findings) == before:
        check_evidence(subject, checks.sizes[: 1 if subject.quick else None])
    _nonsense(subject, kind)
    _sigterm(subject, kind)
    _connections(subject, kind)


def computes_again(
    subject: Subject, rule: str, expected: str, line: str, attempt: Callable[[], int], least_ns: float
) -> bool:
    """Whether to try larger work. `attempt` returns how many nanoseconds the second answer to a request took:
    less than `least_ns` is a finding, and an answer that takes long was computed."""
    try:
        took_ns = attempt()
    except (OSError, ValueError):
        return False  # It took too long to wait for.
    if took_ns < least_ns:
        subject.report(rule, expected, below(took_ns, least_ns), line)
    return least_ns <= took_ns <= _WHILE_NS


@contextmanager
def running(subject: Subject, *arguments: str) -> Iterator[Server]:
    """A server that has printed `::ready`; it does not outlive the block. Raises OSError if it has not."""
    with subject.started(*arguments) as process:
        lines, _ = lines_until(process, b"::ready", _READY_S)
        ready = re.fullmatch(rb"::ready port=([1-9][0-9]*)", lines[-1]) if lines else None
        if not ready:
            raise ConnectionError("no ::ready")
        yield Server(process, int(ready[1]))


def _starts(subject: Subject, kind: Kind) -> bool:
    line = subject.by_hand(*subject.served)
    with subject.started(*subject.served) as process:
        lines, at_end = lines_until(process, b"::", PATIENCE_S if subject.quick else _READY_S)
        last = lines[-1].decode(errors="replace") if lines else ""
        ports = listeners(alive_in_session(process.pid))
        ready = re.fullmatch(r"::ready port=([1-9][0-9]{0,4})", last)
        port = int(ready[1]) if ready else 0
        if not last.startswith("::"):
            if ports and not at_end:
                subject.report("flush", "::ready port=P", "nothing on stdout, though it listens", line)
            else:
                came = end_of(process) if at_end else last or "nothing on stdout"
                subject.report("ready", "::ready port=P", came, line)
        elif not ready:
            rule = "ready" if last.startswith("::ready") else "lines"
            subject.report(rule, "::ready port=P", last, line)
        elif port not in ports:
            subject.report("ready", f"a listener on port {port}", f"listens on {[*ports]}", line)
        elif ports[port] != _LOOPBACK:
            subject.report("loopback", _LOOPBACK, f"listens on {ports[port]}", line)
        if not subject.findings:
            with subject.expects("evidence", "an answer", subject.asked_by_hand()):
                _asks(Server(process, port), kind)
    return not subject.broken - {"loopback"}


def _asks(server: Server, kind: Kind) -> None:
    """A simple request. Raises OSError or ValueError if its answer is wrong."""
    with server.connect() as connection:
        kind.answers(connection)


def _arguments(subject: Subject) -> None:
    """Keys that it does not know, the port and the address that it is given."""
    port = free_port()
    uses = {"args-unknown": ["colour=red", "x-y.z=1=2"], "port": [f"port={port}"]}
    if subject.ready.contender.workloads[subject.workload.name].host:
        uses["host"] = [f"host={_OTHER_HOST}"]
    for rule, words in uses.items():
        arguments = [*without(subject.served, *words), *words]
        line = subject.by_hand(*arguments)
        with subject.expects(rule, f"::ready with {words[0]}", line), running(subject, *arguments) as server:
            address = listeners(alive_in_session(server.process.pid)).get(server.port)
            if rule == "port" and server.port != port:
                raise ValueError(f"::ready port={server.port}")
            if rule == "host" and address != _OTHER_HOST:
                raise ValueError(f"listens on {address}")


def _stdin_end(subject: Subject) -> None:
    def attempt() -> None:
        with running(subject, *subject.served) as server:
            assert server.process.stdin is not None
            server.process.stdin.close()
            _ends(server)

    line = subject.by_hand(*subject.served, before="sleep 3 | ")
    with subject.expects("stdin-end", "status 0 within 2 s of the end of stdin", line):
        in_time(attempt)


def _ends(server: Server) -> None:
    """Raises ValueError if a server that was just told to end does not do so as it should."""
    begun = time.monotonic()
    try:
        status = server.process.wait(_PATIENT_END_S)
    except subprocess.TimeoutExpired:
        raise ValueError(f"it still ran {_PATIENT_END_S:.0f} s later") from None
    took_s = time.monotonic() - begun
    if status != 0:
        raise ValueError(f"status {status}")
    if took_s > _END_S:
        raise ValueError(f"it took {took_s:.1f} s")


def _nonsense(subject: Subject, kind: Kind) -> None:
    """It survives clients that misbehave, and says nothing of them."""
    with running(subject, *subject.served) as server:
        if subject.workload.checks.unread_bytes and not subject.quick:
            _never_reads(subject, kind, server)
        for sent in kind.nonsense[: 4 if subject.quick else None]:
            for reset in (False, True):
                _misbehave(server, sent, reset=reset)
            shown = repr(sent[:40])[2:-1]
            line = subject.asked_by_hand(f"printf '{shown}' | nc -q1 127.0.0.1 {PORT}; ")
            expected = f"an answer to others after a client sent {shown} and went away"
            with subject.expects("survives", expected, line):
                in_time(lambda: _asks(server, kind))
            if "survives" in subject.broken:
                return
        server.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(_PATIENT_END_S)
            output, errors = server.process.communicate(timeout=_PATIENT_END_S)
            if wrote := output + errors:
                line = subject.asked_by_hand()
                subject.report("quiet", "no output", wrote.decode(errors="replace"), line)


def _never_reads(subject: Subject, kind: Kind, server: Server) -> None:
    """A client that sends requests and reads no answer."""
    expected = "an answer beside a client that never reads"
    with subject.expects("survives", expected, subject.asked_by_hand()):
        with server.connect() as connection:
            connection.setblocking(False)
            sent, give_up_s = 0, time.monotonic() + _UNREAD_S
            many = kind.request * (1 + 20_000 // len(kind.request))
            with suppress(ConnectionError):
                # A server may stop reading.
                while sent < subject.workload.checks.unread_bytes and time.monotonic() < give_up_s:
                    if not select.select([], [connection], [], 0.5)[1]:
                        break
                    sent += connection.send(many)
            if _most(subject) > 1:
                in_time(lambda: _asks(server, kind))
        in_time(lambda: _asks(server, kind))


def _most(subject: Subject) -> int:
    """How many connections at one time the manifest allows."""
    entry = subject.ready.contender.workloads[subject.workload.name]
    return entry.most.get(subject.workload.checks.factor, _CONNECTIONS)


def _misbehave(server: Server, sent: bytes, *, reset: bool) -> None:
    with suppress(OSError), server.connect() as connection:
        connection.settimeout(0.1)
        connection.sendall(sent)
        if reset:
            reset_at_close(connection)
        else:
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)


def _sigterm(subject: Subject, kind: Kind) -> None:
    left: list[int] = []

    def attempt() -> None:
        with running(subject, *subject.served) as server, ExitStack() as stack:
            for _ in range(_OPEN_AT_END):
                connection = stack.enter_context(server.connect())
                connection.sendall(kind.request)
            time.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            _ends(server)
            deadline = time.monotonic() + 1
            while (alive := alive_in_session(server.process.pid)) and time.monotonic() < deadline:
                time.sleep(0.02)
            left[:] = alive

    line = subject.by_hand(*subject.served)
    told = line.replace(" && ", " && timeout --preserve-status 3 ", 1)
    with subject.expects("sigterm", "status 0 within 2 s of SIGTERM", f"{told}; echo $?"):
        in_time(attempt)
    if left:
        subject.report("left-behind", "no process after SIGTERM", f"{len(left)} still ran", line)


def _connections(subject: Subject, kind: Kind) -> None:
    """Each of that many simultaneous clients gets an answer."""
    most = min(_most(subject), _QUICK_CONNECTIONS if subject.quick else _CONNECTIONS)
    if most < 2:
        _one_at_a_time(subject, kind)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(most, hard - _OTHER_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with running(subject, *subject.served) as server:
            count = answered(kind, server.port, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if count < most:
        client = by_hand(_BY_HAND, str(most), subject.workload.name, str(PORT))
        line = subject.served_by_hand(client)
        subject.report("connections", f"{most} simultaneous clients get an answer", f"{count} did", line)


def _one_at_a_time(subject: Subject, kind: Kind) -> None:
    """The others wait until the first leaves, and each is then answered."""
    count = 0
    with running(subject, *subject.served) as server, ExitStack() as stack, suppress(OSError, ValueError):
        with server.connect() as first:
            kind.answers(first)
            waiting = [stack.enter_context(server.connect()) for _ in range(_WAITING)]
            kind.answers(first)
        for connection in waiting:
            kind.answers(connection)
            connection.close()
            count += 1
    if count < _WAITING:
        line = subject.asked_by_hand()
        subject.report("connections", f"{_WAITING} clients wait, and get an answer", f"{count} did", line)


def answered(kind: Kind, port: int, count: int) -> int:
    """How many of `count` simultaneous clients get an answer, in turn."""
    answers, connections = 0, []
    with ExitStack() as stack, suppress(OSError, ValueError):
        with suppress(OSError):
            for _ in range(count):
                connections.append(stack.enter_context(connect(port)))
        for connection in connections:
            kind.answers(connection)
            answers += 1
    return answers
