import socket
import time

import pytest

pytest.importorskip("greenlet")

import sockets
import tasklets
from sockets import dispatch, readable, receive, send_all, sleep
from tasklets import tasklet


class Done(Exception):
    pass


@pytest.fixture(autouse=True)
def nothing_left_to_wait_for():
    yield
    tasklets._runnables.clear()
    sockets._timers.clear()


@pytest.fixture
def connected():
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    with here, there:
        yield here, there


def dispatch_until_done(function):
    def run():
        function()
        raise Done

    tasklet(run)()
    with pytest.raises(Done):
        dispatch()


def test_who_sleeps_least_wakes_first():
    log = []

    def nap(seconds):
        sleep(seconds)
        log.append(seconds)

    for seconds in (0.03, 0.01, 0.02):
        tasklet(nap)(seconds)
    dispatch_until_done(lambda: sleep(0.1))
    assert log == [0.01, 0.02, 0.03]


def test_a_wait_for_a_socket_ends_with_its_time(connected):
    here, there = connected
    log = []

    def wait():
        begin = time.monotonic()
        log.append(readable(here, 0.05))
        assert time.monotonic() - begin >= 0.05
        there.send(b"later")
        log.append(readable(here, 10))
        log.append(receive(here, 10))

    dispatch_until_done(wait)
    assert log == [False, True, b"later"]


def test_a_timer_keeps_nothing_of_who_was_woken_before(connected):
    here, there = connected

    def wait():
        there.send(b"x")
        assert readable(here, 3600)
        (_, _, waiter), *others = sockets._timers
        assert not others
        assert waiter.file is None
        assert waiter.ready is None

    dispatch_until_done(wait)


def test_a_sender_waits_until_the_peer_has_read(connected):
    here, there = connected
    data = bytes(range(256)) * 8192
    got = bytearray()

    def write():
        send_all(here, data)
        here.shutdown(socket.SHUT_WR)

    def read():
        while part := receive(there, 65536):
            got.extend(part)

    tasklet(write)()
    dispatch_until_done(read)
    assert got == data
