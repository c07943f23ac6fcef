"""The fibonacci service on Twisted's LineReceiver. It computes in the reactor."""

import os
import resource
import select
import signal
import sys
import threading

from twisted.internet import reactor
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineReceiver
from zope.interface import implementer

LONGEST = 100  # bytes of a line, its newline included


@implementer(IHalfCloseableProtocol)
class Fib(LineReceiver):
    delimiter = b"\n"
    MAX_LENGTH = LONGEST - 1

    def connectionMade(self):
        self.transport.setTcpNoDelay(True)
        # Reads no more requests while the client does not read its answers.
        self.transport.registerProducer(self, streaming=True)

    def lineReceived(self, line):
        self.sendLine(answer(line))

    def lineLengthExceeded(self, line):
        self.sendLine(b"error: a line may have %d bytes" % LONGEST)
        self.close()

    def readConnectionLost(self):
        # Without this interface Twisted drops what is not yet written, when a client has sent everything.
        self.close()

    def writeConnectionLost(self):
        pass

    def close(self):
        self.transport.unregisterProducer()
        self.transport.loseConnection()


def answer(request):
    if request.isdigit() and 1 <= int(request) <= 90:
        return b"%d" % fib(int(request))
    return b"error: n must be a whole number from 1 to 90"


def fib(n):
    if n <= 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"fib: {key} must be {wanted}, not {text!a}", file=sys.stderr)
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
    os._exit(0)  # At once, in the middle of a computation too: there is nothing to save.


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    factory = Factory.forProtocol(Fib)
    try:
        port = reactor.listenTCP(given["port"], factory, backlog=1024, interface="127.0.0.1")
    except CannotListenError:
        refuse("port", "one that is free", str(given["port"]))
    # Not the reactor's handler: that one would wait for a computation to be done.
    end_when_told()
    print(f"::ready port={port.getHost().port}", flush=True)
    reactor.run(installSignalHandlers=False)


if __name__ == "__main__":
    main()
