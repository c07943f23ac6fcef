"""The fibonacci service on generators. It computes in the task of the connection."""

import os
import resource
import select
import signal
import socket
import sys
import threading

from multitask import TaskManager, accept, recv, sendall, sleep

LONGEST = 100  # bytes of a line, its newline included


def serve(manager, listener):
    while True:
        try:
            connection, _ = yield from accept(listener)
        except OSError:
            yield sleep(0.01)  # No descriptor is free: some connection may end.
            continue
        manager.add(converse(connection))


def converse(connection):
    """Answers one client's requests until it closes."""
    try:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            buffer = bytearray()
            while len(buffer) < LONGEST:
                data = yield from recv(connection, 4096)
                if not data:
                    return
                buffer += data
                while (end := buffer.find(b"\n", 0, LONGEST)) >= 0:
                    request = bytes(buffer[:end])
                    del buffer[: end + 1]
                    yield from sendall(connection, answer(request))
            yield from sendall(connection, b"error: a line may have %d bytes\n" % LONGEST)
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


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"fib: {key} must be {wanted}, not {text!a}", file=sys.stderr)
    sys.exit(2)


def listen(port):
    try:
        return socket.create_server(("127.0.0.1", port), backlog=1024)
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
    os._exit(0)  # At once, in the middle of a computation too: there is nothing to save.


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listener = listen(given["port"])
    listener.setblocking(False)
    end_when_told()
    print(f"::ready port={listener.getsockname()[1]}", flush=True)
    manager = TaskManager()
    manager.add(serve(manager, listener))
    manager.run()


if __name__ == "__main__":
    main()
