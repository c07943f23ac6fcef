"""The fibonacci service on Tornado's TCP server. It computes in the loop."""

import asyncio

from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.tcpserver import TCPServer

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

LONGEST = 100  # bytes of a line, its newline included


class Server(TCPServer):
    async def handle_stream(self, stream, address):
        """Answers one client's requests until it closes."""
        try:
            stream.set_nodelay(True)
            await converse(stream)
            await stream.write(b"error: a line may have %d bytes\n" % LONGEST)
        except (StreamClosedError, OSError):
            pass  # The client went away.
        finally:
            stream.close()


async def converse(stream):
    """Answers requests until a line is too long. Not with `read_until(…, max_bytes)`, which then closes the
    connection before anything can be said."""
    buffer = bytearray()
    while len(buffer) < LONGEST:
        data = stream.read_bytes(LONGEST, partial=True)
        at_once = data.done()
        buffer += await data
        while (end := buffer.find(b"\n", 0, LONGEST)) >= 0:
            request = bytes(buffer[:end])
            del buffer[: end + 1]
            await stream.write(answer(request))
        if at_once:
            # No await gave way: a client that always has more to ask would keep the loop. Not before the
            # answers are written: the loop may hear that the client has sent all, and closes the stream.
            await asyncio.sleep(0)


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


async def listen(host, port):
    try:
        sockets = bind_sockets(port, host, backlog=1024)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    server = Server()
    server.add_sockets(sockets)
    report(f"::ready port={sockets[0].getsockname()[1]}")
    await asyncio.Event().wait()


def main():
    given = settings()
    raise_file_limit()
    # Not the loop's handler: that one would wait for a computation to be done.
    end_when_told()
    asyncio.run(listen(given["host"], given["port"]))


if __name__ == "__main__":
    main()
