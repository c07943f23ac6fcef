"""The ring on Trio's tasks, with a memory channel between neighbours."""

import functools
import math
import sys
import time

import trio
import trio.testing

import arguments
from arguments import one_of, report, whole_number

MODULUS = 2147483647


async def rings(nodes, messages, capacity, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    evidence = Evidence()
    for _ in range(repeats):
        await ring(nodes, messages, capacity, token, trace, hold, evidence)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={evidence.checksum} order={evidence.order}")


class Evidence:
    def __init__(self):
        self.checksum = 0
        self.order = 0
        self.end = None  # when the last message came

    def add(self, value):
        self.checksum += value
        self.order = (31 * self.order + value) % MODULUS


async def ring(nodes, messages, capacity, token, trace, hold, evidence):
    start = time.monotonic_ns()
    arrived = trio.Semaphore(0) if token else None
    async with trio.open_nursery() as nursery:
        first, inbox = trio.open_memory_channel(capacity)
        for i in range(1, nodes):
            outbox, next_inbox = trio.open_memory_channel(capacity)
            nursery.start_soon(relay, i, inbox, outbox, trace)
            inbox = next_inbox
        nursery.start_soon(last_unit, nodes, inbox, arrived, trace, evidence)
        await trio.testing.wait_all_tasks_blocked()  # every task has run up to its first receive
        report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
        if hold:
            report("::await name=spawned")
            sys.stdin.readline()

        start = time.monotonic_ns()
        for r in reversed(range(messages)):
            await first.send(r)
            if arrived:
                await arrived.acquire()
    report(f"::phase name=relay ns={evidence.end - start}")


async def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator = terminator_of(i)
    name = name_of_task() if trace else ""
    async for value in inbox:
        if trace:
            if value > terminator:
                print(f": Proc: {name}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {name}, Seq#: {i}, Msg#: terminate!")
        await outbox.send(value + i)
        if value == terminator:
            return


async def last_unit(n, inbox, arrived, trace, evidence):
    """Unit N."""
    terminator = terminator_of(n)
    name = name_of_task() if trace else ""
    async for value in inbox:
        evidence.add(value)
        if trace:
            if value > terminator:
                print(f"> Proc: {name}, Seq#: {n}, Msg#: {value - terminator} ..")
            else:
                print(f"@ Proc: {name}, Seq#: {n}, ring terminated.")
        if arrived:
            arrived.release()
        if value == terminator:
            evidence.end = time.monotonic_ns()
            return


def name_of_task():
    # Trio's tasks have the names of their functions.
    return id(trio.lowlevel.current_task())


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before have added their numbers."""
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
    """Places in a channel. Trio has no default, and advises 0."""
    text = one_of(given, "capacity", "own", ["own", "0", "1", "30", "1000", "unbounded"])
    if text == "unbounded":
        return math.inf
    return 0 if text == "own" else int(text)


if __name__ == "__main__":
    trio.run(functools.partial(rings, **settings()))
