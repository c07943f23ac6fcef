"""Servers of a few lines that do one thing that real servers do, in threads of the test."""

import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextlib.contextmanager
def serving(handle: Callable[[socket.socket], None], listener: socket.socket | None = None) -> Iterator[int]:
    """Hand each connection to `handle` in a thread of its own, and close it after that. The port."""
    listener = listener or socket.create_server(("127.0.0.1", 0), backlog=1024)  # All of a load at once.

    def converse(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            handle(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=converse, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1] if listener.family == socket.AF_INET else 0
    finally:
        # Closing alone does not end an accept.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def requests(connection: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """Head and body of each request of HTTP/1.1 on a connection, until it ends."""
    stream = connection.makefile("rb")
    while True:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return
            head += line
        fields = head.lower().split(b"\r\n")
        length = next((int(f.partition(b":")[2]) for f in fields if f.startswith(b"content-length:")), 0)
        yield head[:-4], stream.read(length)


def answering(reply: Callable[[bytes, bytes], bytes]) -> Callable[[socket.socket], None]:
    """A handler that answers each request, from its head and body."""

    def handle(connection: socket.socket) -> None:
        for head, body in requests(connection):
            connection.sendall(reply(head, body))

    return handle


def one_at_a_time(seconds: float) -> Callable[[socket.socket], None]:
    """A handler that takes so long for each request, and lets those of other connections wait."""
    turn = threading.Lock()

    def reply(*_: bytes) -> bytes:
        with turn:
            time.sleep(seconds)
        return OK

    return answering(reply)


@contextlib.contextmanager
def when_loaded(act: Callable[[], object]) -> Iterator[str]:
    """The URL of a server; `act` is called once when it has answered some requests."""
    numbers, loaded = itertools.count(), threading.Event()

    def reply(*_: bytes) -> bytes:
        if next(numbers) == 100:
            loaded.set()
        return OK

    def wait() -> None:
        assert loaded.wait(300)
        act()

    with serving(answering(reply)) as port:
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}/"
        thread.join()


def secure(certificates: Path) -> tuple[ssl.SSLContext, Callable[[socket.socket], None]]:
    """A server inside TLS that answers each request, and what it asks of its clients."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "own.pem"))
    context.load_cert_chain(certificates / "own.pem", certificates / "own.key")

    def handle(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            answering(lambda *_: OK)(wrapped)

    return context, handle
