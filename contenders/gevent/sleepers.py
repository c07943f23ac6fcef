"""The sleepers as gevent's greenlets, with a queue to the main one, which collects."""

import os
import signal

import gevent
from gevent.queue import SimpleQueue
from gevent.threadpool import ThreadPool

from arguments import complain, report
from sleeping import Collector, clock, instants, read_line, settings


def run(tasks, seconds, seed, hold):
    begin = clock()
    numbers = SimpleQueue()
    for number, instant in instants(tasks, seconds, seed, begin):
        gevent.spawn(sleeper, number, instant, numbers)
    gevent.sleep(0)  # Every greenlet runs up to its sleep.
    report(f"::phase name=start ns={clock() - begin}")
    if hold:
        report("::await name=started")
        ThreadPool(1).apply(read_line)
    collector = Collector(tasks, begin)
    for _ in range(tasks):
        collector.take(*numbers.get())
    collector.report_result()


def sleeper(number, instant, numbers):
    while (late_ns := clock() - instant) < 0:
        gevent.sleep(-late_ns / 1e9)
    numbers.put((number, late_ns))


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
