"""The accounts as Trio's tasks on one loop: a transfer awaits nothing, so no other task runs in its middle."""

import math
import os
import signal

import trio

from accounting import OPENING_BALANCE, TIMED, Problem, clock
from arguments import complain


class Bank:
    """The balances. Nothing else runs between two turns, so no lock is needed."""

    def __init__(self, accounts):
        self.accounts = [OPENING_BALANCE] * accounts

    def transfer(self, source, target, amount):
        self.accounts[source] -= amount
        self.accounts[target] += amount

    def balances(self):
        return self.accounts.copy()


async def audit(number, bank, books, questions):
    """Adds up all accounts for each unit that asks."""
    async for answer in questions:
        total = sum(bank.balances())
        books.audited(number, total)
        answer.send_nowait(total)


async def work(unit, problem, bank, books, auditors):
    """A unit makes its transfers. After every so many of them it waits for an audit."""
    answer, answers = trio.open_memory_channel(1)
    number, turn, every = 0, unit, problem.every
    for source, target, amount in problem.transfers_of(unit):
        if number % TIMED:
            bank.transfer(source, target, amount)
        else:
            begin = clock()
            bank.transfer(source, target, amount)
            books.transfer_ns.append(clock() - begin)
        number += 1
        if number % every == 0:
            books.counted += every
            begin = clock()
            auditors[turn % len(auditors)].send_nowait(answer)
            await answers.receive()
            books.audit_ns.append(clock() - begin)
            turn += 1
        else:
            await trio.lowlevel.checkpoint()
    problem.finished += number


async def run(problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        async with trio.open_nursery() as auditing:
            auditors = []
            for number in range(problem.auditors):
                sending, questions = trio.open_memory_channel(math.inf)
                auditors.append(sending)
                auditing.start_soon(audit, number, bank, books, questions)
            async with trio.open_nursery() as working:
                for unit in range(problem.units):
                    working.start_soon(work, unit, problem, bank, books, auditors)
            for sending in auditors:
                sending.close()
        books.end(bank)
    books.report_result()


def main():
    problem = Problem()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    try:
        trio.run(run, problem)
    except* OSError as errors:
        complain(f"nothing can be written: {errors.exceptions[0]}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
