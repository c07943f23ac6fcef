"""The units of the ring, each in an interpreter of its own."""

import os
import time

from interpreters import Queue

MODULUS = 2147483647
PIECE_BYTES = 4000  # A pipe takes that much in one piece, whoever else writes.


def relay(i, inbox, outbox, trace):
    """Unit i, one of 1 … N-1."""
    inbox, outbox = Queue(inbox), Queue(outbox)
    terminator = terminator_of(i)
    name = id(inbox)
    output = Output()
    while True:
        value = inbox.get()
        if trace:
            if value > terminator:
                output.add(f": Proc: {name}, Seq#: {i}, Msg#: {value - terminator} ..\n")
            else:
                output.add(f"* Proc: {name}, Seq#: {i}, Msg#: terminate!\n")
        outbox.put(value + i)
        if value == terminator:
            output.flush()
            return


def last(n, inbox, arrived, done, token, trace, checksum, order):
    """Unit N: puts when the last message came, and the evidence so far."""
    inbox, arrived, done = Queue(inbox), Queue(arrived), Queue(done)
    terminator = terminator_of(n)
    name = id(inbox)
    output = Output()
    while True:
        value = inbox.get()
        checksum += value
        order = (31 * order + value) % MODULUS
        if trace:
            if value > terminator:
                output.add(f"> Proc: {name}, Seq#: {n}, Msg#: {value - terminator} ..\n")
            else:
                output.add(f"@ Proc: {name}, Seq#: {n}, ring terminated.\n")
        if token:
            arrived.put(True)
        if value == terminator:
            now = time.monotonic_ns()
            output.flush()
            done.put((now, checksum, order))
            return


def terminator_of(i):
    """Message 0, which ends the ring, as unit i receives it: the units before
    have added their numbers."""
    return i * (i - 1) // 2


class Output:
    """Lines that share stdout with those of other interpreters, whose buffers are others."""

    def __init__(self):
        self._lines = []
        self._size = 0

    def add(self, line):
        self._lines.append(line)
        self._size += len(line)
        if self._size > PIECE_BYTES - 100:
            self.flush()

    def flush(self):
        if self._lines:
            os.write(1, "".join(self._lines).encode())
        self._lines.clear()
        self._size = 0
