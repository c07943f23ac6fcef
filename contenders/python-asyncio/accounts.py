"""The accounts as asyncio tasks on one loop: a transfer awaits nothing, so no other task runs in its middle."""

import asyncio
import os
import signal

import loop
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


class Auditor:
    """A task that adds up all accounts for each unit that asks."""

    def __init__(self, number, bank, books):
        self.number, self.bank, self.books = number, bank, books
        self.questions = asyncio.Queue()
        self.task = asyncio.create_task(self.work())

    async def ask(self):
        answer = asyncio.get_running_loop().create_future()
        self.questions.put_nowait(answer)
        return await answer

    async def work(self):
        while (answer := await self.questions.get()) is not None:
            total = sum(self.bank.balances())
            self.books.audited(self.number, total)
            answer.set_result(total)


async def work(unit, problem, bank, books, auditors):
    """A unit makes its transfers. After every so many of them it waits for an audit."""
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
            await auditors[turn % len(auditors)].ask()
            books.audit_ns.append(clock() - begin)
            turn += 1
        else:
            await asyncio.sleep(0)
    problem.finished += number


async def run(problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        auditors = [Auditor(number, bank, books) for number in range(problem.auditors)]
        await asyncio.gather(*(work(unit, problem, bank, books, auditors) for unit in range(problem.units)))
        for auditor in auditors:
            auditor.questions.put_nowait(None)
            await auditor.task
        books.end(bank)
    books.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    problem = Problem()
    try:
        loop.run(run(problem))
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
