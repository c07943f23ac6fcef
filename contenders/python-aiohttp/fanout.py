"""The gateway on aiohttp's web server and its client."""

import asyncio
import functools
import re
from contextlib import suppress

import aiohttp
from aiohttp import web

import arguments
from arguments import one_of, refuse, whole_number
from service import end_when_told, raise_file_limit
from serving import serve

BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")
SESSION = web.AppKey("session", aiohttp.ClientSession)


async def open_session(app, timeout_s, connector):
    async with aiohttp.ClientSession(
        connector=connector(),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        auto_decompress=False,
    ) as app[SESSION]:
        yield


async def fan_out(request, upstreams, piece, tick_s):
    calls = {asyncio.create_task(piece(status_of(request, upstream))) for upstream in upstreams}
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    try:
        await response.prepare(request)
        while calls:
            done, calls = await asyncio.wait(calls, timeout=tick_s, return_when=asyncio.FIRST_COMPLETED)
            text = "".join(call.result() for call in done) or "."
            await (response.write if calls else response.write_eof)(text.encode())
    except OSError:
        pass  # The client went away.
    finally:
        for call in calls:
            call.cancel()
    return response


async def status_of(request, upstream):
    """The status of an upstream's answer, when all of it has come."""
    request_id = request.headers.get("X-Request-Id")
    headers = None if request_id is None else {"X-Request-Id": request_id}
    try:
        async with request.app[SESSION].get(upstream, headers=headers, allow_redirects=False) as answer:
            await answer.read()
            return answer.status
    # A body that breaks off within a chunk is an OSError's or a ValueError's child, by its place.
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return BAD_UPSTREAM


async def status_alone(call):
    return f"{await call}"


async def status_and_sum(call, work):
    status = await call
    return f"{status}:{total(work)}\n"


async def compute(request, work):
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    with suppress(OSError):  # The client went away.
        await response.prepare(request)
        await asyncio.gather(*(unit(response, work, last=number == 2) for number in range(3)))
    return response


async def unit(response, work, last):
    # Each writes its own sum: who waits for all three hears of the first only when the loop has run the last. The
    # loop runs them in this order.
    await (response.write_eof if last else response.write)(b"%d\n" % total(work))


def total(work):
    result = 0
    for i in range(1, work):
        result += i
    return result


def upstreams_of(text):
    urls = text.split(",")
    ports = [int(match[1]) for match in map(UPSTREAM.fullmatch, urls) if match]
    if len(urls) != 3 or len(ports) != 3 or not all(0 < port < 65536 for port in ports):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return urls


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: the loop has one thread.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    kind = one_of(given, "kind", "", ["io", "cpu", "mixed"])
    if kind == "cpu":
        handler = functools.partial(compute, work=work)
    else:
        piece = status_alone if kind == "io" else functools.partial(status_and_sum, work=work)
        upstreams = upstreams_of(given.get("upstreams", ""))
        handler = functools.partial(fan_out, upstreams=upstreams, piece=piece, tick_s=tick_s)
    connector = functools.partial(aiohttp.TCPConnector, limit=0)  # 100 connections by default
    if one_of(given, "connections", "unlimited", ["unlimited", "default"]) == "default":
        connector = aiohttp.TCPConnector
    raise_file_limit()  # A client is four connections.
    # Not the loop's handler: that one would wait for a sum to be done.
    end_when_told()
    app = web.Application()
    app.cleanup_ctx.append(functools.partial(open_session, timeout_s=timeout_s, connector=connector))
    app.router.add_get("/", handler, allow_head=False)
    asyncio.run(serve(app, port, host))


if __name__ == "__main__":
    main()
