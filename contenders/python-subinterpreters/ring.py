"""The ring on interpreters of one process, each with a lock of its own, and the queues that the library has for them."""

import os
import sys
import time

import arguments
from arguments import complain, one_of, report, whole_number
from interpreters import Failed, Unit, create_queue


def rings(nodes, messages, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = ring(nodes, messages, token, trace, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


def ring(nodes, messages, token, trace, hold, checksum, order):
    start = time.monotonic_ns()
    done, arrived = create_queue(), create_queue()
    queues = [create_queue() for _ in range(nodes)]
    units = []
    for i in range(1, nodes):
        names = {"i": i, "inbox": queues[i - 1].id, "outbox": queues[i].id, "trace": trace}
        units.append(Unit("import units; units.relay(i, inbox, outbox, trace)", **names))
    names = {"n": nodes, "inbox": queues[-1].id, "arrived": arrived.id, "done": done.id, "token": token}
    names |= {"trace": trace, "checksum": checksum, "order": order}
    line = "import units; units.last(n, inbox, arrived, done, token, trace, checksum, order)"
    units.append(Unit(line, **names))
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        queues[0].put(r)
        if token:
            arrived.get()
    end, checksum, order = done.get()
    report(f"::phase name=relay ns={end - start}")
    # What an interpreter has put into a queue ends with it: so none before the last message has come.
    for unit in units:
        unit.end()
    return checksum, order


def settings():
    given = arguments.read()
    one_of(given, "capacity", "own", ["own", "unbounded"])
    return {
        "nodes": whole_number(given, "nodes", "", 2),
        "messages": whole_number(given, "messages", "", 1),
        "token": one_of(given, "mode", "pipelined", ["pipelined", "token"]) == "token",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def main():
    given = settings()
    try:
        rings(**given)
    except Failed as error:
        complain(f"no more interpreters: {error}")
        # At once: the threads of those that wait would not end.
        os._exit(1)


if __name__ == "__main__":
    main()
