"""The fibonacci service, a process for each connection."""

import os
import select
import signal
import socket
import time

import arguments
from arguments import refuse, report, whole_number

LONGEST = 100  # bytes of a line, its newline included


def serve(listener, told):
    """Until a signal has put its byte into `told`, or stdin ends. Returns the children."""
    children = set()
    while True:
        ready, _, _ = select.select([listener, told, 0], [], [])
        if told in ready or (0 in ready and not os.read(0, 4096)):
            return children
        if listener not in ready:
            continue
        while children and (ended := os.waitpid(-1, os.WNOHANG)[0]):
            children.remove(ended)
        try:
            connection, _ = listener.accept()
            with connection:  # The child has its own copy.
                child = os.fork()
                if child == 0:
                    listener.close()
                    converse(connection)
        except OSError:
            time.sleep(0.01)  # No descriptor is free, or no process: some connection may end.
        else:
            children.add(child)


def converse(connection):
    """Answers one client's requests until it closes. The child's whole life."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    try:
        with connection, connection.makefile("rb") as requests:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (line := requests.readline(LONGEST)).endswith(b"\n"):
                connection.sendall(answer(line[:-1]))
            if len(line) == LONGEST:
                connection.sendall(b"error: a line may have %d bytes\n" % LONGEST)
    except OSError:
        pass  # The client went away.
    finally:
        os._exit(0)


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
    listener = listen(given["host"], given["port"])
    # Not in a handler, which could come in the middle of a fork: the signal is something to wait for.
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, lambda *_: None)
    report(f"::ready port={listener.getsockname()[1]}")
    children = serve(listener, told)
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
