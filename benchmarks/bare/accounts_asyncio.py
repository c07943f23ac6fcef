"""accounts_asyncio.py ACCOUNTS UNITS TRANSFERS EVERY: transfers between accounts of one thread, and now and then their
sum, by a task that units ask. Prints the nanoseconds it took and what the balances come to."""

import asyncio
import sys
import time

MODULUS = 2147483647


async def work(accounts, x, transfers, every, questions):
    count, others = len(accounts), len(accounts) - 1
    for number in range(1, transfers + 1):
        x = 48271 * x % MODULUS
        amount = 1 + x % 1000
        x = 48271 * x % MODULUS
        source = x % count
        x = 48271 * x % MODULUS
        target = x % others
        if target >= source:
            target += 1
        accounts[source] -= amount
        accounts[target] += amount
        if number % every:
            await asyncio.sleep(0)
        else:
            answer = asyncio.get_running_loop().create_future()
            questions.put_nowait(answer)
            assert await answer == 1000 * count


async def add_up(accounts, questions):
    while True:
        answer = await questions.get()
        answer.set_result(sum(accounts))


async def main():
    count, units, transfers, every = map(int, sys.argv[1:])
    accounts = [1000] * count
    begin = time.monotonic_ns()
    questions = asyncio.Queue()
    adding = asyncio.create_task(add_up(accounts, questions))
    working = [work(accounts, 1 + unit, transfers, every, questions) for unit in range(units)]
    await asyncio.gather(*working)
    adding.cancel()
    elapsed = time.monotonic_ns() - begin
    fold = 0
    for balance in accounts:
        fold = (31 * fold + balance % MODULUS) % MODULUS
    print(elapsed, fold)


asyncio.run(main())
