"""gevent's WSGI server."""

import socket

import gevent
from gevent.pywsgi import WSGIHandler, WSGIServer

from arguments import refuse, report

BACKLOG = 4096


class Handler(WSGIHandler):
    def __init__(self, client, *rest, **more):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(client, *rest, **more)


def serve(application, port, host):
    # A client that went away is no error, and nothing is printed for a request.
    gevent.get_hub().NOT_ERROR += (OSError,)
    server = WSGIServer(
        (host, port), application, backlog=BACKLOG, log=None, error_log=None, handler_class=Handler
    )
    try:
        server.start()
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    report(f"::ready port={server.server_port}")
    server.serve_forever()


def refuse_request(start_response, status, *headers):
    start_response(status, [("Content-Length", "0"), *headers])
    return []
