"""The fibonacci service: generators on a trampoline, a pool of processes for the computations."""

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

import arguments
from arguments import refuse, report, whole_number
from service import raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


class Trampoline:
    """Runs generators. Each yields what it waits for: a pair of an event and a socket, or a future."""

    def __init__(self):
        self._ready = deque()
        self._selector = DefaultSelector()  # a key's data: the generator that waits
        # A future is done in a thread of the pool's, which leaves the generator here and wakes the
        # selector with a byte. The same byte may be a signal's.
        self._woken = deque()
        self._bell, self._rope = socket.socketpair()
        self._bell.setblocking(False)
        self._rope.setblocking(False)
        self._selector.register(self._bell, EVENT_READ)
        signal.set_wakeup_fd(self._rope.fileno(), warn_on_full_buffer=False)

    def add(self, generator):
        self._ready.append(generator)

    def run(self, ended):
        """Until `ended()`, which is asked whenever something has happened."""
        while not ended():
            for _ in range(len(self._ready)):
                self._resume(self._ready.popleft())
            for key, _ in self._selector.select(0 if self._ready else None):
                if key.fileobj is self._bell:
                    self._answer_bell()
                else:
                    self._selector.unregister(key.fileobj)
                    self.add(key.data)

    def _resume(self, generator):
        try:
            wanted = next(generator)
        except StopIteration:
            return
        if isinstance(wanted, Future):
            wanted.add_done_callback(lambda _: self._wake(generator))
        else:
            event, file = wanted
            self._selector.register(file, event, generator)

    def _wake(self, generator):
        """The one method that any thread may call."""
        self._woken.append(generator)
        try:
            self._rope.send(b"\0")
        except BlockingIOError:
            pass  # It is full of bytes that will wake the selector as well.

    def _answer_bell(self):
        self._bell.recv(4096)  # First the bytes: a generator that comes now rings again.
        while self._woken:
            self.add(self._woken.popleft())


class Workers:
    """A pool of processes, and a new one where a worker was killed: an executor does not mend itself."""

    def __init__(self, count):
        self._count = count
        self._pool = start_pool(count)

    def fib(self, n):
        pool = self._pool
        try:
            future = pool.submit(fib, n)
            yield future
            return future.result()
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = start_pool(self._count)
            raise


def start_pool(count):
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("fork"),
        # A worker that is told to end does so without a word.
        initializer=signal.signal,
        initargs=(signal.SIGTERM, signal.SIG_DFL),
    )
    pool.submit(fib, 1).result()  # The first call starts them all.
    return pool


def serve(listener, workers, trampoline):
    while True:
        yield EVENT_READ, listener
        try:
            connection, _ = listener.accept()
        except OSError:
            time.sleep(0.01)  # No descriptor is free: some connection may end.
            continue
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trampoline.add(converse(connection, workers))


def converse(connection, workers):
    """Answers one client's requests until it closes."""
    try:
        with connection:
            buffer = bytearray()
            while len(buffer) < LONGEST:
                yield EVENT_READ, connection
                data = connection.recv(4096)
                if not data:
                    break
                buffer += data
                while (end := buffer.find(b"\n", 0, LONGEST)) >= 0:
                    request = bytes(buffer[:end])
                    del buffer[: end + 1]
                    yield from send(connection, (yield from answer(request, workers)))
            else:
                yield from send(connection, b"error: a line may have %d bytes\n" % LONGEST)
            # Closing alone does not end it: workers that were forked meanwhile have copies.
            connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # The client went away.


def send(connection, data):
    while data:
        yield EVENT_WRITE, connection
        data = data[connection.send(data) :]


def answer(request, workers):
    if request.isdigit() and 1 <= int(request) <= 90:
        try:
            return b"%d\n" % (yield from workers.fib(int(request)))
        except BrokenProcessPool:
            return b"error: a worker was killed\n"
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def settings():
    given = arguments.read()
    cores = whole_number(given, "cores", "1", 1)
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "processes": whole_number(given, "processes", str(cores), 1),
    }


def listen(host, port):
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))


def end_with_stdin():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main():
    given = settings()
    raise_file_limit()
    # Before the sockets: they need no copies of these.
    workers = Workers(given["processes"])
    listener = listen(given["host"], given["port"])
    listener.setblocking(False)
    signals = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    trampoline = Trampoline()
    trampoline.add(serve(listener, workers, trampoline))
    threading.Thread(target=end_with_stdin, daemon=True).start()
    report(f"::ready port={listener.getsockname()[1]}")
    trampoline.run(lambda: signals)
    children = multiprocessing.active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join()
    os._exit(0)  # There is nothing to save.


if __name__ == "__main__":
    main()
