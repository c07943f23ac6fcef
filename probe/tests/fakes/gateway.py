"""A server of HTTP that does what its first argument says; the others are key=value."""

import contextlib
import http.client
import itertools
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

mode = sys.argv[1]
given = dict(argument.split("=", 1) for argument in sys.argv[2:])
upstreams = [url for url in given.get("upstreams", "").split(",") if url]
requests = itertools.count(1)


def call(url, name):
    place = urlsplit(url)
    # One that cuts off gives a call up long before it is answered.
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=1 if mode == "cuts" else None)
    connection.request("GET", "/", headers={"X-Request-Id": name})
    with contextlib.suppress(TimeoutError):
        connection.getresponse().read()
    connection.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        number = next(requests)
        if mode == "falls":
            # Nobody is answered, and its end comes some time after: by the kernel's clock, not by a thread that
            # has to have its turn.
            if number == 1:
                signal.setitimer(signal.ITIMER_REAL, 1)
            threading.Event().wait()
        if mode == "dies" and number == 5:
            os._exit(3)
        if mode == "waits":
            # It begins with nobody who is gone by then.
            time.sleep(1)
            with contextlib.suppress(OSError):
                self.connection.setblocking(False)
                if not self.connection.recv(1, socket.MSG_PEEK):
                    self.close_connection = True
                    return
            self.connection.setblocking(True)
        called = upstreams[:2] if mode == "two" else upstreams
        units = [threading.Thread(target=call, args=(url, self.headers["X-Request-Id"])) for url in called]
        for unit in units:
            unit.start()
            if mode == "one-by-one":
                unit.join()
        for unit in units:
            unit.join()
        body = b"hell0" if mode == "lies" and number == 5 else b"hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server((given.get("host", "127.0.0.1"), 0), Handler)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
if mode == "silent":
    # It listens, and answers nobody.
    print(f"::ready port={server.server_port}", flush=True)
    threading.Event().wait()
print("::ready" if mode == "portless" else f"::ready port={server.server_port}", flush=True)
server.serve_forever()
