"""The ring on tasklets with a channel between neighbours."""

import sys
import time

from greenlet import getcurrent

import arguments
from arguments import one_of, report, whole_number
from tasklets import channel, run, schedule, tasklet

MODULUS = 2147483647


def rings(nodes, messages, token, trace, unit, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = ring(nodes, messages, token, trace, unit, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


def ring(nodes, messages, token, trace, unit, hold, checksum, order):
    start = time.monotonic_ns()
    done = channel()
    arrived = channel() if token else None
    first = inbox = channel()
    for i in range(1, nodes):
        outbox = channel()
        tasklet(unit)(i, inbox, outbox, trace)
        inbox = outbox
    tasklet(last)(nodes, inbox, arrived, done, trace, checksum, order)
    schedule()  # every tasklet runs up to its first receive
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        first.send(r)
        if arrived is not None:
            arrived.receive()
    end, checksum, order = done.receive()
    report(f"::phase name=relay ns={end - start}")
    run()  # the units come to their ends
    return checksum, order


def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator, own = terminator_of(i), name()
    while True:
        value = inbox.receive()
        if trace:
            if value > terminator:
                print(f": Proc: {own}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {own}, Seq#: {i}, Msg#: terminate!")
        outbox.send(value + i)
        if value == terminator:
            return


def relay_first(i, inbox, outbox, trace):
    """The same, but it sends before it prints, as in the post of 2009."""
    terminator, own = terminator_of(i), name()
    while True:
        value = inbox.receive()
        outbox.send(value + i)
        if trace:
            if value > terminator:
                print(f": Proc: {own}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {own}, Seq#: {i}, Msg#: terminate!")
        if value == terminator:
            return


def last(n, inbox, arrived, done, trace, checksum, order):
    """Unit N: sends when the last message came, and the evidence so far."""
    terminator, own = terminator_of(n), name()
    while True:
        value = inbox.receive()
        checksum += value
        order = (31 * order + value) % MODULUS
        if trace:
            if value > terminator:
                print(f"> Proc: {own}, Seq#: {n}, Msg#: {value - terminator} ..")
            else:
                print(f"@ Proc: {own}, Seq#: {n}, ring terminated.")
        if arrived is not None:
            arrived.send(value)
        if value == terminator:
            done.send((time.monotonic_ns(), checksum, order))
            return


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before
    have added their numbers."""
    return i * (i - 1) // 2


def name():
    return f"{id(getcurrent()):x}"


def settings():
    given = arguments.read()
    one_of(given, "capacity", "own", ["own", "0"])  # A channel has no place.
    return {
        "nodes": whole_number(given, "nodes", "", 2),
        "messages": whole_number(given, "messages", "", 1),
        "token": one_of(given, "mode", "pipelined", ["pipelined", "token"]) == "token",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "unit": relay if one_of(given, "line", "before", ["before", "after"]) == "before" else relay_first,
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


if __name__ == "__main__":
    rings(**settings())
