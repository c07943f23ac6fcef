"""The sleepers as asyncio tasks, with a queue to the one that collects."""

import asyncio
import os
import signal

import loop
from arguments import complain, report
from sleeping import Collector, clock, instants, read_line, settings


async def run(tasks, seconds, seed, hold):
    begin = clock()
    numbers = asyncio.Queue()
    asleep = [
        asyncio.create_task(sleeper(number, instant, numbers))
        for number, instant in instants(tasks, seconds, seed, begin)
    ]
    await asyncio.sleep(0)  # Every task runs up to its sleep.
    report(f"::phase name=start ns={clock() - begin}")
    if hold:
        report("::await name=started")
        await asyncio.to_thread(read_line)
    collector = Collector(tasks, begin)
    for _ in asleep:
        collector.take(*await numbers.get())
    collector.report_result()


async def sleeper(number, instant, numbers):
    while (late_ns := clock() - instant) < 0:
        await asyncio.sleep(-late_ns / 1e9)
    await numbers.put((number, late_ns))


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        loop.run(run(**given))
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
