"""The fibonacci service on Trio's streams. It computes in the loop."""

import trio

import arguments
from arguments import whole_number
from listening import serve
from service import raise_file_limit

LONGEST = 100  # bytes of a line, its newline included
GRACE_S = 1.0


async def converse(stream):
    """Answers one client's requests until it closes."""
    buffer = bytearray()
    while data := await stream.receive_some():
        buffer += data
        while (end := buffer.find(b"\n", 0, LONGEST)) >= 0:
            await stream.send_all(answer(bytes(buffer[:end])))
            del buffer[: end + 1]
        if len(buffer) >= LONGEST:
            await stream.send_all(b"error: a line may have %d bytes\n" % LONGEST)
            await stream.send_eof()
            # Closing with bytes unread would reset the connection, and the client might miss the answer.
            with trio.move_on_after(GRACE_S):
                while await stream.receive_some():
                    pass
            return


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d\n" % fib(int(request))
    return b"error: n must be a whole number from 1 to 90\n"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    raise_file_limit()
    trio.run(serve, converse, port, host)


if __name__ == "__main__":
    main()
