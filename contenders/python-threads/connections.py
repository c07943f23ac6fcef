"""A socket that listens, and a thread for each connection."""

import socket
import threading
import time

from arguments import refuse


def listen(host, port, backlog):
    try:
        return socket.create_server((host, port), backlog=backlog)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))


def serve(listener, converse, *args):
    """Calls `converse(connection, *args)` in a thread of its own."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            time.sleep(0.01)  # No descriptor is free: some connection may end.
            continue
        try:
            threading.Thread(target=converse, args=(connection, *args), daemon=True).start()
        except RuntimeError:
            connection.close()  # No thread can be had.
