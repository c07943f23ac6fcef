"""The fibonacci service, a thread for each connection."""

import socket

import arguments
from arguments import report, whole_number
from connections import listen, serve
from service import end_when_told, raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


def converse(connection):
    """Answers one client's requests until it closes."""
    try:
        with connection, connection.makefile("rb") as requests:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (line := requests.readline(LONGEST)).endswith(b"\n"):
                connection.sendall(answer(line[:-1]))
            if len(line) == LONGEST:
                connection.sendall(b"error: a line may have %d bytes\n" % LONGEST)
    except OSError:
        pass  # The client went away.


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d\n" % fib(int(request))
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def main():
    given = settings()
    raise_file_limit()
    listener = listen(given["host"], given["port"], backlog=1024)
    end_when_told()
    report(f"::ready port={listener.getsockname()[1]}")
    serve(listener, converse)


if __name__ == "__main__":
    main()
