"""The feed on aiohttp's web server."""

import asyncio
import itertools

from aiohttp import web

import arguments
from arguments import whole_number
from service import end_when_told, raise_file_limit
from serving import serve

LONGEST = 20  # digits of an ID


def handler(interval_s):
    async def feed(request):
        feed_id = request.match_info["id"]
        if len(feed_id) > LONGEST or not feed_id.isascii():
            raise web.HTTPNotFound
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        # A message waits until the kernel has taken the one before.
        request.transport.set_write_buffer_limits(0)
        loop = asyncio.get_running_loop()
        try:
            await response.prepare(request)
            await response.write(f"Welcome: {feed_id}\n".encode())
            begin_s = loop.time()
            for k in itertools.count(1):
                # The loop may wake a sleeper a little too early.
                while (wait_s := begin_s + k * interval_s - loop.time()) > 0:
                    await asyncio.sleep(wait_s)
                await response.write(f"Chunk {k} for {feed_id}\n".encode())
        except OSError:
            return response  # The client went away.

    return feed


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    interval_ms = whole_number(given, "interval_ms", "1000", 1, 3_600_000)
    raise_file_limit()
    # Not the loop's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    app = web.Application()
    app.router.add_get(r"/test/{id:\d+}", handler(interval_ms / 1000), allow_head=False)
    asyncio.run(serve(app, port, host))


if __name__ == "__main__":
    main()
