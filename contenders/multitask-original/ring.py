"""The ring on the package multitask: generators with a queue between neighbours."""

import sys
import time

from rtmplite3.multitask import Queue, TaskManager

import arguments
from arguments import one_of, report, whole_number

MODULUS = 2147483647


def rings(manager, nodes, messages, capacity, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = yield ring(manager, nodes, messages, capacity, token, trace, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


def ring(manager, nodes, messages, capacity, token, trace, hold, checksum, order):
    start = time.monotonic_ns()
    done = Queue()
    arrived = Queue() if token else None
    first = inbox = Queue(maxsize=capacity)
    for i in range(1, nodes):
        outbox = Queue(maxsize=capacity)
        manager.add(relay(i, inbox, outbox, trace))
        inbox = outbox
    manager.add(last(nodes, inbox, arrived, done, trace, checksum, order))
    yield  # every task runs up to its first get
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        yield first.put(r)
        if arrived is not None:
            yield arrived.get()
    end, checksum, order = yield done.get()
    report(f"::phase name=relay ns={end - start}")
    return checksum, order


def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator = terminator_of(i)
    while True:
        value = yield inbox.get()
        if trace:
            if value > terminator:
                print(f": Proc: {i}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {i}, Seq#: {i}, Msg#: terminate!")
        yield outbox.put(value + i)
        if value == terminator:
            return


def last(n, inbox, arrived, done, trace, checksum, order):
    """Unit N: puts when the last message came, and the evidence so far."""
    terminator = terminator_of(n)
    while True:
        value = yield inbox.get()
        checksum += value
        order = (31 * order + value) % MODULUS
        if trace:
            if value > terminator:
                print(f"> Proc: {n}, Seq#: {n}, Msg#: {value - terminator} ..")
            else:
                print(f"@ Proc: {n}, Seq#: {n}, ring terminated.")
        if arrived is not None:
            yield arrived.put(value)
        if value == terminator:
            yield done.put((time.monotonic_ns(), checksum, order))
            return


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before
    have added their numbers."""
    return i * (i - 1) // 2


def settings():
    given = arguments.read()
    return {
        "nodes": whole_number(given, "nodes", "", 2),
        "messages": whole_number(given, "messages", "", 1),
        "capacity": capacity_of(given),
        "token": one_of(given, "mode", "pipelined", ["pipelined", "token"]) == "token",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def capacity_of(given):
    """Places in a queue; 0, the library's default, is no bound."""
    text = one_of(given, "capacity", "own", ["own", "1", "30", "1000", "unbounded"])
    return 0 if text in ("own", "unbounded") else int(text)


def main():
    manager = TaskManager()
    manager.add(rings(manager, **settings()))
    manager.run()


if __name__ == "__main__":
    main()
