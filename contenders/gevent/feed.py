"""The feed on gevent's WSGI server: a greenlet for each connection."""

import itertools
import re
import time

import gevent

import arguments
from arguments import whole_number
from service import end_when_told, raise_file_limit
from web import refuse_request, serve

PATH = re.compile(r"/test/([0-9]{1,20})")


def application(interval_s):
    def answer(environ, start_response):
        match = PATH.fullmatch(environ["PATH_INFO"])
        if not match:
            return refuse_request(start_response, "404 Not Found")
        if environ["REQUEST_METHOD"] != "GET":
            return refuse_request(start_response, "405 Method Not Allowed", ("Allow", "GET"))
        start_response("200 OK", [("Content-Type", "text/plain")])
        return messages(match[1].encode(), interval_s)

    return answer


def messages(feed_id, interval_s):
    """The server writes each, and waits until the kernel has taken it, before it asks for the next."""
    yield b"Welcome: %b\n" % feed_id
    begin_s = time.monotonic()
    for k in itertools.count(1):
        # The loop may wake a sleeper a little too early.
        while (wait_s := begin_s + k * interval_s - time.monotonic()) > 0:
            gevent.sleep(wait_s)
        yield b"Chunk %d for %b\n" % (k, feed_id)


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    interval_ms = whole_number(given, "interval_ms", "1000", 1, 3_600_000)
    raise_file_limit()
    # Not gevent's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    serve(application(interval_ms / 1000), port, host)


if __name__ == "__main__":
    main()
