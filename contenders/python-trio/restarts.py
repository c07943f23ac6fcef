"""The restarts as Trio's tasks: a supervisor for each unit runs it in a nursery, which ends with the unit's
exception, and opens another."""

import functools
import math
import os
import signal

import trio
from trio.testing import wait_all_tasks_blocked

from arguments import complain, report
from restarting import Collector, Failure, State, clock, settings


async def serve(unit, inbox, events):
    state = State(unit)
    async for number, fails in inbox:
        events.send_nowait((unit, state.handle(number, fails)))


async def supervise(unit, inbox, events):
    while True:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(serve, unit, inbox, events)
        except* Failure:
            events.send_nowait((unit, None))


async def run(units, messages, every, seed):
    begin = clock()
    sending, events = trio.open_memory_channel(math.inf)
    async with trio.open_nursery() as nursery:
        inboxes = []
        for unit in range(units):
            # The channel stays where a unit fails.
            outbox, inbox = trio.open_memory_channel(math.inf)
            inboxes.append(outbox)
            nursery.start_soon(supervise, unit, inbox, sending)
        await wait_all_tasks_blocked()
        report(f"::phase name=start ns={clock() - begin}")
        collector = Collector(units, messages, every, seed)
        for _ in collector.passes():
            for unit, inbox in enumerate(inboxes):
                inbox.send_nowait(collector.message(unit))
            while collector.open:
                unit, answer = await events.receive()
                if answer is None:
                    collector.failed(unit)
                elif not collector.answered(*answer):
                    continue
                inboxes[unit].send_nowait(collector.message(unit))
        nursery.cancel_scope.cancel()
    collector.report_result()


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
