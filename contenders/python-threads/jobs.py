"""The background jobs on a pool of threads. The heart beats in the main thread, between two looks."""

import os
import select
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet

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
    pool = ThreadPoolExecutor(workers)
    begin = clock()
    futures = [pool.submit(timed_work, seed, number, sleep_s, rounds, trace) for number in range(count)]
    submitted = clock()
    report(f"::phase name=submit ns={submitted - begin}")
    heart = Heart(submitted)
    if hold:
        wait_for_line(heart)
    answers = [answer_of(future, heart) for future in futures]
    end = clock()
    report(f"::phase name=makespan ns={end - begin}")
    heart.look_back(end)
    pool.shutdown()

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, span in answers:
        order = (31 * order + value) % MODULUS
        if trace:
            unit, began, ended = span
            report(f"::span unit={unit} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


def answer_of(future, heart):
    while True:
        heart.beat_if_due()
        try:
            return future.result(heart.patience_s())
        except NotYet:
            pass


def timed_work(seed, number, sleep_s, rounds, trace):
    """In a thread of the pool's: a job's answer; with `trace` also who worked, from when, until when."""
    begin = clock()
    answer = work(seed, number, sleep_s, rounds)
    return answer, (threading.get_native_id(), begin, clock()) if trace else None


def work(seed, number, sleep_s, rounds):
    x = 1 + (seed + number) % (MODULUS - 1)
    if sleep_s is not None:
        time.sleep(sleep_s)
    for _ in range(rounds):
        x = FACTOR * x % MODULUS
    return x


def wait_for_line(heart):
    report("::await name=submitted")
    if sys.stdin is None:
        return  # It was closed before the program began.
    while not select.select([sys.stdin], [], [], heart.patience_s())[0]:
        heart.beat_if_due()
    sys.stdin.readline()


def settings():
    given = arguments.read()
    kind = one_of(given, "kind", "", ["sleep", "cpu", "noop"])
    duration_ms = whole_number(given, "duration_ms", "1000", 0, 3_600_000)
    rounds = whole_number(given, "rounds", "1000000", 1)
    whole_number(given, "cores", "1", 1)  # Unused: there are `workers` threads.
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


def give_up(why):
    complain(why)
    os._exit(1)  # At once, whatever is under way.


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word, as SIGTERM does.
    given = settings()
    try:
        run(**given)
    except OSError as error:
        give_up(f"no answer can be written: {error.strerror}")
    except (MemoryError, RuntimeError) as error:
        give_up(f"{threading.active_count()} threads, and no more: {error}")


if __name__ == "__main__":
    main()
