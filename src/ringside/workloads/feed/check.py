"""The rules of `feed`.

python -m ringside.workloads.feed.check PORT    a feed that is not read until another is over
"""

import resource
import socket
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from ringside.conformance.common import in_time
from ringside.conformance.http import GRAIN_S, NONSENSE, Client, check_paths, curl
from ringside.conformance.servers import Kind, Server, reset_at_close, running
from ringside.conformance.subject import PATIENCE_S, PORT, Subject, alive_in_session, by_hand

_MODULE = "ringside.workloads.feed.check"
_INTERVAL_S = 0.1
_REQUEST = b"GET /test/5 HTTP/1.1\r\nHost: x\r\n\r\n"
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


def _feed(number: str, chunks: int) -> list[bytes]:
    """The first messages of a feed."""
    texts = [f"Welcome: {number}\n", *(f"Chunk {k} for {number}\n" for k in range(1, chunks + 1))]
    return [text.encode() for text in texts]


def _messages(subject: Subject, server: Server) -> None:
    """The first messages of feeds with ids of all lengths."""
    for number in ("7", "0", "00", "12345678901234567890"):
        line = subject.served_by_hand(curl(f"/test/{number}"))
        expected, early = _feed(number, 4), ""
        with subject.expects("feed-messages", f"200, text/plain, {expected}, each as one chunk", line):
            with server.connect() as connection:
                client = Client(connection)
                client.send_in_pieces(f"/test/{number}")
                reply = client.head()
                chunks = [client.chunk()]
                for k in range(1, 5):
                    chunks.append(client.chunk())
                    after_s = time.monotonic() - client.sent_s
                    if after_s < k * _INTERVAL_S - GRAIN_S:
                        early = early or f"chunk {k} after {after_s * 1000:.0f} ms"
            kind = reply.headers.get("content-type")
            if reply.status != 200 or not (kind or "").startswith("text/plain") or chunks != expected:
                raise ValueError(f"{reply.status}, {kind}, {chunks}")
        if early:
            subject.report("feed-due", "no chunk k before k intervals of 100 ms", early, line)
        if subject.broken & {"feed-messages", "feed-due"}:
            return


def _released(subject: Subject, server: Server) -> None:
    """Descriptors of the server before, with and after sixty feeds; half of them are reset."""
    line = subject.served_by_hand(curl("/test/5"))
    before = held = 0
    with subject.expects("feed-released", "sixty feeds at one time", line):
        with server.connect() as connection:
            _welcome(connection)
        before = _descriptors(server)
        with ExitStack() as stack:
            feeds = [stack.enter_context(server.connect()) for _ in range(60)]
            for connection in feeds:
                _welcome(connection)
            # Some earlier ones may still have been open.
            held = _descriptors(server) - before
            for connection in feeds[::2]:
                reset_at_close(connection)
    deadline_s = time.monotonic() + PATIENCE_S
    # A server may hold its connections in the kernel alone, where they are no descriptors.
    while held >= 50 and _descriptors(server) > before + 5 and time.monotonic() < deadline_s:
        time.sleep(0.1)
    left = _descriptors(server) - before
    if held >= 50 and left > 5:
        came = f"{left} descriptors are still open"
        subject.report("feed-released", "none of sixty feeds after their clients went away", came, line)


def _descriptors(server: Server) -> int:
    count = 0
    for pid in alive_in_session(server.process.pid):
        with suppress(OSError):
            count += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return count


def _full(subject: Subject) -> None:
    """Twenty feeds, when a crowd takes the last descriptors, and a further one when the crowd has gone."""
    line = subject.served_by_hand(curl("/test/5"))
    expected = "five chunks for each of twenty feeds, and another feed when there is room again"
    with (
        subject.expects("feed-full", expected, line),
        running(subject, *subject.served) as server,
        ExitStack() as stack,
    ):
        most = _descriptors(server) + 40
        for pid in alive_in_session(server.process.pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        feeds = [Client(stack.enter_context(server.connect())) for _ in range(20)]
        for number, client in enumerate(feeds):
            client.send(f"/test/{number}")
            client.head()
            client.chunk()
        with ExitStack() as crowd:
            for _ in range(80):
                crowd.enter_context(server.connect()).sendall(_REQUEST)
            for k in range(1, 6):
                for number, client in enumerate(feeds):
                    if (chunk := client.chunk()) != b"Chunk %d for %d\n" % (k, number):
                        raise ValueError(f"{chunk[:60]!r} in place of chunk {k} for {number}")

        def again() -> None:
            with server.connect() as connection:
                _welcome(connection)

        in_time(again, tries=10)


def _slow_reader(subject: Subject) -> None:
    """A client reads nothing while another goes on; then the first gets all of its messages."""
    line = subject.served_by_hand(by_hand(_MODULE, str(PORT)), _FAST)
    expected = f"{_CHUNKS} chunks for another client meanwhile, and then for the one that did not read"
    with subject.expects("feed-slow", expected, line), running(subject, *_FAST) as server:
        read_slowly(server.port)


def read_slowly(port: int) -> None:
    """Read one of two feeds to its end, then the other. Raises OSError, ValueError if a message is
    missing."""
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
            for expected in _feed(number, _CHUNKS):
                if (chunk := client.chunk()) != expected:
                    raise ValueError(f"{chunk[:60]!r} in place of {expected!r}")


CHECKS = Kind(
    _welcome,
    nonsense=NONSENSE,
    request=_REQUEST,
    checks=(_messages, check_paths, _released),
    further=(_slow_reader, _full),
)


if __name__ == "__main__":
    try:
        read_slowly(int(sys.argv[1]))
        print("both clients got all messages")
    except (OSError, ValueError) as error:
        print(f"not all messages: {error}")
