"""Cooperative multitasking with generators: a trampoline, queues, timers, sockets.

A task is a generator. It yields operations, and each `yield` returns what the
operation brought:

    def greet(names, greetings):
        while True:
            name = yield names.get()
            yield greetings.put("hello " + name)

    manager = TaskManager()
    manager.add(greet(names, greetings))
    manager.run()

An operation is a pair (start, argument). The trampoline calls
`start(task, argument)`: with the value that comes back the task goes to the end
of the queue of those that can run, unless it is WAITING: then someone has taken
note of the task and wakes it later.
What takes several operations is a generator to delegate to, as in
`data = yield from recv(socket, 4096)`.
"""

import heapq
import itertools
import time
from collections import deque
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

WAITING = object()


class Timeout(Exception):
    """The time that a task gave an operation is over."""


class TaskManager:
    def __init__(self):
        self._ready = deque()  # pairs of a task and the value that it waits for
        self._timers = []  # a heap of (when, number, timer)
        self._numbers = itertools.count()  # for timers of the same instant
        self._selector = DefaultSelector()  # a key's data: {event: who waits}

    def add(self, generator):
        """Makes a task of the generator; its first turn comes when run() gets to it."""
        task = Task(self, generator)
        task.wake((task, None))
        return task

    def run(self):
        """Runs the tasks until none can go on any more.

        An error that a task does not catch ends the task and leaves run().
        """
        ready = self._ready
        sockets = self._selector.get_map()
        while True:
            if self._timers or sockets:
                self._wait_for_events()
            if not ready and not self._timers and not sockets:
                return
            for _ in range(len(ready)):
                task, value = ready.popleft()
                try:
                    start, argument = task.resume(value)
                except StopIteration:
                    continue
                value = start(task, argument)
                if value is not WAITING:
                    # Its next turn comes when all others that can run have had theirs.
                    ready.append((task, value))

    def call_after(self, seconds, function):
        """Calls the function in so many seconds, unless the timer is cancelled."""
        timer = Timer(function)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), timer))
        return timer

    def watch(self, file, event, waiter):
        """Wakes the waiter once, when the file is ready for the event."""
        if file not in self._selector.get_map():
            self._selector.register(file, event, {event: waiter})
            return
        key = self._selector.get_key(file)
        if event in key.data:
            raise RuntimeError(f"another task waits for {file!r} already")
        key.data[event] = waiter
        self._selector.modify(file, key.events | event, key.data)

    def unwatch(self, file, event):
        """Returns the waiter, which is not going to be woken."""
        key = self._selector.get_key(file)
        waiter = key.data.pop(event)
        if key.data:
            self._selector.modify(file, key.events & ~event, key.data)
        else:
            self._selector.unregister(file)
        return waiter

    def _wait_for_events(self):
        timers = self._timers
        while timers and timers[0][2].function is None:
            heapq.heappop(timers)
        if self._ready:
            patience = 0
        elif timers:
            patience = max(0, timers[0][0] - time.monotonic())
        elif self._selector.get_map():
            patience = None
        else:
            return
        for key, events in self._selector.select(patience):
            for event in (EVENT_READ, EVENT_WRITE):
                if events & event:
                    waiter = self.unwatch(key.fileobj, event)
                    waiter.wake((waiter, None))
        now = time.monotonic()
        while timers and timers[0][0] <= now:
            timer = heapq.heappop(timers)[2]
            if timer.function is not None:
                timer.function()


class Task:
    """`resume(value)` runs the generator up to its next operation;
    `wake((task, value))` puts it in the queue for that."""

    __slots__ = ("_generator", "manager", "resume", "wake")

    def __init__(self, manager, generator):
        self._generator = generator
        self.manager = manager
        self.resume = generator.send
        self.wake = manager._ready.append

    def fail(self, error):
        """Wakes the task with an error."""
        self.resume = self._throw
        self.wake((self, error))

    def _throw(self, error):
        self.resume = self._generator.send
        return self._generator.throw(error)


class Timer:
    __slots__ = ("function",)

    def __init__(self, function):
        self.function = function

    def cancel(self):
        # The timer stays until it is due, but its callback is gone.
        self.function = None


class TimedWaiter:
    """Waits in the place of a task, until it is woken or the time is over."""

    __slots__ = ("_forget", "_task", "_timer")

    def __init__(self, task, seconds, forget):
        self._task = task
        self._forget = forget
        self._timer = task.manager.call_after(seconds, self._expire)

    def wake(self, resumption):
        self._timer.cancel()
        self._task.wake((self._task, resumption[1]))

    def fail(self, error):
        self._timer.cancel()
        self._task.fail(error)

    def _expire(self):
        self._forget()
        self._task.fail(Timeout())


class Queue:
    """First in, first out; `maxsize` bounds it, 0 does not.

    `yield queue.put(item)` waits for room, `item = yield queue.get()` for an item;
    with a timeout in seconds they may raise Timeout.
    """

    def __init__(self, maxsize=0):
        self._maxsize = maxsize or float("inf")
        self._items = deque()
        # Pairs of a waiter and its item. Where no item is, only getters wait, and
        # only putters where no room is.
        self._waiting = deque()
        self._get_operation = (self._get, None)

    def __len__(self):
        return len(self._items)

    def get(self, timeout=None):
        if timeout is None:
            return self._get_operation
        return self._timed, (self._get, None, timeout)

    def put(self, item, timeout=None):
        if timeout is None:
            return self._put, item
        return self._timed, (self._put, item, timeout)

    def _get(self, waiter, _):
        items = self._items
        if not items:
            self._waiting.append((waiter, None))
            return WAITING
        item = items.popleft()
        if self._waiting:
            putter, next_item = self._waiting.popleft()
            items.append(next_item)
            putter.wake((putter, None))
        return item

    def _put(self, waiter, item):
        items = self._items
        if len(items) >= self._maxsize:
            self._waiting.append((waiter, item))
            return WAITING
        if self._waiting:
            getter, _ = self._waiting.popleft()
            getter.wake((getter, item))
        else:
            items.append(item)
        return None

    def _timed(self, task, argument):
        start, item, seconds = argument
        waiter = TimedWaiter(task, seconds, lambda: self._waiting.remove((waiter, item)))
        value = start(waiter, item)
        if value is not WAITING:
            waiter.wake((waiter, value))
        return WAITING


def sleep(seconds):
    """Nothing happens to the task for so long; 0 lets the others have their turn."""
    return _sleep, seconds


def _sleep(task, seconds):
    if seconds > 0:
        task.manager.call_after(seconds, lambda: task.wake((task, None)))
    else:
        task.wake((task, None))
    return WAITING


def readable(file, timeout=None):
    """Waits until the file or socket can be read; one task at a time."""
    return _watch, (file, EVENT_READ, timeout)


def writable(file, timeout=None):
    """Waits until the file or socket can be written; one task at a time."""
    return _watch, (file, EVENT_WRITE, timeout)


def _watch(task, argument):
    file, event, timeout = argument
    manager = task.manager
    waiter = task
    if timeout is not None:
        waiter = TimedWaiter(task, timeout, lambda: manager.unwatch(file, event))
    try:
        manager.watch(file, event, waiter)
    except (OSError, RuntimeError, ValueError) as error:
        waiter.fail(error)
    return WAITING


# Sockets must not block: `socket.setblocking(False)`.


def accept(listener, timeout=None):
    """`connection, address = yield from accept(listener)`; the connection does not block."""
    connection, address = yield from _retry(readable(listener, timeout), listener.accept)
    connection.setblocking(False)
    return connection, address


def recv(socket, size, timeout=None):
    """`data = yield from recv(socket, size)`; b"" is the end."""
    return _retry(readable(socket, timeout), socket.recv, size)


def send(socket, data, timeout=None):
    """`count = yield from send(socket, data)`: how much of the data was sent."""
    return _retry(writable(socket, timeout), socket.send, data)


def sendall(socket, data, timeout=None):
    """`yield from sendall(socket, data)`; the timeout is for each part of it."""
    rest = memoryview(data)
    while rest:
        count = yield from send(socket, rest, timeout)
        rest = rest[count:]


def _retry(ready, function, *arguments):
    # A peer that is always ready must not keep the other tasks from their turns.
    yield sleep(0)
    while True:
        try:
            return function(*arguments)
        except BlockingIOError:
            yield ready
