"""The feed on tasklets. The little of HTTP/1.1 that is needed stands here."""

import itertools
import re
import socket
import time

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit
from sockets import dispatch, readable, receive, send_all, sleep
from tasklets import tasklet

MOST_HEAD_BYTES = 16 * 1024
PIECE_BYTES = 4096
BACKLOG = 4096

REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.1\r\n(?:.*\r\n)?\r\n", re.DOTALL)
FEED = re.compile(rb"/test/([0-9]{1,20})")


def serve(listener, interval_s):
    while True:
        readable(listener)
        try:
            # All who wait, not one in each turn: thousands may come within a second.
            for _ in range(BACKLOG):
                connection, _ = listener.accept()
                connection.setblocking(False)
                tasklet(converse)(connection, interval_s)
        except BlockingIOError:
            pass
        except OSError:
            sleep(0.01)  # No descriptor is free: some connection may end.


def converse(connection, interval_s):
    """A client's request and its answer, until the client closes."""
    try:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            feed_id, head = route(read_head(connection))
            if feed_id is not None:
                feed(connection, head, feed_id, interval_s)
                return
            send_all(connection, head)
            connection.shutdown(socket.SHUT_WR)
            while receive(connection, PIECE_BYTES):
                pass
    except OSError:
        pass  # The client went away.


def read_head(connection):
    """The request line and the headers, or what there is of them where they have no end."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MOST_HEAD_BYTES:
        data = receive(connection, PIECE_BYTES)
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
    send_all(connection, head + chunk(b"Welcome: %b\n" % feed_id))
    begin_s = time.monotonic()
    for k in itertools.count(1):
        # The tasklet sleeps where it would hear that the client is gone.
        while (wait_s := begin_s + k * interval_s - time.monotonic()) > 0:
            if readable(connection, wait_s) and not connection.recv(PIECE_BYTES):
                return
        send_all(connection, chunk(b"Chunk %d for %b\n" % (k, feed_id)))


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


def listen(host, port):
    try:
        return socket.create_server((host, port), backlog=BACKLOG)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))


def main():
    given = settings()
    raise_file_limit()
    listener = listen(given["host"], given["port"])
    listener.setblocking(False)
    end_when_told()
    report(f"::ready port={listener.getsockname()[1]}")
    tasklet(serve)(listener, given["interval_ms"] / 1000)
    dispatch()


if __name__ == "__main__":
    main()
