"""The gateway: h11 on Trio's streams for its clients, httpx for its upstreams."""

import functools
import math
import re

import h11
import httpx
import trio

import arguments
from arguments import one_of, refuse, whole_number
from http1 import Connection, ok, path_of
from listening import serve
from service import raise_file_limit

UNITS = 3
BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


async def listen(host, port, make_units, tick_s, timeout_s):
    # Trio's timeouts are those of scopes; httpx's own would be for each step of a call.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as client:
        call = functools.partial(status_of, client, timeout_s)
        await serve(functools.partial(converse, make_units=make_units, call=call, tick_s=tick_s), port, host)


async def converse(stream, make_units, call, tick_s):
    connection = Connection(stream)
    try:
        while request := await connection.next_request():
            if path_of(request) != b"/":
                await connection.refuse(404)
            elif request.method != b"GET":
                await connection.refuse(405, ("Allow", "GET"))
            else:
                await answer(connection, make_units(functools.partial(call, request)), tick_s)
            if not await connection.finish():
                return
    except h11.RemoteProtocolError as error:
        if connection.protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await connection.refuse(error.error_status_hint, ("Connection", "close"))


async def answer(connection, units, tick_s):
    """Sends the piece of each unit as soon as it is there, and a dot for every tick without one."""
    to_body, pieces = trio.open_memory_channel(UNITS)
    missing = len(units)
    head = [ok()]  # goes out with the first piece
    # When the client goes away, a send fails, and the nursery cancels the calls.
    async with trio.open_nursery() as nursery:
        for unit in units:
            nursery.start_soon(put, unit, to_body)
        while missing:
            piece = b"."
            with trio.move_on_after(tick_s):
                piece = await pieces.receive()
                missing -= 1
            end = [] if missing else [h11.EndOfMessage()]
            await connection.send(*head, h11.Data(data=piece), *end)
            head = []


async def put(unit, to_body):
    await to_body.send(await unit())


async def status_of(client, timeout_s, request, upstream):
    """The status of an upstream's answer, when all of it has come."""
    headers = [(name, value) for name, value in request.headers if name == b"x-request-id"]
    with trio.move_on_after(timeout_s):
        try:
            return (await client.get(upstream, headers=headers)).status_code
        except (httpx.HTTPError, httpx.InvalidURL):
            pass
    return BAD_UPSTREAM


async def status_alone(call, upstream):
    return b"%d" % await call(upstream)


async def status_and_sum(call, upstream, work):
    status = await call(upstream)
    return b"%d:%d\n" % (status, total(work))


async def sum_alone(work):
    # Others have their turns between two sums.
    await trio.lowlevel.checkpoint()
    return b"%d\n" % total(work)


def total(work):
    result = 0
    for i in range(1, work):
        result += i
    return result


def upstreams_of(text):
    urls = text.split(",")
    ports = [int(match[1]) for match in map(UPSTREAM.fullmatch, urls) if match]
    if len(urls) != UNITS or len(ports) != UNITS or not all(0 < port < 65536 for port in ports):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return urls


def units_of(given):
    """Makes the units of a request, from the function that calls an upstream."""
    work = whole_number(given, "work", "100000", 1)
    kind = one_of(given, "kind", "", ["io", "cpu", "mixed"])
    if kind == "cpu":
        return lambda call: [functools.partial(sum_alone, work)] * UNITS
    upstreams = upstreams_of(given.get("upstreams", ""))
    unit = status_alone if kind == "io" else functools.partial(status_and_sum, work=work)
    return lambda call: [functools.partial(unit, call, upstream) for upstream in upstreams]


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    make_units = units_of(given)
    if given["kind"] == "cpu":
        tick_s = math.inf
    raise_file_limit()  # A client is four connections.
    trio.run(listen, host, port, make_units, tick_s, timeout_s)


if __name__ == "__main__":
    main()
