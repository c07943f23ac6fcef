"""The sleepers as Trio's tasks in a nursery, with a memory channel to the one that collects."""

import functools
import math
import os
import signal

import trio
from trio.testing import wait_all_tasks_blocked

from arguments import complain, report
from sleeping import Collector, clock, instants, read_line, settings


async def run(tasks, seconds, seed, hold):
    begin = clock()
    sending, receiving = trio.open_memory_channel(math.inf)
    async with trio.open_nursery() as nursery:
        for number, instant in instants(tasks, seconds, seed, begin):
            nursery.start_soon(sleeper, number, instant, sending)
        await wait_all_tasks_blocked()
        report(f"::phase name=start ns={clock() - begin}")
        if hold:
            report("::await name=started")
            await trio.to_thread.run_sync(read_line)
        collector = Collector(tasks, begin)
        for _ in range(tasks):
            collector.take(*await receiving.receive())
    collector.report_result()


async def sleeper(number, instant, sending):
    while (late_ns := clock() - instant) < 0:
        await trio.sleep(-late_ns / 1e9)
    await sending.send((number, late_ns))


def main():
    given = settings()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    try:
        trio.run(functools.partial(run, **given))
    except* OSError as errors:
        complain(f"nothing can be written: {errors.exceptions[0]}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
