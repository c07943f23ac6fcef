"""The sleepers as tasklets, with a channel to the one that collects."""

import os
import signal
import sys
from contextlib import suppress
from functools import partial

from arguments import complain, report
from sleeping import Collector, clock, instants, read_line, settings
from sockets import dispatch, readable, sleep
from tasklets import channel, schedule, tasklet


def run(tasks, seconds, seed, hold):
    begin = clock()
    numbers = channel()
    for number, instant in instants(tasks, seconds, seed, begin):
        tasklet(sleeper)(number, instant, numbers)
    schedule()  # Every tasklet runs up to its sleep.
    report(f"::phase name=start ns={clock() - begin}")
    if hold:
        wait_for_line()
    collector = Collector(tasks, begin)
    for _ in range(tasks):
        collector.take(*numbers.receive())
    collector.report_result()
    sys.exit()  # dispatch() goes on for ever.


def sleeper(number, instant, numbers):
    while (late_ns := clock() - instant) < 0:
        sleep(-late_ns / 1e9)
    numbers.send((number, late_ns))


def wait_for_line():
    report("::await name=started")
    if sys.stdin is None:
        return  # It was closed before the program began.
    with suppress(PermissionError):  # The selector does not take files: they can be read at any time.
        readable(sys.stdin)
    read_line()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    tasklet(partial(run, **given))()
    try:
        dispatch()
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
