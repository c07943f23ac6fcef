"""The sleepers as threads, with a queue to the main one, which collects."""

import os
import signal
import threading
import time
from queue import SimpleQueue

from arguments import complain, report
from sleeping import Collector, clock, instants, read_line, settings

STACK_BYTES = 256 * 1024


def run(tasks, seconds, seed, hold):
    threading.stack_size(STACK_BYTES)
    begin = clock()
    started, numbers = SimpleQueue(), SimpleQueue()
    for task in instants(tasks, seconds, seed, begin):
        # Daemons: when the program has to give up, those that sleep do not hold it back.
        threading.Thread(target=sleeper, args=(*task, started, numbers), daemon=True).start()
    for _ in range(tasks):
        started.get()
    report(f"::phase name=start ns={clock() - begin}")
    if hold:
        report("::await name=started")
        read_line()
    collector = Collector(tasks, begin)
    for _ in range(tasks):
        collector.take(*numbers.get())
    collector.report_result()


def sleeper(number, instant, started, numbers):
    started.put(None)
    while (late_ns := clock() - instant) < 0:
        time.sleep(-late_ns / 1e9)
    numbers.put((number, late_ns))


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
