"""Sockets for tasklets. One that has to wait receives from a channel; `dispatch`, in the main
tasklet, looks which sockets are ready and whose time is over, and sends. Sockets must not block."""

import heapq
import itertools
import time
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from tasklets import channel, run

_selector = DefaultSelector()  # a key's data: the _Waiter
_timers = []  # a heap of (when, number, waiter)
_numbers = itertools.count()  # for timers of the same instant


def dispatch():
    """Lets the tasklets run and wakes those that waited long enough, for ever."""
    while True:
        run()
        for key, _ in _selector.select(_patience_s()):
            key.data.wake(True)
        now = time.monotonic()
        while _timers and _timers[0][0] <= now:
            waiter = heapq.heappop(_timers)[2]
            if waiter.ready is not None:
                waiter.wake(False)


def accept(listener):
    _wait(listener, EVENT_READ)
    connection, _ = listener.accept()
    connection.setblocking(False)
    return connection


def receive(connection, size):
    _wait(connection, EVENT_READ)
    return connection.recv(size)


def send_all(connection, data):
    while data:
        try:
            data = data[connection.send(data) :]
        except BlockingIOError:
            _wait(connection, EVENT_WRITE)


def readable(file, seconds=None):
    """Waits until there is something to receive or accept, but not longer than so: whether there is."""
    return _wait(file, EVENT_READ, seconds)


def sleep(seconds):
    _Waiter(None).wait(seconds)


def _wait(file, event, seconds=None):
    waiter = _Waiter(file)
    _selector.register(file, event, waiter)
    return waiter.wait(seconds)


class _Waiter:
    """A tasklet that waits for a file, for its time to be over, or for the first of both."""

    __slots__ = ("file", "ready")

    def __init__(self, file):
        self.file = file
        self.ready = channel()

    def wait(self, seconds):
        if seconds is not None:
            heapq.heappush(_timers, (time.monotonic() + seconds, next(_numbers), self))
        return self.ready.receive()

    def wake(self, value):
        if self.file is not None:
            _selector.unregister(self.file)
        # A timer may hold us for long: not so what we were for.
        ready, self.ready, self.file = self.ready, None, None
        ready.send(value)


def _patience_s():
    while _timers and _timers[0][2].ready is None:
        heapq.heappop(_timers)
    return max(0, _timers[0][0] - time.monotonic()) if _timers else None
