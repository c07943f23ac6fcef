"""The gateway: gevent's WSGI server, and urllib3 on gevent's sockets for the upstreams."""

# The watcher of `service.py` stays a thread of the kernel, with the kernel's `select`.
from gevent import monkey

monkey.patch_all(thread=False, select=False, signal=False)

import functools
import re
from http.client import HTTPResponse, IncompleteRead

import gevent
import urllib3
from gevent.queue import Empty, Queue

import arguments
from arguments import one_of, refuse, whole_number
from service import end_when_told, raise_file_limit
from web import refuse_request, serve

UNITS = 3
MOST_KEPT = 4096  # connections to one upstream
BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


def application(make_units, tick_s):
    def answer(environ, start_response):
        if environ["PATH_INFO"] != "/":
            return refuse_request(start_response, "404 Not Found")
        if environ["REQUEST_METHOD"] != "GET":
            return refuse_request(start_response, "405 Method Not Allowed", ("Allow", "GET"))
        start_response("200 OK", [("Content-Type", "text/plain")])
        return pieces(make_units(environ.get("HTTP_X_REQUEST_ID")), tick_s)

    return answer


def pieces(units, tick_s):
    """Each unit's piece as soon as it is there, and a dot for every tick without one."""
    done = Queue()
    greenlets = [gevent.spawn(lambda unit=unit: done.put(unit())) for unit in units]
    missing = len(units)
    try:
        while missing:
            try:
                piece = done.get(timeout=tick_s)
                missing -= 1
            except Empty:
                piece = b"."
            yield piece
    finally:
        # Only where the client went away: the server closes this generator.
        gevent.killall(greenlets, block=False)


class Response(HTTPResponse):
    """http.client's own takes a 103 for the answer, and half a head for a whole one."""

    def begin(self):
        file, self.fp = self.fp, WholeLines(self.fp)
        super().begin()
        while self.status < 200:
            self.headers = None
            super().begin()
        self.fp = file


class WholeLines:
    """A file in which the line that is asked for must be there."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def readline(self, limit):
        line = self.file.readline(limit)
        if not line.endswith(b"\n"):
            raise IncompleteRead(line)
        return line


class Connection(urllib3.connection.HTTPConnection):
    response_class = Response


class ConnectionPool(urllib3.HTTPConnectionPool):
    ConnectionCls = Connection


def pool_manager(maxsize):
    manager = urllib3.PoolManager(maxsize=maxsize)
    manager.pool_classes_by_scheme = {"http": ConnectionPool}
    return manager


def status_of(pool, timeout_s, upstream, request_id):
    """The status of an upstream's answer, when all of it has come."""
    headers = {} if request_id is None else {"X-Request-Id": request_id}
    status = BAD_UPSTREAM
    # urllib3's own timeout is for each step of a call.
    with gevent.Timeout(timeout_s, False):
        try:
            status = pool.request("GET", upstream, headers=headers, redirect=False, retries=False).status
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            pass
    return status


def status_alone(call, upstream, request_id):
    return b"%d" % call(upstream, request_id)


def status_and_sum(call, upstream, request_id, work):
    status = call(upstream, request_id)
    return b"%d:%d\n" % (status, total(work))


def sum_alone(work):
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
    """Makes the units of a request, from its id."""
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    kind = one_of(given, "kind", "", ["io", "cpu", "mixed"])
    if kind == "cpu":
        return lambda _: [functools.partial(sum_alone, work)] * UNITS
    upstreams = upstreams_of(given.get("upstreams", ""))
    # One connection is kept by default; there are more where they are needed, which are closed after a call.
    maxsize = 1 if one_of(given, "connections", "kept", ["kept", "default"]) == "default" else MOST_KEPT
    call = functools.partial(status_of, pool_manager(maxsize), timeout_s)
    unit = status_alone if kind == "io" else functools.partial(status_and_sum, work=work)
    return lambda request_id: [functools.partial(unit, call, each, request_id) for each in upstreams]


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    make_units = units_of(given)
    raise_file_limit()  # A client is four connections.
    # Not gevent's handler: that one would wait for a sum to be done.
    end_when_told()
    serve(application(make_units, None if given["kind"] == "cpu" else tick_s), port, host)


if __name__ == "__main__":
    main()
