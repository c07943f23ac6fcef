"""The fibonacci service on tasklets. It computes in the tasklet of the connection."""

import socket
import time

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit
from sockets import accept, dispatch, receive, send_all
from tasklets import tasklet

LONGEST = 100  # bytes of a line, its newline included


def serve(listener):
    while True:
        try:
            connection = accept(listener)
        except OSError:
            time.sleep(0.01)  # No descriptor is free: some connection may end.
            continue
        tasklet(converse)(connection)


def converse(connection):
    """Answers one client's requests until it closes."""
    try:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            buffer = bytearray()
            while len(buffer) < LONGEST:
                data = receive(connection, 4096)
                if not data:
                    return
                buffer += data
                while (end := buffer.find(b"\n", 0, LONGEST)) >= 0:
                    request = bytes(buffer[:end])
                    del buffer[: end + 1]
                    send_all(connection, answer(request))
            send_all(connection, b"error: a line may have %d bytes\n" % LONGEST)
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


def listen(host, port):
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))


def main():
    given = settings()
    raise_file_limit()
    listener = listen(given["host"], given["port"])
    listener.setblocking(False)
    end_when_told()
    report(f"::ready port={listener.getsockname()[1]}")
    tasklet(serve)(listener)
    dispatch()


if __name__ == "__main__":
    main()
