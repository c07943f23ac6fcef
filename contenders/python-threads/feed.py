"""The feed, a thread for each connection. The little of HTTP/1.1 that is needed stands here."""

import itertools
import math
import re
import select
import socket
import threading
import time

import arguments
from arguments import report, whole_number
from connections import listen, serve
from service import end_when_told, raise_file_limit

MOST_HEAD_BYTES = 16 * 1024
PIECE_BYTES = 4096
# Far more than these calls need, PyPy's compiler included, which works on the stack of the thread whose loop
# it compiles; and a stack of less than 2 MiB can't get a huge page.
STACK_BYTES = 256 * 1024

REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.1\r\n(?:.*\r\n)?\r\n", re.DOTALL)
FEED = re.compile(rb"/test/([0-9]{1,20})")


def converse(connection, interval_s):
    """A client's request and its answer, until the client closes."""
    try:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            feed_id, head = route(read_head(connection))
            if feed_id is not None:
                feed(connection, head, feed_id, interval_s)
                return
            connection.sendall(head)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(PIECE_BYTES):
                pass
    except OSError:
        pass  # The client went away.


def read_head(connection):
    """The request line and the headers, or what there is of them where they have no end."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MOST_HEAD_BYTES:
        data = connection.recv(PIECE_BYTES)
        if not data:
            break
        head += data
    return head


def route(head):
    """The id of the feed that a request asks for, None where it asks for something else, and the head of
    the answer."""
    request = REQUEST.match(head)
    if not request:
        return None, refusal(b"400 Bad Request")
    method, target = request.groups()
    asked = FEED.fullmatch(target.partition(b"?")[0])
    if not asked:
        return None, refusal(b"404 Not Found")
    if method != b"GET":
        return None, refusal(b"405 Method Not Allowed\r\nAllow: GET")
    return asked[1], b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


def refusal(status):
    return b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status


def feed(connection, head, feed_id, interval_s):
    """Sends messages until the client closes."""
    # Not select.select, which knows the first 1,024 descriptors only.
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    connection.sendall(head + chunk(b"Welcome: %b\n" % feed_id))
    begin_s = time.monotonic()
    for k in itertools.count(1):
        # The thread sleeps where it would hear that the client is gone.
        while (wait_s := begin_s + k * interval_s - time.monotonic()) > 0:
            if poller.poll(math.ceil(wait_s * 1000)) and not connection.recv(PIECE_BYTES):
                return
        connection.sendall(chunk(b"Chunk %d for %b\n" % (k, feed_id)))


def chunk(message):
    return b"%x\r\n%b\r\n" % (len(message), message)


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def main():
    given = settings()
    raise_file_limit()
    listener = listen(given["host"], given["port"], backlog=4096)
    threading.stack_size(STACK_BYTES)
    end_when_told()
    report(f"::ready port={listener.getsockname()[1]}")
    serve(listener, converse, given["interval_ms"] / 1000)


if __name__ == "__main__":
    main()
