"""The background jobs as generators. The heart beats in a task of its own."""

import os
import signal
import sys
from contextlib import suppress

import arguments
from arguments import complain, one_of, report, whole_number
from heartbeat import Heart, clock
from multitask import Queue, TaskManager, Timeout, readable, sleep

MODULUS = 2147483647
FACTOR = 48271


def run(manager, count, sleep_s, rounds, workers, hold, trace, seed, alone, repeats):
    last = seed + 1
    for _ in range(alone):
        begin = clock()
        # It begins with the answer of the one before.
        last = yield from work(last - 1, 0, sleep_s, rounds)
        report(f"::phase name=alone ns={clock() - begin}")

    order = beats = 0
    for _ in range(repeats):
        order, beats = yield from in_background(
            manager, count, sleep_s, rounds, workers, hold, trace, seed, order, beats
        )
        hold = False  # It is meant for the first time only.
    report(f"::result answers={repeats * count} order={order} beats={beats} alone={last}")


def in_background(manager, count, sleep_s, rounds, workers, hold, trace, seed, order, beats):
    """All jobs, once. Returns the order and the number of beats, which go on from those given."""
    begin = clock()
    places = Queue()  # A job that gets one may work.
    for place in range(workers):
        yield places.put(place)
    done = Queue()
    for number in range(count):
        manager.add(job(places, done, seed, number, sleep_s, rounds))
    submitted = clock()
    report(f"::phase name=submit ns={submitted - begin}")
    heart = Heart(submitted)
    over = Queue()
    manager.add(beat(heart, over))
    if hold:
        yield from wait_for_line()
    spans = []
    early = {}  # answers before whose turn others come
    for number in range(count):
        while number not in early:
            ready, *answer = yield done.get()
            early[ready] = answer
        value, *span = early.pop(number)
        order = (31 * order + value) % MODULUS
        if trace:
            spans.append(span)
    end = clock()
    report(f"::phase name=makespan ns={end - begin}")
    heart.look_back(end)
    yield over.put(None)

    report(f"::phase name=gap ns={heart.gap_ns}")
    for place, began, ended in spans:
        report(f"::span unit={place} begin={began - begin} end={ended - begin}")
    return order, beats + heart.beats


def job(places, done, seed, number, sleep_s, rounds):
    place = yield places.get()
    begin = clock()
    answer = yield from work(seed, number, sleep_s, rounds)
    end = clock()
    yield places.put(place)
    yield done.put((number, answer, place, begin, end))


def work(seed, number, sleep_s, rounds):
    x = 1 + (seed + number) % (MODULUS - 1)
    if sleep_s is not None:
        yield sleep(sleep_s)
    for _ in range(rounds):
        x = FACTOR * x % MODULUS
    return x


def beat(heart, over):
    while True:
        try:
            yield over.get(timeout=heart.patience_s())
            return
        except Timeout:
            heart.beat_if_due()


def wait_for_line():
    report("::await name=submitted")
    if sys.stdin is None:
        return  # It was closed before the program began.
    with suppress(PermissionError):  # The selector does not take files: they can be read at any time.
        yield readable(sys.stdin)
    sys.stdin.readline()


def settings():
    given = arguments.read()
    kind = one_of(given, "kind", "", ["sleep", "cpu", "noop"])
    duration_ms = whole_number(given, "duration_ms", "1000", 0, 3_600_000)
    rounds = whole_number(given, "rounds", "1000000", 1)
    whole_number(given, "cores", "1", 1)  # Unused: there is one thread.
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
    manager = TaskManager()
    manager.add(run(manager, **given))
    try:
        manager.run()
    except OSError as error:
        complain(f"no answer can be written: {error.strerror}")
        os._exit(1)  # At once, whatever is under way.


if __name__ == "__main__":
    main()
