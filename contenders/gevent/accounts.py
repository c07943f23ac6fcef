"""The accounts as gevent's greenlets on one loop: a transfer waits for nothing, so no other greenlet runs in its
middle."""

import os
import signal

import gevent
from gevent.event import AsyncResult
from gevent.queue import SimpleQueue

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


class Auditor(gevent.Greenlet):
    """Adds up all accounts for each unit that asks."""

    def __init__(self, number, bank, books):
        super().__init__()
        self.number, self.bank, self.books = number, bank, books
        self.questions = SimpleQueue()
        self.start()

    def ask(self):
        answer = AsyncResult()
        self.questions.put(answer)
        return answer.get()

    def _run(self):
        while (answer := self.questions.get()) is not None:
            total = sum(self.bank.balances())
            self.books.audited(self.number, total)
            answer.set(total)


def work(unit, problem, bank, books, auditors):
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
            auditors[turn % len(auditors)].ask()
            books.audit_ns.append(clock() - begin)
            turn += 1
        else:
            gevent.sleep(0)
    problem.finished += number


def run(problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        auditors = [Auditor(number, bank, books) for number in range(problem.auditors)]
        units = [gevent.spawn(work, unit, problem, bank, books, auditors) for unit in range(problem.units)]
        gevent.joinall(units, raise_error=True)
        for auditor in auditors:
            auditor.questions.put(None)
        gevent.joinall(auditors, raise_error=True)
        books.end(bank)
    books.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    problem = Problem()
    try:
        run(problem)
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
