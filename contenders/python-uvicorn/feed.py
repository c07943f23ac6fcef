"""The feed as a Starlette application on uvicorn."""

import asyncio
import itertools

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.routing import Route

import arguments
from arguments import whole_number
from service import raise_file_limit
from serving import serve

LONGEST = 20  # digits of an ID


def application(interval_s):
    async def feed(request):
        feed_id = request.path_params["id"]
        if not (feed_id.isascii() and feed_id.isdigit() and len(feed_id) <= LONGEST):
            raise HTTPException(404)
        if request.method != "GET":
            raise HTTPException(405)
        return StreamingResponse(messages(feed_id), media_type="text/plain")

    async def messages(feed_id):
        yield f"Welcome: {feed_id}\n"
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        for k in itertools.count(1):
            # The loop may wake a sleeper a little too early.
            while (wait_s := begin_s + k * interval_s - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            yield f"Chunk {k} for {feed_id}\n"

    app = Starlette(routes=[Route("/test/{id}", feed)])
    app.router.redirect_slashes = False  # Another path is not found.
    return app


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    interval_ms = whole_number(given, "interval_ms", "1000", 1, 3_600_000)
    raise_file_limit()
    asyncio.run(serve(application(interval_ms / 1000), port, host))


if __name__ == "__main__":
    main()
