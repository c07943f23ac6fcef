"""The feed on generators. The little of HTTP/1.1 that is needed stands here."""

import itertools
import os
import re
import resource
import select
import signal
import socket
import sys
import threading
import time

from multitask import TaskManager, Timeout, readable, recv, sendall, sleep

MOST_HEAD_BYTES = 16 * 1024
PIECE_BYTES = 4096
BACKLOG = 4096

REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.1\r\n(?:.*\r\n)?\r\n", re.DOTALL)
FEED = re.compile(rb"/test/([0-9]{1,20})")


def serve(manager, listener, interval_s):
    while True:
        yield readable(listener)
        try:
            # All who wait, not one in each turn: thousands may come within a second.
            for _ in range(BACKLOG):
                connection, _ = listener.accept()
                connection.setblocking(False)
                manager.add(converse(connection, interval_s))
        except BlockingIOError:
            pass
        except OSError:
            yield sleep(0.01)  # No descriptor is free: some connection may end.


def converse(connection, interval_s):
    """A client's request and its answer, until the client closes."""
    try:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            feed_id, head = route((yield from read_head(connection)))
            if feed_id is not None:
                yield from feed(connection, head, feed_id, interval_s)
                return
            yield from sendall(connection, head)
            connection.shutdown(socket.SHUT_WR)
            while (yield from recv(connection, PIECE_BYTES)):
                pass
    except OSError:
        pass  # The client went away.


def read_head(connection):
    """The request line and the headers, or what there is of them where they have no end."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MOST_HEAD_BYTES:
        data = yield from recv(connection, PIECE_BYTES)
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
    yield from sendall(connection, head + chunk(b"Welcome: %b\n" % feed_id))
    begin_s = time.monotonic()
    for k in itertools.count(1):
        # The task sleeps where it would hear that the client is gone.
        while (wait_s := begin_s + k * interval_s - time.monotonic()) > 0:
            try:
                yield readable(connection, timeout=wait_s)
                if not (yield from recv(connection, PIECE_BYTES)):
                    return
            except Timeout:
                pass
        yield from sendall(connection, chunk(b"Chunk %d for %b\n" % (k, feed_id)))


def chunk(message):
    return b"%x\r\n%b\r\n" % (len(message), message)


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"feed: {key} must be {wanted}, not {text!a}", file=sys.stderr)
    sys.exit(2)


def listen(port):
    try:
        return socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    except OSError:
        refuse("port", "one that is free", str(port))


def end_when_told():
    """Ends the program on SIGTERM and at the end of stdin."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    # The handler runs between two steps of Python, in the main thread. A signal that comes just before
    # a system call that waits would be missed: so it puts a byte into a pipe too.
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, args=(told,), daemon=True).start()


def watch(told):
    while True:
        ready, _, _ = select.select([told, 0], [], [])
        if told in ready or not os.read(0, 4096):
            end()


def end(*_):
    os._exit(0)  # At once, whatever is under way: there is nothing to save.


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listener = listen(given["port"])
    listener.setblocking(False)
    end_when_told()
    print(f"::ready port={listener.getsockname()[1]}", flush=True)
    manager = TaskManager()
    manager.add(serve(manager, listener, given["interval_ms"] / 1000))
    manager.run()


if __name__ == "__main__":
    main()
