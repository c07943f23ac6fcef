import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "contenders" / "stackless-greenlet"))
import tasklets


def relay(i, messages, inbox, outbox):
    for _ in range(messages):
        outbox.send(inbox.receive() + i)


def last(messages, inbox, done):
    checksum = order = 0
    for _ in range(messages):
        value = inbox.receive()
        checksum += value
        order = (31 * order + value) % 2147483647
    done.send((time.monotonic_ns(), checksum))


def main(n, m):
    done = tasklets.channel()
    channels = [tasklets.channel() for _ in range(n)]
    for i in range(1, n):
        tasklets.tasklet(relay)(i, m, channels[i - 1], channels[i])
    tasklets.tasklet(last)(m, channels[-1], done)
    tasklets.schedule()
    start = time.monotonic_ns()
    for r in range(m - 1, -1, -1):
        channels[0].send(r)
    end, checksum = done.receive()
    print(end - start, checksum)


main(int(sys.argv[1]), int(sys.argv[2]))
