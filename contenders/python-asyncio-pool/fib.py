"""The fibonacci service: asyncio's streams, a pool of processes for the computations."""

import asyncio
import functools
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import arguments
from arguments import refuse, report, whole_number
from service import raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


class Workers:
    """A pool of processes, and a new one where a worker was killed: an executor does not mend itself."""

    def __init__(self, count):
        self._count = count
        self._pool = start_pool(count)

    async def fib(self, n):
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, fib, n)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = start_pool(self._count)
            raise


def start_pool(count):
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("fork"),
        # A worker that is told to end does so without a word.
        initializer=signal.signal,
        initargs=(signal.SIGTERM, signal.SIG_DFL),
    )
    pool.submit(fib, 1).result()  # The first call starts them all.
    return pool


async def listen(host, port, workers):
    """Serves until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    serve = functools.partial(converse, workers=workers)
    try:
        server = await asyncio.start_server(serve, host, port, backlog=1024, limit=LONGEST - 1)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    report(f"::ready port={server.sockets[0].getsockname()[1]}")
    await ended.wait()
    end()


async def converse(reader, writer, workers):
    """Answers one client's requests until it closes."""
    try:
        while (line := await read_line(reader)).endswith(b"\n"):
            writer.write(await answer(line[:-1], workers))
            await writer.drain()
        if line:
            writer.write(b"error: a line may have %d bytes\n" % LONGEST)
        # Closing alone does not end it: workers that were forked meanwhile have copies.
        writer.write_eof()
    except OSError:
        pass  # The client went away.
    finally:
        writer.close()


async def read_line(reader):
    """A line; or what there is without a newline, when it is too long; or nothing, at the end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        return await reader.read(LONGEST)
    except asyncio.IncompleteReadError:
        return b""


async def answer(request, workers):
    if request.isdigit() and 1 <= int(request) <= 90:
        try:
            return b"%d\n" % await workers.fib(int(request))
        except BrokenProcessPool:
            return b"error: a worker was killed\n"
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def end():
    """Ends at once, workers in the middle of what they do: there is nothing to save."""
    workers = multiprocessing.active_children()
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join()
    os._exit(0)


def end_with_stdin():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main():
    given = settings()
    raise_file_limit()
    # Before the loop and its sockets: they need no copies of these.
    workers = Workers(given["cores"])
    asyncio.run(listen(given["host"], given["port"], workers))


if __name__ == "__main__":
    main()
