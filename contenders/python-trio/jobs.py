"""The background jobs as Trio's tasks, with a capacity limiter; what computes does so in AnyIO's worker
processes. The heart beats in a task of its own."""

import functools
import os
import signal
import sys

import anyio
import trio
from anyio import BrokenWorkerProcess, to_process

import arguments
from arguments import complain, one_of, report, whole_number
from heartbeat import Heart, clock

MODULUS = 2147483647
FACTOR = 48271


async def run(count, sleep_s, rounds, places, processes, hold, trace, seed, alone, repeats):
    pool = anyio.CapacityLimiter(processes) if processes else None
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = compute(last - 1, 0, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = await in_background(
            count, sleep_s, rounds, places, pool, hold, trace, seed, order, beats
        )
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


async def in_background(count, sleep_s, rounds, places, pool, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    places = Places(places)
    answers = [None] * count
    async with trio.open_nursery() as beating:
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(job, places, pool, seed, number, sleep_s, rounds, answers)
            submitted = clock()
            report(f"::phase name=submit ns={submitted - begin}")
            heart = Heart(submitted)
            beating.start_soon(beat, heart)
            if hold:
                report("::await name=submitted")
                await trio.to_thread.run_sync(wait_for_line)
        # A nursery ends when the last of its tasks has ended.
        end = clock()
        report(f"::phase name=makespan ns={end - begin}")
        heart.look_back(end)
        beating.cancel_scope.cancel()

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, (place, began, ended) in answers:
        order = (31 * order + value) % MODULUS
        if trace:
            report(f"::span unit={place} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


class Places:
    """A limiter whose places have numbers."""

    def __init__(self, count):
        self.limiter = trio.CapacityLimiter(count)
        self.free = list(reversed(range(count)))


async def job(places, pool, seed, number, sleep_s, rounds, answers):
    """Leaves a job's answer, and where it was made, from when, until when."""
    async with places.limiter:
        place = places.free.pop()
        if pool:
            # If one of them fails, the nursery cancels the others, which ends their processes.
            value, begin, end = await to_process.run_sync(
                timed, seed, number, rounds, cancellable=True, limiter=pool
            )
        else:
            begin = clock()
            if sleep_s is not None:
                await trio.sleep(sleep_s)
            value = compute(seed, number, rounds)
            end = clock()
        answers[number] = value, (place, begin, end)
        places.free.append(place)


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
        await trio.sleep(heart.patience_s())
        heart.beat_if_due()


def wait_for_line():
    if sys.stdin is not None:  # It was not closed before the program began.
        sys.stdin.readline()


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


def main():
    given = settings()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    try:
        trio.run(functools.partial(run, **given))
    except* BrokenWorkerProcess:
        complain("a worker was killed")
        os._exit(1)
    except* OSError as errors:
        complain(f"no answer can be written: {errors.exceptions[0]}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
