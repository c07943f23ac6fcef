"""The fibonacci service on Tornado's TCP server. It computes in the loop."""

import asyncio
import os
import resource
import select
import signal
import sys
import threading

from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.tcpserver import TCPServer

LONGEST = 100  # bytes of a line, its newline included
# Not read_until with its max_bytes, which closes the connection without a word.
LINE = rb"\n|[^\n]{%d}" % LONGEST


class Server(TCPServer):
    async def handle_stream(self, stream, address):
        """Answers one client's requests until it closes."""
        try:
            stream.set_nodelay(True)
            while (line := await read_line(stream)).endswith(b"\n"):
                await stream.write(answer(line[:-1]))
            await stream.write(b"error: a line may have %d bytes\n" % LONGEST)
        except (StreamClosedError, OSError):
            pass  # The client went away.
        finally:
            stream.close()


async def read_line(stream):
    line = stream.read_until_regex(LINE)
    if line.done():
        # The await would not give way: a client that always has more to ask would keep the loop.
        await asyncio.sleep(0)
    return await line


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d\n" % fib(int(request))
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"fib: {key} must be {wanted}, not {text!a}", file=sys.stderr)
    sys.exit(2)


def end_when_told():
    """Ends the program on SIGTERM and at the end of stdin."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    # The handler runs between two steps of Python, in the main thread. A signal that comes just before
    # a system call that waits would be missed: so it puts a byte into a pipe too.
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, args=(told,), daemon=True).start()


def watch(told):
    while True:
        ready, _, _ = select.select([told, 0], [], [])
        if told in ready or not os.read(0, 4096):
            end()


def end(*_):
    os._exit(0)  # At once, in the middle of a computation too: there is nothing to save.


async def listen(port):
    try:
        sockets = bind_sockets(port, "127.0.0.1", backlog=1024)
    except OSError:
        refuse("port", "one that is free", str(port))
    server = Server()
    server.add_sockets(sockets)
    print(f"::ready port={sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Not the loop's handler: that one would wait for a computation to be done.
    end_when_told()
    asyncio.run(listen(given["port"]))


if __name__ == "__main__":
    main()
