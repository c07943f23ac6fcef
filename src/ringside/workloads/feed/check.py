"""The rules of `feed`.

python -m ringside.workloads.feed.check PORT    a feed that is not read until another is over
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress

from ringside.conformance.common import reason
from ringside.conformance.http import GRAIN_S, NONSENSE, Client, check_paths, curl
from ringside.conformance.http import RULES as HTTP_RULES
from ringside.conformance.servers import Kind, Server, running
from ringside.conformance.subject import PORT, Subject, by_hand

RULES = {
    "feed-messages": "a feed has the messages of its id in order, each as one chunk",
    "feed-due": "a feed sends no chunk before it is due",
    "feed-slow": "a client that does not read delays only its own feed",
    **HTTP_RULES,
}
_MODULE = "ringside.workloads.feed.check"
_INTERVAL_S = 0.1
_FEEDING = ("port=0", "cores=1", "interval_ms=100")
_FAST = ("port=0", "cores=1", "interval_ms=1")
# More than the kernel keeps for a connection whose client has small buffers: some 600 chunks, 3,000 with BBR.
_CHUNKS = 5000


def _welcome(connection: socket.socket) -> None:
    client = Client(connection)
    client.send("/test/5")
    reply = client.head()
    chunk = client.chunk()
    if reply.status != 200 or chunk != b"Welcome: 5\n":
        raise ValueError(f"{reply.status}, {chunk[:100]!r}")


def _messages(subject: Subject, server: Server) -> None:
    """The first messages of feeds with ids of all lengths."""
    for number in ("7", "00", "12345678901234567890"):
        line = subject.served_by_hand(_FEEDING, curl(f"/test/{number}"))
        expected = [f"Welcome: {number}\n".encode()]
        expected += [f"Chunk {k} for {number}\n".encode() for k in range(1, 5)]
        try:
            with server.connect() as connection:
                client = Client(connection)
                client.send(f"/test/{number}")
                reply = client.head()
                chunks, early = [client.chunk()], ""
                for k in range(1, 5):
                    chunks.append(client.chunk())
                    after_s = time.monotonic() - client.sent_s
                    if after_s < k * _INTERVAL_S - GRAIN_S:
                        early = early or f"chunk {k} after {after_s * 1000:.0f} ms"
        except (OSError, ValueError) as error:
            subject.report("feed-messages", "messages, each as one chunk", error, line)
            return
        plain = reply.headers.get("content-type", "").startswith("text/plain")
        if reply.status != 200 or not plain or chunks != expected:
            came = f"{reply.status}, {reply.headers.get('content-type')}, {chunks}"
            subject.report("feed-messages", f"200, text/plain, {expected}", came, line)
            return
        if early:
            subject.report("feed-due", "no chunk k before k intervals of 100 ms", early, line)
            return


def _other_paths(subject: Subject, server: Server) -> None:
    uses = [("GET", "/", 404), ("POST", "/test/1", 405), ("GET", "/test/x1", 404), ("DELETE", "/test/1", 405)]
    longer = [("GET", "/test/", 404), ("GET", "/test/1/2", 404), ("GET", "/test/123456789012345678901", 404)]
    check_paths(subject, server, _FEEDING, uses + longer)


def _slow_reader(subject: Subject) -> None:
    """A client that reads nothing, and another that goes on beside it; then the first gets all of its own."""
    line = subject.served_by_hand(_FAST, by_hand(_MODULE, str(PORT)))
    problem = ""
    try:
        with running(subject, *_FAST) as server:
            read_slowly(server.port)
    except (OSError, ValueError) as error:
        problem = reason(error)
    if problem:
        expected = f"{_CHUNKS} chunks for another client meanwhile, and then for the one that did not read"
        subject.report("feed-slow", expected, problem, line)


def read_slowly(port: int) -> None:
    """Asks for two feeds, reads one to its end and then the other. Raises OSError or ValueError where either
    lacks a message."""
    name = "1" * 20
    with socket.socket() as slow, socket.create_connection(("127.0.0.1", port), timeout=10) as other:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        with suppress(OSError):
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 88)
        slow.settimeout(10)
        slow.connect(("127.0.0.1", port))
        first, second = Client(slow), Client(other)
        first.send(f"/test/{name}")
        second.send("/test/2")
        for client, number in ((second, "2"), (first, name)):
            client.head()
            for text in [f"Welcome: {number}\n"] + [
                f"Chunk {k} for {number}\n" for k in range(1, _CHUNKS + 1)
            ]:
                chunk = client.chunk()
                if chunk != text.encode():
                    raise ValueError(f"{chunk[:60]!r} in place of {text!r}")


CHECKS = Kind(
    rules=RULES,
    arguments=_FEEDING,
    bad=[
        ("port=0", "interval_ms=0"),
        ("port=0", "interval_ms=x"),
        ("port=abc",),
        ("port=65536",),
        ("port=0", "cores=0"),
    ],
    points=(
        ({"connections": 20, "ramp": 200, "interval_ms": 200, "seconds": 1}, 1),
        ({"connections": 3, "ramp": 100, "interval_ms": 50, "seconds": 1}, 2),
    ),
    answers=_welcome,
    ask=curl("/test/5"),
    nonsense=NONSENSE,
    request=b"GET /test/5 HTTP/1.1\r\nHost: x\r\n\r\n",
    factor="connections",
    checks=(_messages, _other_paths),
    further=(_slow_reader,),
)


if __name__ == "__main__":
    try:
        read_slowly(int(sys.argv[1]))
        print("both clients got all messages")
    except (OSError, ValueError) as error:
        print(f"not all messages: {error}")
