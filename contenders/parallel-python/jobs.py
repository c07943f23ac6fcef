"""The background jobs on Parallel Python. The heart beats in a thread of its own."""

import os
import sys
import threading
import time

import ppft

import arguments
from arguments import one_of, report, whole_number
from heartbeat import Heart, clock
from workers import Workers


def run(workers, count, processes, sleep_s, rounds, hold, trace, seed, alone, repeats):
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = work(last - 1, 0, sleep_s, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = in_background(
            workers, count, processes, sleep_s, rounds, hold, trace, seed, order, beats
        )
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


def in_background(workers, count, processes, sleep_s, rounds, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    # The workers get functions as text, with those that they call and the names of the modules.
    job = ppft.Template(workers.start(processes), timed_work, (work,), ("os", "time"))
    under_way = [job.submit(seed, number, sleep_s, rounds, trace) for number in range(count)]
    submitted = clock()
    report(f"::phase name=submit ns={submitted - begin}")
    heart = Heart(submitted)
    over = threading.Event()
    beating = threading.Thread(target=beat, args=(heart, over), daemon=True)
    beating.start()
    if hold:
        wait_for_line()
    answers = [answer() for answer in under_way]
    end = clock()
    report(f"::phase name=makespan ns={end - begin}")
    over.set()
    beating.join()
    heart.look_back(end)
    workers.end()

    report(f"::phase name=gap ns={heart.gap_ns}")
    for value, span in answers:
        order = (31 * order + value) % 2147483647
        if trace:
            unit, began, ended = span
            report(f"::span unit={unit} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


# The workers have these two, with what they are sent with, and nothing else of this file.


def timed_work(seed, number, sleep_s, rounds, trace):
    """A job's answer; with `trace` also who worked, from when, until when."""
    begin = time.monotonic_ns()
    answer = work(seed, number, sleep_s, rounds)
    return answer, (os.getpid(), begin, time.monotonic_ns()) if trace else None


def work(seed, number, sleep_s, rounds):
    x = 1 + (seed + number) % 2147483646
    if sleep_s is not None:
        time.sleep(sleep_s)
    for _ in range(rounds):
        x = 48271 * x % 2147483647
    return x


def beat(heart, over):
    while not over.wait(heart.patience_s()):
        heart.beat_if_due()


def wait_for_line():
    report("::await name=submitted")
    if sys.stdin is not None:  # It was not closed before the program began.
        sys.stdin.readline()


def settings():
    given = arguments.read()
    kind = one_of(given, "kind", "", ["sleep", "cpu", "noop"])
    duration_ms = whole_number(given, "duration_ms", "1000", 0, 3_600_000)
    rounds = whole_number(given, "rounds", "1000000", 1)
    whole_number(given, "cores", "1", 1)  # The kernel divides them among the workers.
    return {
        "count": whole_number(given, "jobs", "", 1, 1_000_000),
        "sleep_s": duration_ms / 1000 if kind == "sleep" else None,
        "rounds": rounds if kind == "cpu" else 1,
        "alone": 5 if kind == "cpu" else 0,
        "processes": whole_number(given, "workers", "", 1, 1024),
        "hold": one_of(given, "hold", "0", ["0", "1"]) == "1",
        "trace": one_of(given, "trace", "0", ["0", "1"]) == "1",
        "seed": whole_number(given, "seed", "0", 0, 4_294_967_295),
        "repeats": whole_number(given, "repeats", "1", 1, 3000),
    }


def main():
    given = settings()
    workers = Workers()
    try:
        run(workers, **given)
    except OSError as error:
        workers.give_up(1, f"no answer can be written: {error.strerror}")


if __name__ == "__main__":
    main()
