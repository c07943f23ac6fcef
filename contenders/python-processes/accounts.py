"""The accounts as processes of `multiprocessing`: the balances are an `Array` in shared memory, which brings one lock
for all of them."""

import os
import signal
from multiprocessing import get_context

from accounting import OPENING_BALANCE, TIMED, Problem, clock
from arguments import complain

# Quick, and safe here: there is one thread.
CONTEXT = get_context("fork")


class Bank:
    def __init__(self, accounts):
        self.shared = CONTEXT.Array("q", [OPENING_BALANCE] * accounts)
        self.lock = self.shared.get_lock()
        # The list without its lock, which is held around both steps.
        self.accounts = self.shared.get_obj()

    def transfer(self, source, target, amount):
        with self.lock:
            self.accounts[source] -= amount
            self.accounts[target] += amount

    def balances(self):
        with self.lock:
            return self.accounts[:]


class Process:
    """A process that runs a function and sends its result."""

    def __init__(self, function, *arguments):
        self.result, sending = CONTEXT.Pipe(duplex=False)
        self.process = CONTEXT.Process(target=self.run, args=(sending, function, *arguments), daemon=True)
        self.process.start()
        sending.close()

    @staticmethod
    def run(sending, function, *arguments):
        sending.send(function(*arguments))

    def join(self):
        result = self.result.recv()
        self.result.close()
        self.process.join()
        return result


def audit(number, problem, bank, books, counted, questions, answers):
    """Adds up all accounts for each unit that asks. Its process has its own copy of the books."""
    problem.audits = problem.wrong = 0
    while (unit := questions.get()) is not None:
        total = sum(bank.balances())
        books.counted = counted.value
        books.audited(number, total)
        answers[unit].put(total)
    return problem.audits, problem.wrong, books.first[number], books.last[number]


def work(unit, problem, bank, books, counted, auditors, answer):
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
            with counted.get_lock():
                counted.value += every
            begin = clock()
            auditors[turn % len(auditors)].put(unit)
            answer.get()
            books.audit_ns.append(clock() - begin)
            turn += 1
    return number, books.transfer_ns, books.audit_ns


def run(problem):
    for _ in range(problem.repeats):
        bank = Bank(problem.accounts)
        books = problem.books()
        counted = CONTEXT.Value("q", 0)
        questions = [CONTEXT.SimpleQueue() for _ in range(problem.auditors)]
        answers = [CONTEXT.SimpleQueue() for _ in range(problem.units)]
        auditors = [
            Process(audit, number, problem, bank, books, counted, each, answers)
            for number, each in enumerate(questions)
        ]
        units = [
            Process(work, unit, problem, bank, books, counted, questions, answers[unit])
            for unit in range(problem.units)
        ]
        for unit in units:
            number, transfer_ns, audit_ns = unit.join()
            problem.finished += number
            books.transfer_ns.extend(transfer_ns)
            books.audit_ns.extend(audit_ns)
        for each in questions:
            each.put(None)
        for number, auditor in enumerate(auditors):
            audits, wrong, books.first[number], books.last[number] = auditor.join()
            problem.audits += audits
            problem.wrong += wrong
        books.end(bank)
    books.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    problem = Problem()
    try:
        run(problem)
    except (OSError, EOFError) as error:
        complain(f"a process ended, or no more can be started: {error}")
        os._exit(1)


if __name__ == "__main__":
    main()
