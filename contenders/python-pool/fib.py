"""The fibonacci service: a thread for each connection, a pool of processes for the computations."""

import multiprocessing
import os
import select
import signal
import socket
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import arguments
from arguments import refuse, report, whole_number
from service import raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


class Workers:
    """A pool of processes, and a new one where a worker was killed: an executor does not mend itself."""

    def __init__(self, count):
        self._count = count
        self._lock = threading.Lock()
        self._pool = start_pool(count)

    def fib(self, n):
        pool = self._pool
        try:
            return pool.submit(fib, n).result()
        except BrokenProcessPool:
            with self._lock:
                if self._pool is pool:
                    self._pool = start_pool(self._count)
            raise

    def end(self):
        """Ends them in the middle of what they do, for good."""
        self._lock.acquire()
        workers = multiprocessing.active_children()
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()


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


def serve(listener, workers):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            time.sleep(0.01)  # No descriptor is free: some connection may end.
            continue
        try:
            threading.Thread(target=converse, args=(connection, workers), daemon=True).start()
        except RuntimeError:
            connection.close()  # No thread can be had.


def converse(connection, workers):
    """Answers one client's requests until it closes."""
    try:
        with connection, connection.makefile("rb") as requests:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (line := requests.readline(LONGEST)).endswith(b"\n"):
                connection.sendall(answer(line[:-1], workers))
            if len(line) == LONGEST:
                connection.sendall(b"error: a line may have %d bytes\n" % LONGEST)
            # Closing alone does not end it: workers that were forked meanwhile have copies.
            connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # The client went away.


def answer(request, workers):
    if request.isdigit() and 1 <= int(request) <= 90:
        try:
            return b"%d\n" % workers.fib(int(request))
        except BrokenProcessPool:
            return b"error: a worker was killed\n"
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


def end_when_told(workers):
    """Ends the program on SIGTERM and at the end of stdin."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    # Not in a handler, which runs in the main thread and when that comes to it.
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=watch, args=(told, workers), daemon=True).start()


def watch(told, workers):
    while True:
        ready, _, _ = select.select([told, 0], [], [])
        if told in ready or not os.read(0, 4096):
            workers.end()
            os._exit(0)  # There is nothing to save.


def main():
    given = settings()
    raise_file_limit()
    # Before the socket: they need no copy of it.
    workers = Workers(given["cores"])
    listener = listen(given["host"], given["port"])
    end_when_told(workers)
    report(f"::ready port={listener.getsockname()[1]}")
    serve(listener, workers)


if __name__ == "__main__":
    main()
