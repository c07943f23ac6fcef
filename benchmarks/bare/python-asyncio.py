import asyncio
import sys
import time


async def relay(i, messages, inbox, outbox):
    for _ in range(messages):
        await outbox.put(await inbox.get() + i)


async def last(messages, inbox):
    checksum = order = 0
    for _ in range(messages):
        value = await inbox.get()
        checksum += value
        order = (31 * order + value) % 2147483647
    return time.monotonic_ns(), checksum


async def main(n, m):
    queues = [asyncio.Queue() for _ in range(n)]
    units = [asyncio.create_task(relay(i, m, queues[i - 1], queues[i])) for i in range(1, n)]
    units.append(asyncio.create_task(last(m, queues[-1])))
    await asyncio.sleep(0)
    start = time.monotonic_ns()
    for r in range(m - 1, -1, -1):
        await queues[0].put(r)
    end, checksum = (await asyncio.gather(*units))[-1]
    print(end - start, checksum)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
