"""Tests the rules of `fib`."""

import select
import socket
import time
from functools import partial

from ringside.conformance.servers import Kind, Server, computes_again
from ringside.conformance.subject import PORT, Subject
from ringside.workloads.fib.workload import fibonacci, recursion_ns

_NO_REQUESTS = (
    *(b"0", b"91", b"", b"abc", b"+5", b"-1", b" 5", b"5 ", b"5\r", b"5x", b"1.5", b"0x10", b"1_0", b"100"),
    *(b"1e1", b"5\0", b"\xff\xfe", b"%d" % (2**32 + 5), b"%d" % (2**64 + 5), b"9" * 99, b"x" * 99),
    *("\u0663".encode(), "\uff15".encode()),  # digits, but not ASCII's
)
_SILENCE_S = 0.15


def _ask(connection: socket.socket, sent: bytes) -> bytes:
    """The line that answers these bytes."""
    connection.sendall(sent)
    line = b""
    while not line.endswith(b"\n") and (piece := connection.recv(1)):
        line += piece
    return line


def _answers(connection: socket.socket) -> None:
    answer = _ask(connection, b"10\n")
    if answer != b"55\n":
        raise ValueError(f"10 was answered with {_shown(answer)}")


def _shown(answer: bytes) -> str:
    return repr(answer[:100])[1:] if answer else "the end of the connection"


def _nc(text: str) -> str:
    return f"printf '{text}' | nc -q1 127.0.0.1 {PORT}"


def _errors(subject: Subject, server: Server) -> None:
    """Each line that is no request gets its error, and then a request its answer."""
    for request in _NO_REQUESTS[: 8 if subject.quick else None]:
        sent = repr(request)[2:-1]
        line = subject.served_by_hand(_nc(f"{sent}\\n0010\\n"))
        with subject.expects("fib-errors", f"one line `error: …` for `{sent}`, then 55 for 0010", line):
            with server.connect() as connection:
                answer = _ask(connection, request + b"\n")
                after = _ask(connection, b"0010\n") if answer.startswith(b"error: ") else b""
            if after != b"55\n":
                raise ValueError(f"{_shown(answer)}, then {_shown(after)}" if after else _shown(answer))
        if "fib-errors" in subject.broken:
            return


def _long_line(subject: Subject, server: Server) -> None:
    line = subject.served_by_hand(_nc("1" * 100))
    expected = "one line `error: …` for 100 bytes without a newline, then the end"
    with subject.expects("fib-long-line", expected, line):
        with server.connect() as connection:
            connection.settimeout(5)
            connection.sendall(b"1" * 99)
            if _speaks(connection):
                raise ValueError("an answer to 99 bytes")
            answers = [(_ask(connection, b"1"), _end(connection))]
        for behind in (b"", b"\n", b"x" * 50, b"x" * 50 + b"\n10\n"):
            with server.connect() as connection:
                _answers(connection)
                answers.append((_ask(connection, b"1" * 100 + behind), _end(connection)))
        for answer, rest in answers:
            if not answer.startswith(b"error: ") or rest:
                raise ValueError(f"{_shown(answer)}, then {_shown(rest)}")


def _speaks(connection: socket.socket) -> bool:
    """Whether anything comes while nothing should."""
    return bool(select.select([connection], [], [], _SILENCE_S)[0])


def _end(connection: socket.socket) -> bytes:
    """The rest of the stream until its end; a reset counts as the end."""
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def _stream(subject: Subject, server: Server) -> None:
    """Together, in pieces, and with the end of the client's side behind them."""
    pieces = "printf '1'; sleep 1; printf '0\\n0\\n20\\n1\\n1\\n7'"
    line = subject.served_by_hand(f"({pieces}) | nc -q1 127.0.0.1 {PORT}")
    asked = [10, 0, 20, *range(1, 23), *(n % 15 for n in range(600))]
    sent = b"".join(b"%d\n" % n for n in asked)
    early, received = False, b""
    with subject.expects("fib-stream", "an answer to each request", line), server.connect() as connection:
        connection.sendall(b"1")
        early = _speaks(connection)
        connection.sendall(sent[1:6])
        time.sleep(0.05)
        # The last has no newline.
        connection.sendall(sent[6:] + b"7")
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(4096):
            received += piece
    if early:
        subject.report("fib-stream", "no answer before the newline", _shown(received), line)
    lines = received.removesuffix(b"\n").split(b"\n")
    answers = [b"error" if answer.startswith(b"error: ") else answer for answer in lines]
    expected = [b"%d" % fibonacci(n) if n else b"error" for n in asked]
    if answers != expected:
        pairs = enumerate(zip(answers, expected, strict=False), start=1)
        wrong = [at for at, pair in pairs if len({*pair}) > 1]
        came = f"{len(answers)} answers" + (f", number {wrong[0]} wrong" if wrong else "")
        subject.report("fib-stream", f"{len(expected)} answers: 55, an error, 6765 …", came, line)


def _work(subject: Subject, server: Server) -> None:
    """The same number twice, and larger ones until the second answer takes a while."""

    def twice_ns(request: bytes) -> int:
        with server.connect() as connection:
            _ask(connection, request)
            begun_ns = time.monotonic_ns()
            _ask(connection, request)
            return time.monotonic_ns() - begun_ns

    for n in range(25, 50, 5):
        line = subject.served_by_hand(_nc(f"{n}\\n{n}\\n"))
        expected, attempt = f"fib({n}) by recursion again", partial(twice_ns, b"%d\n" % n)
        if not computes_again(subject, "fib-work", expected, line, attempt, recursion_ns(n)):
            return


CHECKS = Kind(
    _answers,
    nonsense=(b"20\n" * 300, b"1", b"1" * 300, b"\0\xff" * 40, b"", b"GET / HTTP/1.1\r\n\r\n"),
    request=b"10\n",
    checks=(_errors, _long_line, _stream, _work),
)
