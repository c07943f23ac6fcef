"""The background jobs in a pool of gevent's greenlets. The heart beats in the main greenlet."""

import os
import signal
import sys

import gevent
from gevent.pool import Pool
from gevent.threadpool import ThreadPool

import arguments
from arguments import complain, one_of, report, whole_number
from heartbeat import Heart, clock

MODULUS = 2147483647
FACTOR = 48271


def run(count, sleep_s, rounds, workers, hold, trace, seed, alone, repeats):
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = work(last - 1, 0, sleep_s, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = in_background(count, sleep_s, rounds, workers, hold, trace, seed, order, beats)
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


def in_background(count, sleep_s, rounds, workers, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    places = list(reversed(range(workers)))

    def job(number):
        """A job's answer, and where it was made, from when, until when."""
        place = places.pop()
        began = clock()
        value = work(seed, number, sleep_s, rounds)
        ended = clock()
        places.append(place)
        return value, (place, began, ended)

    # Another greenlet hands the jobs over, of which the pool takes so many at one time.
    results = Pool(workers).imap(job, range(count))
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

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, (place, began, ended) in answers:
        order = (31 * order + value) % MODULUS
        if trace:
            report(f"::span unit={place} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


def work(seed, number, sleep_s, rounds):
    x = 1 + (seed + number) % (MODULUS - 1)
    if sleep_s is not None:
        gevent.sleep(sleep_s)
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
    whole_number(given, "cores", "1", 1)  # Of no use: there is one loop.
    return {
        "count": whole_number(given, "jobs", "", 1, 1_000_000),
        "sleep_s": duration_ms / 1000 if kind == "sleep" else None,
        "rounds": rounds if kind == "cpu" else 1,
        "alone": 5 if kind == "cpu" else 0,
        "workers": whole_number(given, "workers", "", 1, 1024),
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "seed": whole_number(given, "seed", "0", 0, 4_294_967_295),
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        run(**given)
    except OSError as error:
        complain(f"no answer can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
