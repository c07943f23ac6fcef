"""A server of fib that is good, or what its first argument says; a plain one does not say its port."""

import itertools
import os
import signal
import socket
import socketserver
import sys
import threading
import time

how = sys.argv[1]
given = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
HOST = "127.0.0.2" if how in ("listens-elsewhere", "hides-behind-another") else given.get("host", "127.0.0.1")
answers = itertools.count(1)


def fib(n):
    return 1 if n <= 2 else fib(n - 1) + fib(n - 2)


class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        if how.endswith("without-end"):
            self.rfile.readline()
            send_without_end(self.request)
        if how == "answers-unasked":
            self.wfile.write(b"1\n" * 1000)
        for line in self.rfile:
            number = next(answers)
            if how == "dies" and number == 10:
                os._exit(3)
            answer = fib(int(line)) + (how == "lies" and number == 10)
            self.wfile.write(b"%d\n" % answer)


def send_without_end(client):
    piece = b"1"
    if how == "sends-chunks-without-end":
        client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"1\r\nx\r\n"
    while True:
        client.sendall(piece)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


def end(*_):
    # The requests of the trial before the first block are ten.
    if how != "deaf" and not (how == "deaf-under-load" and next(answers) > 100):
        os._exit(0)


signal.signal(signal.SIGTERM, end)
if how == "silent":
    sys.exit(0)
if how == "ready-too-soon":
    with socket.create_server((HOST, 0)) as unused:
        port = unused.getsockname()[1]
    print(f"::ready port={port}", flush=True)
    time.sleep(0.5)
port = int(given.get("port", 0))
if how == "hides-behind-another":
    # The port of another server on 127.0.0.1.
    port = int(sys.argv[2])
with Server((HOST, port), Handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if how != "plain":
        print(f"::ready port={server.server_address[1]}", flush=True)
    while True:
        signal.pause()
