"""How the servers on the reactor begin."""

from twisted.internet import reactor
from twisted.internet.error import CannotListenError

from arguments import refuse, report
from service import end_when_told, raise_file_limit


def serve(port, factory, backlog, host):
    """Listens, says so, and runs the reactor until the end of the program."""
    raise_file_limit()
    try:
        listening = reactor.listenTCP(port, factory, backlog=backlog, interface=host)
    except CannotListenError:
        refuse("port", f"one that is free on {host}", str(port))
    # Not the reactor's handler: that one would wait for a computation to be done, or for its turn among
    # ten thousand feeds.
    end_when_told()
    report(f"::ready port={listening.getHost().port}")
    reactor.run(installSignalHandlers=False)
