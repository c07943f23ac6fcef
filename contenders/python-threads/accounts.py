"""The accounts as threads: each account has a lock, and a transfer takes those of its two accounts in their
order. With `sharing=one-lock` all accounts have one lock."""

import os
import signal
import threading
from queue import SimpleQueue

from accounting import OPENING_BALANCE, TIMED, Problem, clock
from arguments import complain


class Account:
    __slots__ = ("balance", "lock")

    def __init__(self):
        self.balance = OPENING_BALANCE
        self.lock = threading.Lock()


class LockForEach:
    """A unit takes several locks in the order of the accounts, so that no two wait for each other."""

    def __init__(self, accounts):
        self.accounts = [Account() for _ in range(accounts)]

    def transfer(self, source, target, amount):
        accounts = self.accounts
        first, second = (source, target) if source < target else (target, source)
        with accounts[first].lock, accounts[second].lock:
            accounts[source].balance -= amount
            accounts[target].balance += amount

    def balances(self):
        for account in self.accounts:
            account.lock.acquire()
        result = [account.balance for account in self.accounts]
        for account in self.accounts:
            account.lock.release()
        return result


class OneLock:
    def __init__(self, accounts):
        self.accounts = [OPENING_BALANCE] * accounts
        self.lock = threading.Lock()

    def transfer(self, source, target, amount):
        with self.lock:
            self.accounts[source] -= amount
            self.accounts[target] += amount

    def balances(self):
        with self.lock:
            return self.accounts.copy()


BANKS = {"lock-for-each": LockForEach, "one-lock": OneLock}


class Auditor(threading.Thread):
    """Adds up all accounts for each unit that asks."""

    def __init__(self, number, bank, books, lock):
        super().__init__(daemon=True)
        self.number, self.bank, self.books, self.lock = number, bank, books, lock
        self.inbox = SimpleQueue()
        self.start()

    def run(self):
        while (answer := self.inbox.get()) is not None:
            total = sum(self.bank.balances())
            with self.lock:
                self.books.audited(self.number, total)
            answer.put(total)


def work(unit, problem, bank, books, lock, auditors):
    """A unit makes its transfers. After every so many of them it waits for an audit."""
    transfer_ns, audit_ns = [], []
    answer, turn, every = SimpleQueue(), unit, problem.every
    number = 0
    for source, target, amount in problem.transfers_of(unit):
        if number % TIMED:
            bank.transfer(source, target, amount)
        else:
            begin = clock()
            bank.transfer(source, target, amount)
            transfer_ns.append(clock() - begin)
        number += 1
        if number % every == 0:
            with lock:
                books.counted += every
            begin = clock()
            auditors[turn % len(auditors)].inbox.put(answer)
            answer.get()
            audit_ns.append(clock() - begin)
            turn += 1
    with lock:
        problem.finished += number
        books.transfer_ns.extend(transfer_ns)
        books.audit_ns.extend(audit_ns)


def run(problem):
    for _ in range(problem.repeats):
        bank, lock = BANKS[problem.kind](problem.accounts), threading.Lock()
        books = problem.books()
        auditors = [Auditor(number, bank, books, lock) for number in range(problem.auditors)]
        shared = (problem, bank, books, lock, auditors)
        units = [threading.Thread(target=work, args=(unit, *shared), daemon=True) for unit in range(problem.units)]
        for unit in units:
            unit.start()
        for unit in units:
            unit.join()
        for auditor in auditors:
            auditor.inbox.put(None)
            auditor.join()
        books.end(bank)
    books.report_result()


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    problem = Problem(kinds=tuple(BANKS))
    try:
        run(problem)
    except OSError as error:
        complain(f"nothing can be written: {error.strerror}")
        os._exit(1)
    except (RuntimeError, MemoryError) as error:
        complain(f"{threading.active_count()} threads, and no more: {error}")
        os._exit(1)


if __name__ == "__main__":
    main()
