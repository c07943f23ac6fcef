"""Feeds of HTTP, a chunk every 200 ms, with what the first argument says wrong on them."""

import itertools
import os
import signal
import socket
import sys
import threading
import time

mode = sys.argv[1]
INTERVAL_S = 0.2
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def send(connection, text):
    data = text.encode() + b"\n"
    connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))


def feed(connection, number):
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(4096)
    name = int(request.split()[1].rpartition(b"/")[2])
    if mode == "few" and number > 4:
        return
    if mode == "starves" and number > 4:
        threading.Event().wait()
    connection.sendall(HEAD)
    send(connection, f"Welcome: {name}")
    begun = time.monotonic()
    for k in itertools.count(1):
        if mode == "halts" and number > 3 and k > 2:
            threading.Event().wait()
        hurry = INTERVAL_S * 5 if mode == "hurries" and k > 4 else 0
        time.sleep(max(0, begun + k * INTERVAL_S - hurry - time.monotonic()))
        told = k
        if mode == "skips" and k > 2:
            told = k + 1
        if mode == "repeats" and k > 2:
            told = k - 1
        send(connection, f"Chunk {told} for {name + (mode == 'mixes' and k > 2)}")


def serve(connection, number):
    try:
        feed(connection, number)
    except OSError:
        pass
    finally:
        connection.close()


server = socket.create_server(("127.0.0.1", 0), backlog=100)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print(f"::ready port={server.getsockname()[1]}", flush=True)
for number in itertools.count(1):
    one, _ = server.accept()
    threading.Thread(target=serve, args=(one, number), daemon=True).start()
