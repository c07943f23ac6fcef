"""two_hosts.py here|there ADDRESS NODES MESSAGES MODE: the ring of tasks with its second half of units on another host,
over a TCP connection. `there` runs on the other host. `here` prints the nanoseconds from the first message to the last
one's arrival, as it knows of it, and the sum."""

import asyncio
import sys
import time


def chain(inbox, first, last, messages, tasks):
    """Starts units first … last. Returns the last unit's queue."""
    for number in range(first, last + 1):
        outbox = asyncio.Queue()
        tasks.append(asyncio.create_task(relay(number, inbox, outbox, messages)))
        inbox = outbox
    return inbox


async def relay(number, inbox, outbox, messages):
    for _ in range(messages):
        outbox.put_nowait(await inbox.get() + number)


async def send(values, writer, messages):
    for _ in range(messages):
        writer.write(b"%d\n" % await values.get())
        await writer.drain()


async def here(host, port, nodes, messages, is_token):
    reader, writer = await opened(host, port)
    first, tasks = asyncio.Queue(), []
    tasks.append(asyncio.create_task(send(chain(first, 1, nodes // 2, messages, tasks), writer, messages)))
    begin = time.monotonic_ns()
    for r in reversed(range(messages)):
        first.put_nowait(r)
        if is_token:
            await reader.readline()
    total = int(await reader.readline())
    print(time.monotonic_ns() - begin, total)


async def opened(host, port):
    """The other side may not be ready yet."""
    for _ in range(50):
        try:
            return await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.1)
    raise SystemExit(f"nobody listens at {host}:{port}")


async def there(host, port, nodes, messages, is_token):
    done = asyncio.Event()

    async def serve(reader, writer):
        first, tasks = asyncio.Queue(), []
        arrived = chain(first, nodes // 2 + 1, nodes - 1, messages, tasks)

        async def receive():
            for _ in range(messages):
                first.put_nowait(int(await reader.readline()))

        tasks.append(asyncio.create_task(receive()))
        total = 0
        for _ in range(messages):
            total += await arrived.get()
            if is_token:
                writer.write(b"0\n")
        writer.write(b"%d\n" % total)
        await writer.drain()
        await reader.read()  # Until the other side has read it.
        done.set()

    await asyncio.start_server(serve, host, port)
    await done.wait()


side, address, count, sent, mode = sys.argv[1:]
host, _, port = address.rpartition(":")
asyncio.run({"here": here, "there": there}[side](host, int(port), int(count), int(sent), mode == "token"))
