"""The ring on asyncio tasks with a queue between neighbours."""

import asyncio
import sys
import time

import arguments
import loop
from arguments import one_of, report, whole_number

MODULUS = 2147483647


async def rings(nodes, messages, capacity, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = await ring(nodes, messages, capacity, token, trace, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


async def ring(nodes, messages, capacity, token, trace, hold, checksum, order):
    start = time.monotonic_ns()
    arrived = asyncio.Semaphore(0) if token else None
    first = inbox = asyncio.Queue(capacity)
    tasks = []
    for i in range(1, nodes):
        outbox = asyncio.Queue(capacity)
        tasks.append(asyncio.create_task(relay(i, inbox, outbox, trace)))
        inbox = outbox
    last = asyncio.create_task(last_unit(nodes, inbox, arrived, trace, checksum, order))
    await asyncio.sleep(0)  # every task runs up to its first receive
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        await first.put(r)
        if arrived:
            await arrived.acquire()
    end, checksum, order = await last
    report(f"::phase name=relay ns={end - start}")
    await asyncio.gather(*tasks)
    return checksum, order


async def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator = terminator_of(i)
    name = asyncio.current_task().get_name()
    while True:
        value = await inbox.get()
        if trace:
            if value > terminator:
                print(f": Proc: {name}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                print(f"* Proc: {name}, Seq#: {i}, Msg#: terminate!")
        await outbox.put(value + i)
        if value == terminator:
            return


async def last_unit(n, inbox, arrived, trace, checksum, order):
    """Unit N: returns when the last message came, and the evidence so far."""
    terminator = terminator_of(n)
    name = asyncio.current_task().get_name()
    while True:
        value = await inbox.get()
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


if __name__ == "__main__":
    loop.run(rings(**settings()))
