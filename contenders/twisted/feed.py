"""The feed on Twisted's web server."""

import re
import time

from twisted.internet import reactor
from twisted.internet.interfaces import IPushProducer
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from zope.interface import implementer

import arguments
from arguments import whole_number
from serving import serve
from sites import QuietSite

FULL_BYTES = 16  # Fewer than any message has.

PATH = re.compile(rb"/test/([0-9]{1,20})")


class Feeds(Resource):
    isLeaf = True  # noqa: N815, the name is Twisted's

    def __init__(self, interval_s):
        super().__init__()
        self.interval_s = interval_s

    def render(self, request):
        # As it was asked for: as a path of resources `%31` is `1` too.
        asked = PATH.fullmatch(request.uri.partition(b"?")[0])
        if not asked:
            request.setResponseCode(404)
            return b""
        if request.method != b"GET":
            request.setResponseCode(405)
            request.setHeader(b"Allow", b"GET")
            return b""
        request.setHeader(b"Content-Type", b"text/plain")
        Feed(request, asked[1], self.interval_s)
        return NOT_DONE_YET


@implementer(IPushProducer)
class Feed:
    """A producer with one message under way at a time: every one fills the transport's buffer, so that it
    pauses us, and resumes when it has written the message."""

    def __init__(self, request, feed_id, interval_s):
        self.request = request
        self.feed_id = feed_id
        self.interval_s = interval_s
        self.begin_s = None
        self.k = 0  # of the last message
        self.timer = None
        request.channel.transport.bufferSize = FULL_BYTES
        request.registerProducer(self, streaming=True)
        request.write(b"Welcome: %b\n" % feed_id)

    def pauseProducing(self):
        pass  # It is resumeProducing that brings the next message.

    def resumeProducing(self):
        if self.begin_s is None:
            self.begin_s = time.monotonic()
        self.produce()

    def produce(self):
        """Writes the next message, when it is due."""
        # Not by the reactor's clock, which may be set.
        wait_s = self.begin_s + (self.k + 1) * self.interval_s - time.monotonic()
        if wait_s > 0:
            self.timer = reactor.callLater(wait_s, self.produce)
            return
        self.timer = None
        self.k += 1
        self.request.write(b"Chunk %d for %b\n" % (self.k, self.feed_id))

    def stopProducing(self):
        # The client went away.
        if self.timer is not None:
            self.timer.cancel()


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def main():
    given = settings()
    serve(given["port"], QuietSite(Feeds(given["interval_ms"] / 1000)), backlog=4096, host=given["host"])


if __name__ == "__main__":
    main()
