"""The feed on Twisted's web server."""

import os
import re
import resource
import select
import signal
import sys
import threading
import time

from twisted.internet import reactor
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IPushProducer
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from zope.interface import implementer

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


class QuietSite(Site):
    noisy = False

    def log(self, request):
        pass  # Else a line for each request is made, and kept until a log is opened.


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"feed: {key} must be {wanted}, not {text!a}", file=sys.stderr)
    sys.exit(2)


def end_when_told():
    """Ends the program on SIGTERM and at the end of stdin."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    # The handler runs between two steps of Python, in the main thread. A signal that comes just before
    # a system call that waits would be missed: so it puts a byte into a pipe too.
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, args=(told,), daemon=True).start()


def watch(told):
    while True:
        ready, _, _ = select.select([told, 0], [], [])
        if told in ready or not os.read(0, 4096):
            end()


def end(*_):
    os._exit(0)  # At once, whatever is under way: there is nothing to save.


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    site = QuietSite(Feeds(given["interval_ms"] / 1000))
    try:
        port = reactor.listenTCP(given["port"], site, backlog=4096, interface="127.0.0.1")
    except CannotListenError:
        refuse("port", "one that is free", str(given["port"]))
    # Not the reactor's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    print(f"::ready port={port.getHost().port}", flush=True)
    reactor.run(installSignalHandlers=False)


if __name__ == "__main__":
    main()
