"""The fibonacci service on gevent's server: a greenlet for each connection. It computes in the loop."""

import socket
from contextlib import suppress

import gevent
from gevent.server import StreamServer

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

LONGEST = 100  # bytes of a line, its newline included
BACKLOG = 4096
GRACE_S = 1.0


def converse(client, _address):
    """Answers one client's requests until it closes."""
    with suppress(OSError), client:  # An error is: the client went away.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = client.makefile("rb")
        while (line := lines.readline(LONGEST)).endswith(b"\n"):
            client.sendall(answer(line[:-1]))
        if len(line) == LONGEST:
            client.sendall(b"error: a line may have %d bytes\n" % LONGEST)
            client.shutdown(socket.SHUT_WR)
            # Closing with bytes unread would reset the connection, and the client might miss the answer.
            with gevent.Timeout(GRACE_S, False):
                while lines.read1():
                    pass


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d\n" % fib(int(request))
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    raise_file_limit()
    # Not gevent's handler: that one would wait for a computation to be done.
    end_when_told()
    server = StreamServer((host, port), converse, backlog=BACKLOG)
    try:
        server.start()
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    report(f"::ready port={server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main()
