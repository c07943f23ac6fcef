"""The restarts as threads: one that fails ends by its exception, and `threading.excepthook`, which the
interpreter calls then, tells the collector, which starts another."""

import os
import signal
import threading
from queue import SimpleQueue

from arguments import complain, report
from restarting import Collector, State, clock, settings

STACK_BYTES = 256 * 1024


class Unit(threading.Thread):
    def __init__(self, unit, events):
        super().__init__(daemon=True)
        self.unit = unit
        self.inbox = SimpleQueue()
        self.events = events
        self.start()

    def run(self):
        state = State(self.unit)
        while True:
            number, fails = self.inbox.get()
            self.events.put((self.unit, state.handle(number, fails)))


def run(units, messages, every, seed):
    threading.stack_size(STACK_BYTES)
    begin = clock()
    events = SimpleQueue()
    # The default prints a traceback.
    threading.excepthook = lambda error: events.put((error.thread.unit, None))
    all_units = [Unit(unit, events) for unit in range(units)]
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
        os._exit(1)
    except (RuntimeError, MemoryError) as error:
        complain(f"{threading.active_count()} threads, and no more: {error}")
        os._exit(1)


if __name__ == "__main__":
    main()
