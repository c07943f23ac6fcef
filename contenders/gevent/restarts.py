"""The restarts as gevent's greenlets: one that ends with an exception calls what is linked to it, which tells
the collector, and that spawns another."""

import os
import signal

import gevent
from gevent.queue import SimpleQueue

from arguments import complain, report
from restarting import Collector, Failure, State, clock, settings


class Unit(gevent.Greenlet):
    def __init__(self, unit, events):
        super().__init__()
        self.unit = unit
        self.inbox = SimpleQueue()
        self.events = events
        self.link_exception(lambda failed: events.put((failed.unit, None)))
        self.start()

    def _run(self):
        state = State(self.unit)
        while True:
            number, fails = self.inbox.get()
            self.events.put((self.unit, state.handle(number, fails)))


def run(units, messages, every, seed):
    gevent.get_hub().NOT_ERROR += (Failure,)  # The hub prints the others.
    begin = clock()
    events = SimpleQueue()
    all_units = [Unit(unit, events) for unit in range(units)]
    gevent.sleep(0)  # Every greenlet runs up to its first message.
    report(f"::phase name=start ns={clock() - begin}")
    collector = Collector(units, messages, every, seed)
    for _ in collector.passes():
        for unit in all_units:
            unit.inbox.put(collector.message(unit.unit))
        while collector.open:
            unit, answer = events.get()
            if answer is None:
                collector.failed(unit)
                all_units[unit] = Unit(unit, events)
            elif not collector.answered(*answer):
                continue
            all_units[unit].inbox.put(collector.message(unit))
    collector.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        run(**given)
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
