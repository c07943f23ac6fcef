"""The fibonacci service on asyncio's streams. It computes in the loop."""

import asyncio

import arguments
import loop
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


async def listen(host, port):
    try:
        server = await asyncio.start_server(converse, host, port, backlog=1024, limit=LONGEST - 1)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    report(f"::ready port={server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


async def converse(reader, writer):
    """Answers one client's requests until it closes."""
    try:
        while (line := await read_line(reader)).endswith(b"\n"):
            writer.write(answer(line[:-1]))
            await writer.drain()
        if line:
            writer.write(b"error: a line may have %d bytes\n" % LONGEST)
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


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d\n" % fib(int(request))
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


def main():
    given = settings()
    raise_file_limit()
    # Not the loop's handler: that one would wait for a computation to be done.
    end_when_told()
    loop.run(listen(given["host"], given["port"]))


if __name__ == "__main__":
    main()
