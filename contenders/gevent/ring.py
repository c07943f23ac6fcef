"""The ring on gevent's greenlets, with a queue between neighbours."""

import sys
import time

import gevent
from gevent.lock import Semaphore
from gevent.queue import Channel, Queue

import arguments
from arguments import one_of, report, whole_number

MODULUS = 2147483647


def rings(nodes, messages, new_queue, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = ring(nodes, messages, new_queue, token, trace, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


def ring(nodes, messages, new_queue, token, trace, hold, checksum, order):
    start = time.monotonic_ns()
    arrived = Semaphore(0) if token else None
    first = inbox = new_queue()
    units = []
    for i in range(1, nodes):
        outbox = new_queue()
        units.append(gevent.spawn(relay, i, inbox, outbox, trace))
        inbox = outbox
    last = gevent.spawn(last_unit, nodes, inbox, arrived, trace, checksum, order)
    gevent.sleep(0)  # every greenlet runs up to its first receive
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        first.put(r)
        if arrived:
            arrived.acquire()
    end, checksum, order = last.get()
    report(f"::phase name=relay ns={end - start}")
    gevent.joinall(units)
    return checksum, order


def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator = terminator_of(i)
    name = gevent.getcurrent().name if trace else ""
    while True:
        value = inbox.get()
        if trace:
            if value > terminator:
                print(f": Proc: {name}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {name}, Seq#: {i}, Msg#: terminate!")
        outbox.put(value + i)
        if value == terminator:
            return


def last_unit(n, inbox, arrived, trace, checksum, order):
    """Unit N: returns when the last message came, and the evidence so far."""
    terminator = terminator_of(n)
    name = gevent.getcurrent().name if trace else ""
    while True:
        value = inbox.get()
        checksum += value
        order = (31 * order + value) % MODULUS
        if trace:
            if value > terminator:
                print(f"> Proc: {name}, Seq#: {n}, Msg#: {value - terminator} ..")
            else:
                print(f"@ Proc: {name}, Seq#: {n}, ring terminated.")
        if arrived:
            arrived.release()
        if value == terminator:
            return time.monotonic_ns(), checksum, order


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before have added their numbers."""
    return i * (i - 1) // 2


def settings():
    given = arguments.read()
    return {
        "nodes": whole_number(given, "nodes", "", 2),
        "messages": whole_number(given, "messages", "", 1),
        "new_queue": queue_of(given),
        "token": one_of(given, "mode", "pipelined", ["pipelined", "token"]) == "token",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def queue_of(given):
    """Makes a queue; the library's default has no bound."""
    text = one_of(given, "capacity", "own", ["own", "0", "1", "30", "1000", "unbounded"])
    if text == "0":
        return Channel
    places = None if text in ("own", "unbounded") else int(text)
    return lambda: Queue(places)


if __name__ == "__main__":
    rings(**settings())
