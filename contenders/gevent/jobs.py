"""The background jobs in a pool of gevent's greenlets; what computes does so in a pool of processes. The heart
beats in a greenlet of its own."""

import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool

import gevent
from gevent.pool import Pool
from gevent.threadpool import ThreadPool

import arguments
import workers
from arguments import complain, one_of, report, whole_number
from heartbeat import Heart, clock

MODULUS = 2147483647
FACTOR = 48271


def run(count, sleep_s, rounds, places, processes, hold, trace, seed, alone, repeats):
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = compute(last - 1, 0, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = in_background(
            count, sleep_s, rounds, places, processes, hold, trace, seed, order, beats
        )
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


def in_background(count, sleep_s, rounds, places, processes, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    free = list(reversed(range(places)))
    pool = workers.start(processes) if processes else None
    # A future's wait blocks its thread. These let the hub go on.
    waiting = ThreadPool(places) if pool else None

    def job(number):
        """A job's answer, and where it was made, from when, until when."""
        place = free.pop()
        if pool:
            future = pool.submit(timed, seed, number, rounds)
            if isinstance(waiting.apply(future.exception), BrokenProcessPool):
                give_up("a worker was killed")
            answer, began, ended = future.result()
        else:
            began = clock()
            if sleep_s is not None:
                gevent.sleep(sleep_s)
            answer = compute(seed, number, rounds)
            ended = clock()
        free.append(place)
        return answer, (place, began, ended)

    # Another greenlet hands the jobs over; the pool takes so many at one time.
    results = Pool(places).imap(job, range(count))
    submitted = clock()
    report(f"::phase name=submit ns={submitted - begin}")
    heart = Heart(submitted)
    beating = gevent.spawn(beat, heart)
    if hold:
        report("::await name=submitted")
        if sys.stdin is not None:  # It was not closed before the program began.
            ThreadPool(1).apply(sys.stdin.readline)
    answers = list(results)
    end = clock()
    report(f"::phase name=makespan ns={end - begin}")
    heart.look_back(end)
    beating.kill()
    if pool:
        waiting.kill()
        workers.shut_down(pool)

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, (place, began, ended) in answers:
        order = (31 * order + value) % MODULUS
        if trace:
            report(f"::span unit={place} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


def timed(seed, number, rounds):
    """In a worker: a job's answer, from when, until when."""
    begin = clock()
    return compute(seed, number, rounds), begin, clock()


def compute(seed, number, rounds):
    x = 1 + (seed + number) % (MODULUS - 1)
    for _ in range(rounds):
        x = FACTOR * x % MODULUS
    return x


def beat(heart):
    while True:
        gevent.sleep(heart.patience_s())
        heart.beat_if_due()


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
        run(**given)
    except OSError as error:
        give_up(f"no answer can be written, or no worker started: {error.strerror}")


if __name__ == "__main__":
    main()
