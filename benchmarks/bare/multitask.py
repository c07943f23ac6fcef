import sys
import time
from pathlib import Path

# This file is named multitask like the library, so the library's folder must come first.
sys.path.insert(0, str(Path(__file__).parents[2] / "contenders" / "multitask"))
from multitask import Queue, TaskManager, sleep


def relay(i, messages, inbox, outbox):
    for _ in range(messages):
        value = yield inbox.get()
        yield outbox.put(value + i)


def last(messages, inbox, done):
    checksum = order = 0
    for _ in range(messages):
        value = yield inbox.get()
        checksum += value
        order = (31 * order + value) % 2147483647
    yield done.put((time.monotonic_ns(), checksum))


def main(manager, n, m):
    done = Queue()
    queues = [Queue() for _ in range(n)]
    for i in range(1, n):
        manager.add(relay(i, m, queues[i - 1], queues[i]))
    manager.add(last(m, queues[-1], done))
    yield sleep(0)
    start = time.monotonic_ns()
    for r in range(m - 1, -1, -1):
        yield queues[0].put(r)
    end, checksum = yield done.get()
    print(end - start, checksum)


manager = TaskManager()
manager.add(main(manager, int(sys.argv[1]), int(sys.argv[2])))
manager.run()
