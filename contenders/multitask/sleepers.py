"""The sleepers as tasks of the trampoline, with a queue to the one that collects."""

import os
import signal
import sys
from contextlib import suppress

from arguments import complain, report
from multitask import Queue, TaskManager, readable, sleep
from sleeping import Collector, clock, instants, read_line, settings


def run(manager, tasks, seconds, seed, hold):
    begin = clock()
    numbers = Queue()
    for number, instant in instants(tasks, seconds, seed, begin):
        manager.add(sleeper(number, instant, numbers))
    yield sleep(0)  # Every task runs up to its sleep.
    report(f"::phase name=start ns={clock() - begin}")
    if hold:
        yield from wait_for_line()
    collector = Collector(tasks, begin)
    for _ in range(tasks):
        collector.take(*(yield numbers.get()))
    collector.report_result()


def sleeper(number, instant, numbers):
    while (late_ns := clock() - instant) < 0:
        yield sleep(-late_ns / 1e9)
    yield numbers.put((number, late_ns))


def wait_for_line():
    report("::await name=started")
    if sys.stdin is None:
        return  # It was closed before the program began.
    with suppress(PermissionError):  # The selector does not take files: they can be read at any time.
        yield readable(sys.stdin)
    read_line()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    manager = TaskManager()
    manager.add(run(manager, **given))
    try:
        manager.run()
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
