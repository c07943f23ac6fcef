"""The gateway on Twisted's web server and its HTTP client."""

import functools
import re
import warnings
from contextlib import suppress

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, inlineCallbacks
from twisted.internet.task import deferLater
from twisted.web.client import Agent, HTTPConnectionPool, PartialDownloadError, readBody
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

import arguments
from arguments import refuse, whole_number
from serving import serve
from sites import QuietSite

MOST_KEPT = 4096
BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


class Gateway(Resource):
    isLeaf = True  # noqa: N815, the name is Twisted's

    def render(self, request):
        # As it was asked for: as a path of resources `//` is `/` too.
        if request.uri.partition(b"?")[0] != b"/":
            request.setResponseCode(404)
            return b""
        if request.method != b"GET":
            request.setResponseCode(405)
            request.setHeader(b"Allow", b"GET")
            return b""
        request.setHeader(b"Content-Type", b"text/plain")
        self.answer(request)
        return NOT_DONE_YET


class FanOut(Gateway):
    def __init__(self, upstreams, piece, tick_s, timeout_s):
        super().__init__()
        self.upstreams = upstreams
        self.piece = piece
        self.tick_s = tick_s
        self.timeout_s = timeout_s
        pool = HTTPConnectionPool(reactor)
        pool.maxPersistentPerHost = MOST_KEPT
        # An upstream that breaks off is to be told of, not asked again.
        pool.retryAutomatically = False
        self.agent = Agent(reactor, connectTimeout=timeout_s, pool=pool)

    def answer(self, request):
        headers = Headers()
        for request_id in request.requestHeaders.getRawHeaders(b"X-Request-Id", []):
            headers.addRawHeader(b"X-Request-Id", request_id)
        calls = [self.status_of(upstream, headers) for upstream in self.upstreams]
        for call in calls:
            call.addTimeout(self.timeout_s, reactor)
            call.addErrback(lambda _: BAD_UPSTREAM)
            call.addCallback(self.piece)
        Pieces(request, calls, self.tick_s)

    @inlineCallbacks
    def status_of(self, upstream, headers):
        """The status of an upstream's answer, when all of it has come."""
        response = yield self.agent.request(b"GET", upstream, headers)
        with suppress(PartialDownloadError):  # No length was told: the connection's end is the body's.
            yield readBody(response)
        return response.code


class Pieces:
    """The results of a request's calls, and the ticks in between."""

    def __init__(self, request, calls, tick_s):
        self.request = request
        self.calls = calls
        self.tick_s = tick_s
        self.awaited = len(calls)
        self.tick = reactor.callLater(tick_s, self.no_news)
        request.notifyFinish().addErrback(self.client_gone)
        for call in calls:
            call.addCallback(self.news)

    def no_news(self):
        self.request.write(b".")
        self.tick = reactor.callLater(self.tick_s, self.no_news)

    def news(self, piece):
        self.awaited -= 1
        if self.request is None:
            return
        self.request.write(piece)
        self.tick.reset(self.tick_s)
        if not self.awaited:
            self.tick.cancel()
            self.request.finish()

    def client_gone(self, _):
        self.tick.cancel()
        self.request = None  # Nobody may write to it.
        for call in self.calls:
            call.cancel()


class Compute(Gateway):
    def __init__(self, work):
        super().__init__()
        self.work = work

    def answer(self, request):
        sums = self.write_sums(request)
        request.notifyFinish().addErrback(lambda _: sums.cancel())
        sums.addErrback(lambda failure: failure.trap(CancelledError))

    @inlineCallbacks
    def write_sums(self, request):
        for _ in range(3):
            # From the loop, which between two sums writes out the first.
            result = yield deferLater(reactor, 0, total, self.work)
            request.write(b"%d\n" % result)
        request.finish()


def status_alone(status):
    return b"%d" % status


def status_and_sum(status, work):
    return b"%d:%d\n" % (status, total(work))


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
    whole_number(given, "cores", "1", 1)  # Unused: the reactor has one thread.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    kind = given.get("kind", "")
    if kind in ("io", "mixed"):
        piece = status_alone if kind == "io" else functools.partial(status_and_sum, work=work)
        return host, port, FanOut(upstreams_of(given.get("upstreams", "")), piece, tick_s, timeout_s)
    if kind == "cpu":
        return host, port, Compute(work)
    refuse("kind", "io, cpu or mixed", kind)


def upstreams_of(text):
    urls = text.split(",")
    ports = [int(match[1]) for match in map(UPSTREAM.fullmatch, urls) if match]
    if len(urls) != 3 or len(ports) != 3 or not all(0 < port < 65536 for port in ports):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return [url.encode() for url in urls]


def main():
    host, port, gateway = settings()
    # Meant for those who write transports, but said where a short body is all there already.
    warnings.filterwarnings("ignore", "Using readBody with a transport", DeprecationWarning)
    serve(port, QuietSite(gateway), backlog=4096, host=host)


if __name__ == "__main__":
    main()
