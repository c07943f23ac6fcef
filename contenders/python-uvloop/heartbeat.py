"""The heartbeat of the program in the foreground. The same in each folder of a Python contender that runs
background jobs."""

import time

BEAT_NS = 10_000_000

clock = time.monotonic_ns


class Heart:
    """A heartbeat that is due every 10 ms. Whoever comes by makes it."""

    def __init__(self, now):
        self.beats = 0
        self.gap_ns = 0  # the longest so far
        self._last = now
        self._due = now + BEAT_NS

    def patience_s(self):
        return max(0, self._due - clock()) / 1e9

    def beat_if_due(self):
        now = clock()
        if now >= self._due:
            self.beats += 1
            self._due = now + BEAT_NS
            self.look_back(now)
            self._last = now

    def look_back(self, now):
        self.gap_ns = max(self.gap_ns, now - self._last)
