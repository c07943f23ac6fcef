"""The background jobs as asyncio tasks, with a semaphore; what computes does so in a pool of processes. The
heart beats in a task of its own."""

import asyncio
import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool

import arguments
import loop
import workers
from arguments import complain, one_of, report, whole_number
from heartbeat import Heart, clock

MODULUS = 2147483647
FACTOR = 48271


async def run(count, sleep_s, rounds, places, processes, hold, trace, seed, alone, repeats):
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = compute(last - 1, 0, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = await in_background(
            count, sleep_s, rounds, places, processes, hold, trace, seed, order, beats
        )
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


async def in_background(count, sleep_s, rounds, places, processes, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    places = Places(places)
    pool = workers.start(processes) if processes else None
    tasks = [asyncio.create_task(job(places, pool, seed, number, sleep_s, rounds)) for number in range(count)]
    submitted = clock()
    report(f"::phase name=submit ns={submitted - begin}")
    heart = Heart(submitted)
    beating = asyncio.create_task(beat(heart))
    if hold:
        await wait_for_line()
    answers = [await task for task in tasks]
    end = clock()
    report(f"::phase name=makespan ns={end - begin}")
    heart.look_back(end)
    beating.cancel()
    if pool:
        workers.shut_down(pool)

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, (place, began, ended) in answers:
        order = (31 * order + value) % MODULUS
        if trace:
            report(f"::span unit={place} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


class Places:
    """A semaphore that says which of its places one has got."""

    def __init__(self, count):
        self._semaphore = asyncio.Semaphore(count)
        self._free = list(reversed(range(count)))

    async def take(self):
        await self._semaphore.acquire()
        return self._free.pop()

    def give_back(self, place):
        self._free.append(place)
        self._semaphore.release()


async def job(places, pool, seed, number, sleep_s, rounds):
    """A job's answer, and where it was made, from when, until when."""
    place = await places.take()
    if pool:
        in_pool = asyncio.get_running_loop().run_in_executor
        try:
            answer, begin, end = await in_pool(pool, timed, seed, number, rounds)
        except BrokenProcessPool:
            give_up("a worker was killed")
    else:
        begin = clock()
        if sleep_s is not None:
            await asyncio.sleep(sleep_s)
        answer = compute(seed, number, rounds)
        end = clock()
    places.give_back(place)
    return answer, (place, begin, end)


def timed(seed, number, rounds):
    """In a worker: a job's answer, from when, until when."""
    begin = clock()
    return compute(seed, number, rounds), begin, clock()


def compute(seed, number, rounds):
    x = 1 + (seed + number) % (MODULUS - 1)
    for _ in range(rounds):
        x = FACTOR * x % MODULUS
    return x


async def beat(heart):
    while True:
        await asyncio.sleep(heart.patience_s())
        heart.beat_if_due()


async def wait_for_line():
    report("::await name=submitted")
    if sys.stdin is not None:  # It was not closed before the program began.
        await asyncio.to_thread(sys.stdin.readline)


def settings():
    given = arguments.read()
    kind = one_of(given, "kind", "", ["sleep", "cpu", "noop"])
    duration_ms = whole_number(given, "duration_ms", "1000", 0, 3_600_000)
    rounds = whole_number(given, "rounds", "1000000", 1)
    cores = whole_number(given, "cores", "1", 1)
    places = whole_number(given, "workers", "", 1, 1024)
    # A process for each core: more would share them. What waits needs none.
    processes = min(places, cores) if kind == "cpu" else 0
    return {
        "count": whole_number(given, "jobs", "", 1, 1_000_000),
        "sleep_s": duration_ms / 1000 if kind == "sleep" else None,
        "rounds": rounds if kind == "cpu" else 1,
        "alone": 5 if kind == "cpu" else 0,
        "places": processes or places,
        "processes": processes,
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "seed": whole_number(given, "seed", "0", 0, 4_294_967_295),
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def give_up(why):
    complain(why)
    workers.kill()
    os._exit(1)  # At once, whatever is under way.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        loop.run(run(**given))
    except OSError as error:
        give_up(f"no answer can be written, or no worker started: {error.strerror}")


if __name__ == "__main__":
    main()
