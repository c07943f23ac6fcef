"""The restarts as asyncio tasks: the callback of one that ended with an exception tells the collector, which
creates another."""

import asyncio
import os
import signal

import loop
from arguments import complain, report
from restarting import Collector, Failure, State, clock, settings


async def serve(unit, inbox, events):
    state = State(unit)
    while True:
        number, fails = await inbox.get()
        events.put_nowait((unit, state.handle(number, fails)))


class Unit:
    def __init__(self, unit, events):
        self.inbox = asyncio.Queue()
        # Its owner has to keep a task, or it may be collected as garbage.
        self.task = asyncio.create_task(serve(unit, self.inbox, events))
        self.task.add_done_callback(lambda task: self.ended(task, unit, events))

    @staticmethod
    def ended(task, unit, events):
        if not task.cancelled() and isinstance(task.exception(), Failure):
            events.put_nowait((unit, None))


async def run(units, messages, every, seed):
    begin = clock()
    events = asyncio.Queue()
    all_units = [Unit(unit, events) for unit in range(units)]
    await asyncio.sleep(0)  # Every task runs up to its first message.
    report(f"::phase name=start ns={clock() - begin}")
    collector = Collector(units, messages, every, seed)
    for _ in collector.passes():
        for unit in range(units):
            all_units[unit].inbox.put_nowait(collector.message(unit))
        while collector.open:
            unit, answer = await events.get()
            if answer is None:
                collector.failed(unit)
                all_units[unit] = Unit(unit, events)
            elif not collector.answered(*answer):
                continue
            all_units[unit].inbox.put_nowait(collector.message(unit))
    collector.report_result()


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
