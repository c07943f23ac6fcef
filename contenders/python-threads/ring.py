"""The ring on threads with a queue between neighbours."""

import sys
import threading
import time
from queue import Queue

import arguments
from arguments import complain, one_of, report, whole_number

MODULUS = 2147483647


def rings(nodes, messages, capacity, token, trace, hold, repeats):
    """One ring after another; the evidence goes on."""
    checksum = order = 0
    for _ in range(repeats):
        checksum, order = ring(nodes, messages, capacity, token, trace, hold, checksum, order)
        hold = False  # It is meant for the first one only.
    report(f"::result checksum={checksum} order={order}")


def ring(nodes, messages, capacity, token, trace, hold, checksum, order):
    start = time.monotonic_ns()
    done = Queue()
    arrived = threading.Semaphore(0) if token else None
    first = inbox = Queue(capacity)
    units = []
    for i in range(1, nodes):
        outbox = Queue(capacity)
        units.append(spawn(relay, i, inbox, outbox, trace))
        inbox = outbox
    units.append(spawn(last, nodes, inbox, arrived, done, trace, checksum, order))
    report(f"::phase name=spawn ns={time.monotonic_ns() - start}")
    if hold:
        report("::await name=spawned")
        sys.stdin.readline()

    start = time.monotonic_ns()
    for r in reversed(range(messages)):
        first.put(r)
        if arrived:
            arrived.acquire()
    end, checksum, order = done.get()
    report(f"::phase name=relay ns={end - start}")
    for unit in units:
        unit.join()
    return checksum, order


def spawn(function, *arguments):
    # Daemons: when the program has to give up, waiting threads do not hold it back.
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    terminator = terminator_of(i)
    name = threading.get_native_id()
    while True:
        value = inbox.get()
        if trace:
            if value > terminator:
                write(f": Proc: {name}, Seq#: {i}, Msg#: {value - terminator} ..")
            else:
                write(f"* Proc: {name}, Seq#: {i}, Msg#: terminate!")
        outbox.put(value + i)
        if value == terminator:
            return


def last(n, inbox, arrived, done, trace, checksum, order):
    """Unit N: puts when the last message came, and the evidence so far."""
    terminator = terminator_of(n)
    name = threading.get_native_id()
    while True:
        value = inbox.get()
        checksum += value
        order = (31 * order + value) % MODULUS
        if trace:
            if value > terminator:
                write(f"> Proc: {name}, Seq#: {n}, Msg#: {value - terminator} ..")
            else:
                write(f"@ Proc: {name}, Seq#: {n}, ring terminated.")
        if arrived:
            arrived.release()
        if value == terminator:
            done.put((time.monotonic_ns(), checksum, order))
            return


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before
    have added their numbers."""
    return i * (i - 1) // 2


output_lock = threading.Lock()


def write(line):
    with output_lock:  # print() writes the line and its end apart
        print(line)


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
    given = settings()
    try:
        rings(**given)
    except (RuntimeError, MemoryError) as error:
        complain(f"{threading.active_count()} threads, and no more: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
