"""Sockets for tasklets. One that has to wait receives from a channel; `dispatch`, in the main
tasklet, looks which sockets are ready, and sends. Sockets must not block."""

from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from tasklets import channel, run

_selector = DefaultSelector()  # a key's data: the channel of the tasklet that waits


def dispatch():
    """Lets the tasklets run and wakes those whose sockets are ready, for ever."""
    while True:
        run()
        for key, _ in _selector.select():
            _selector.unregister(key.fileobj)
            key.data.send(None)


def accept(listener):
    _wait(listener, EVENT_READ)
    connection, _ = listener.accept()
    connection.setblocking(False)
    return connection


def receive(connection, size):
    _wait(connection, EVENT_READ)
    return connection.recv(size)


def send_all(connection, data):
    while data:
        try:
            data = data[connection.send(data) :]
        except BlockingIOError:
            _wait(connection, EVENT_WRITE)


def _wait(file, event):
    ready = channel()
    _selector.register(file, event, ready)
    ready.receive()
