"""The accounts as generators of one thread: a transfer yields nothing, so no other generator runs in its middle."""

from accounting import OPENING_BALANCE, TIMED, Problem, clock
from multitask import Queue, TaskManager, sleep


class Bank:
    """The balances. Nothing else runs between two turns, so no lock is needed."""

    def __init__(self, accounts):
        self.accounts = [OPENING_BALANCE] * accounts

    def transfer(self, source, target, amount):
        self.accounts[source] -= amount
        self.accounts[target] += amount

    def balances(self):
        return self.accounts.copy()


def audit(number, bank, books, questions, done):
    """Adds up all accounts for each unit that asks."""
    while (answer := (yield questions.get())) is not None:
        total = sum(bank.balances())
        books.audited(number, total)
        yield answer.put(total)
    yield done.put(number)


def work(unit, problem, bank, books, auditors, done):
    """A unit makes its transfers. After every so many of them it waits for an audit."""
    answer, number, turn, every = Queue(), 0, unit, problem.every
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
            yield auditors[turn % len(auditors)].put(answer)
            yield answer.get()
            books.audit_ns.append(clock() - begin)
            turn += 1
        else:
            yield sleep(0)
    problem.finished += number
    yield done.put(unit)


def run(manager, problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        auditors, done = [Queue() for _ in range(problem.auditors)], Queue()
        for number, questions in enumerate(auditors):
            manager.add(audit(number, bank, books, questions, done))
        for unit in range(problem.units):
            manager.add(work(unit, problem, bank, books, auditors, done))
        for _ in range(problem.units):
            yield done.get()
        for questions in auditors:
            yield questions.put(None)
        for _ in auditors:
            yield done.get()
        books.end(bank)
    books.report_result()


def main():
    manager = TaskManager()
    manager.add(run(manager, Problem()))
    manager.run()


if __name__ == "__main__":
    main()
