"""The restarts as processes of `multiprocessing`, with a pipe to each: where one has ended, its pipe is at its
end, and the collector starts another."""

import os
import signal
import sys
import traceback
from multiprocessing import connection, get_context

from arguments import complain, report
from restarting import Collector, State, clock, settings

# Quick, and safe here: there is one thread.
CONTEXT = get_context("fork")


def serve(unit, pipe):
    # The module reports an exception that ends a process.
    sys.stderr = open(os.devnull, "w")
    traceback.print_exc = lambda: None
    state = State(unit)
    while True:
        pipe.send(state.handle(*pipe.recv()))


class Units:
    """All processes, by the ends of their pipes that the collector has."""

    def __init__(self, units):
        self.processes = {}
        self.numbers = {}
        self.pipes = [self.start(unit) for unit in range(units)]

    def start(self, unit):
        pipe, of_unit = CONTEXT.Pipe()
        process = CONTEXT.Process(target=serve, args=(unit, of_unit), daemon=True)
        process.start()
        of_unit.close()
        self.processes[unit] = process
        self.numbers[pipe] = unit
        return pipe

    def restart(self, unit):
        pipe = self.pipes[unit]
        del self.numbers[pipe]
        pipe.close()
        self.processes[unit].join()
        self.pipes[unit] = self.start(unit)

    def end(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.join()


def run(units, messages, every, seed):
    begin = clock()
    all_units = Units(units)
    report(f"::phase name=start ns={clock() - begin}")
    collector = Collector(units, messages, every, seed)
    for _ in collector.passes():
        for unit, pipe in enumerate(all_units.pipes):
            pipe.send(collector.message(unit))
        while collector.open:
            for pipe in connection.wait(all_units.pipes):
                unit = all_units.numbers[pipe]
                try:
                    answer = pipe.recv()
                except EOFError:
                    collector.failed(unit)
                    all_units.restart(unit)
                else:
                    if not collector.answered(*answer):
                        continue
                all_units.pipes[unit].send(collector.message(unit))
    all_units.end()
    collector.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        run(**given)
    except OSError as error:
        complain(f"no more processes, or nothing can be written: {error.strerror}")
        os._exit(1)


if __name__ == "__main__":
    main()
