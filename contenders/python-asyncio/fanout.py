"""The gateway on asyncio's streams."""

import asyncio
import functools
import re

import arguments
import loop
from arguments import refuse, report, whole_number
from http1 import MOST_HEAD_BYTES, chunk, parse_request_line, parse_status_line, read_head, skip_body
from service import end_when_told, raise_file_limit

BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


async def listen(host, port, answer):
    serve = functools.partial(converse, answer=answer)
    try:
        server = await asyncio.start_server(serve, host, port, backlog=4096, limit=MOST_HEAD_BYTES)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    report(f"::ready port={server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


async def converse(reader, writer, answer):
    """A client's requests, one after the other."""
    try:
        while await exchange(reader, writer, answer):
            pass
    except asyncio.LimitOverrunError:
        write_error(writer, b"431 Request Header Fields Too Large", keep=False)
    except ValueError:
        write_error(writer, b"400 Bad Request", keep=False)
    except (OSError, EOFError):
        pass  # The client went away.
    finally:
        writer.close()


async def exchange(reader, writer, answer):
    """One request and its answer. True when the connection stays."""
    line, fields = await read_head(reader)
    method, target, version = parse_request_line(line)
    # An HTTP/1.0 client knows no chunks: the end of its connection ends the body.
    chunked = version == b"HTTP/1.1"
    keep = chunked and b"close" not in fields.get(b"connection", b"").lower()
    if target.partition(b"?")[0] != b"/":
        write_error(writer, b"404 Not Found", keep)
    elif method != b"GET":
        write_error(writer, b"405 Method Not Allowed\r\nAllow: GET", keep)
    else:
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
            + (b"Transfer-Encoding: chunked\r\n" if chunked else b"")
            + (b"\r\n" if keep else b"Connection: close\r\n\r\n")
        )
        await answer(Body(writer, head, chunked), fields.get(b"x-request-id"))
    await writer.drain()
    await skip_body(reader, fields, length=0)
    return keep


def write_error(writer, status, keep):
    closing = b"" if keep else b"Connection: close\r\n"
    writer.write(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n%b\r\n" % (status, closing))


class Body:
    """The body of an answer, sent as it grows: the head goes out with the first piece, the end with the
    last."""

    def __init__(self, writer, head, chunked):
        self.writer = writer
        self.head = head
        self.chunked = chunked

    def write(self, data, last):
        head, self.head = self.head, b""
        end = b"0\r\n\r\n" if last else b""
        self.writer.write(head + (chunk(data) + end if self.chunked else data))


async def fan_out(body, request_id, upstreams, piece, tick_s, timeout_s):
    calls = {asyncio.create_task(piece(call(upstream, request_id, timeout_s))) for upstream in upstreams}
    try:
        while calls:
            done, calls = await asyncio.wait(calls, timeout=tick_s, return_when=asyncio.FIRST_COMPLETED)
            body.write(b"".join(one.result() for one in done) or b".", last=not calls)
            await body.writer.drain()
    finally:
        for one in calls:  # Only where the client went away.
            one.cancel()


async def status_alone(call):
    return b"%d" % await call


async def status_and_sum(call, work):
    status = await call
    return b"%d:%d\n" % (status, total(work))


async def call(upstream, request_id, timeout_s):
    try:
        return await asyncio.wait_for(status_of(upstream, request_id), timeout_s)
    # Before 3.11 asyncio's TimeoutError is none of the operating system's.
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.TimeoutError):  # noqa: UP041
        return BAD_UPSTREAM


async def status_of(upstream, request_id):
    """The status of an upstream's answer, when all of it has come."""
    port, path = upstream
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MOST_HEAD_BYTES)
    try:
        writer.write(
            b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n" % (path, port)
            + (b"" if request_id is None else b"X-Request-Id: %b\r\n" % request_id)
            + b"\r\n"
        )
        status = 100
        while status < 200:  # Answers before the answer.
            line, fields = await read_head(reader)
            status = parse_status_line(line)
        if status not in (204, 304):
            await skip_body(reader, fields, length=None)
        return status
    finally:
        writer.close()


async def compute(body, _request_id, work):
    await asyncio.gather(*(unit(body, work, last=number == 2) for number in range(3)))


async def unit(body, work, last):
    # Each writes its own sum: who waits for all three hears of the first only when the loop has
    # run the last. The loop runs them in this order.
    body.write(b"%d\n" % total(work), last)


def total(work):
    result = 0
    for i in range(1, work):
        result += i
    return result


def settings():
    """The address, the port, and what answers a request."""
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: the loop has one thread.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    kind = given.get("kind", "")
    if kind in ("io", "mixed"):
        answer = functools.partial(
            fan_out,
            upstreams=upstreams_of(given.get("upstreams", "")),
            piece=status_alone if kind == "io" else functools.partial(status_and_sum, work=work),
            tick_s=tick_s,
            timeout_s=timeout_s,
        )
    elif kind == "cpu":
        answer = functools.partial(compute, work=work)
    else:
        refuse("kind", "io, cpu or mixed", kind)
    return host, port, answer


def upstreams_of(text):
    """Pairs of a port and a path."""
    urls = [UPSTREAM.fullmatch(url) for url in text.split(",")]
    if len(urls) != 3 or not all(url and 0 < int(url[1]) < 65536 for url in urls):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return [(int(url[1]), (url[2] or "/").encode()) for url in urls]


def main():
    host, port, answer = settings()
    # A client is four connections.
    raise_file_limit()
    end_when_told()
    loop.run(listen(host, port, answer))


if __name__ == "__main__":
    main()
