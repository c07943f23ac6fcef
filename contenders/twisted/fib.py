"""The fibonacci service on Twisted's LineReceiver. It computes in the reactor."""

from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineReceiver
from zope.interface import implementer

import arguments
from arguments import whole_number
from serving import serve

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
        # Without this interface, Twisted drops unwritten bytes when a client has sent everything.
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


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
    }


def main():
    given = settings()
    serve(given["port"], Factory.forProtocol(Fib), backlog=1024, host=given["host"])


if __name__ == "__main__":
    main()
