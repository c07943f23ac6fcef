"""The accounts as tasklets of one thread: a transfer does not yield, so no other tasklet runs in its middle."""

from accounting import OPENING_BALANCE, TIMED, Problem, clock
from tasklets import channel, run, schedule, tasklet


class Bank:
    """The balances. Nothing else runs between two turns, so no lock is needed."""

    def __init__(self, accounts):
        self.accounts = [OPENING_BALANCE] * accounts

    def transfer(self, source, target, amount):
        self.accounts[source] -= amount
        self.accounts[target] += amount

    def balances(self):
        return self.accounts.copy()


def audit(number, bank, books, questions):
    """Adds up all accounts for each unit that asks."""
    while (answer := questions.receive()) is not None:
        total = sum(bank.balances())
        books.audited(number, total)
        answer.send(total)


def work(unit, problem, bank, books, auditors, done):
    """A unit makes its transfers. After every so many of them it waits for an audit."""
    answer, number, turn, every = channel(), 0, unit, problem.every
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
            auditors[turn % len(auditors)].send(answer)
            answer.receive()
            books.audit_ns.append(clock() - begin)
            turn += 1
        else:
            schedule()
    problem.finished += number
    done.send(unit)


def main(problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        auditors, done = [channel() for _ in range(problem.auditors)], channel()
        for number, questions in enumerate(auditors):
            tasklet(audit)(number, bank, books, questions)
        for unit in range(problem.units):
            tasklet(work)(unit, problem, bank, books, auditors, done)
        for _ in range(problem.units):
            done.receive()
        for questions in auditors:
            questions.send(None)
        run()  # Auditors come to their ends.
        books.end(bank)
    books.report_result()


if __name__ == "__main__":
    main(Problem())
