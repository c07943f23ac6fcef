"""Tasklets and channels with the semantics of Stackless Python, on greenlet.

A tasklet is a function that runs until it has to wait; a channel is a meeting
place of tasklets. A sender waits until a receiver takes the value, and the other
way round: a channel holds waiting tasklets and no values of its own. When both
have met, both can go on, and the channel's preference says who runs first. The
other, like every tasklet that can run, waits for its turn in one queue.

All of it belongs to the thread that imports the module.
"""

from collections import deque

from greenlet import getcurrent, greenlet

PREFER_RECEIVER, PREFER_NEITHER, PREFER_SENDER = -1, 0, 1

# The next to run, and the result of its switch: pairs of a greenlet and a value.
_runnables = deque()


class Deadlock(RuntimeError):
    """The last tasklet that could run would have to wait for ever."""


class tasklet(greenlet):  # noqa: N801, the name is Stackless's
    """`tasklet(function)(*arguments)` puts a call of the function in the queue.

    An error in a tasklet is raised in the main tasklet.
    """

    def __init__(self, function):
        super().__init__(parent=_main)
        self._function = function
        self._arguments = ()

    def __call__(self, *arguments):
        self._arguments = arguments
        _runnables.append((_starter, self))
        return self

    def run(self):
        self._function(*self._arguments)
        # A greenlet that ends switches to its parent: that is the next in turn.
        self.parent, value = _next()
        return value


class channel:  # noqa: N801, the name is Stackless's
    """A meeting place. `balance` counts who waits: senders, or, negative, receivers."""

    __slots__ = ("_waiting", "balance", "preference")

    def __init__(self, preference=PREFER_RECEIVER):
        self.preference = preference
        self.balance = 0
        # Pairs of a greenlet and the value that it sends. Never senders and
        # receivers at the same time: they would have met.
        self._waiting = deque()

    def send(self, value):
        if self.balance >= 0:
            following, resumed_by = _next()
            self.balance += 1
            self._waiting.append((getcurrent(), value))
            following.switch(resumed_by)
            return
        self.balance += 1
        receiver, _ = self._waiting.popleft()
        if self.preference == PREFER_RECEIVER:
            _runnables.append((getcurrent(), None))
            receiver.switch(value)
        else:
            _runnables.append((receiver, value))

    def receive(self):
        if self.balance <= 0:
            following, resumed_by = _next()
            self.balance -= 1
            self._waiting.append((getcurrent(), None))
            return following.switch(resumed_by)
        self.balance -= 1
        sender, value = self._waiting.popleft()
        if self.preference == PREFER_SENDER:
            _runnables.append((getcurrent(), value))
            return sender.switch()
        _runnables.append((sender, None))
        return value


def schedule():
    """Lets every other tasklet that can run have its turn first."""
    _runnables.append((getcurrent(), None))
    following, value = _runnables.popleft()
    following.switch(value)


def run():
    """Runs the other tasklets until none can go on."""
    while _runnables:
        schedule()


def _next():
    try:
        return _runnables.popleft()
    except IndexError:
        raise Deadlock("deadlock: the last tasklet that can run cannot wait") from None


def _start_tasklets(first):
    # A greenlet's stack begins where it was first switched to. Were tasklets
    # started by one another, each would begin below the one before, and some
    # thousands would use up the C stack: so all are started from here, and have
    # the same place in turn.
    fresh = first
    while True:
        fresh = fresh.switch()


_main = getcurrent()
_starter = greenlet(_start_tasklets)
