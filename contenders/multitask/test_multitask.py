import socket
import time

import pytest
from multitask import (
    Queue,
    TaskManager,
    Timeout,
    accept,
    readable,
    recv,
    send,
    sendall,
    sleep,
    writable,
)


def run(*generators):
    manager = TaskManager()
    for generator in generators:
        manager.add(generator)
    manager.run()


@pytest.fixture
def connected():
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    with here, there:
        yield here, there


@pytest.mark.parametrize("maxsize", [0, 1, 2, 5])
@pytest.mark.parametrize("getter_first", [False, True])
def test_items_leave_in_the_order_in_which_they_came(maxsize, getter_first):
    queue = Queue(maxsize)
    got = []

    def put():
        for item in range(10):
            yield queue.put(item)

    def get():
        for _ in range(10):
            got.append((yield queue.get()))

    run(*((get(), put()) if getter_first else (put(), get())))
    assert got == list(range(10))


def test_a_full_queue_holds_the_putter_back():
    queue = Queue(maxsize=2)
    put_items = []

    def put():
        for item in range(5):
            yield queue.put(item)
            put_items.append(item)

    run(put())
    assert put_items == [0, 1]
    assert len(queue) == 2


def test_every_operation_ends_a_turn():
    """Also where there is room, and where there is an item."""
    manager, queue, seen = TaskManager(), Queue(), []

    def putter(name):
        for number in range(3):
            yield queue.put(number)
            seen.append(name)

    def getter():
        for _ in range(6):
            yield queue.get()
            seen.append("got")

    manager.add(putter("a"))
    manager.add(putter("b"))
    manager.run()
    assert seen == ["a", "b"] * 3
    manager.add(getter())
    manager.add(putter("c"))
    manager.run()
    assert seen[6:12] == ["got", "c"] * 3


def test_waiting_tasks_are_served_in_turn():
    queue = Queue()
    got = []

    def get(name):
        got.append((name, (yield queue.get())))

    def put():
        yield sleep(0)
        for item in range(3):
            yield queue.put(item)

    run(get("a"), get("b"), get("c"), put())
    assert got == [("a", 0), ("b", 1), ("c", 2)]


def test_waiting_putters_are_served_in_turn():
    queue = Queue(maxsize=1)
    got = []

    def put(item):
        yield queue.put(item)

    def get():
        for _ in range(4):
            got.append((yield queue.get()))
            yield sleep(0)

    run(put(0), put(1), put(2), put(3), get())
    assert got == [0, 1, 2, 3]


def test_get_times_out():
    queue = Queue()
    log = []

    def get():
        try:
            yield queue.get(timeout=0.01)
        except Timeout:
            log.append("timeout")
        log.append((yield queue.get()))

    def put():
        yield sleep(0.03)
        yield queue.put("late")

    run(get(), put())
    assert log == ["timeout", "late"]


def test_get_in_time_is_not_disturbed_by_its_timer():
    queue = Queue()
    log = []

    def get():
        log.append((yield queue.get(timeout=0.02)))
        yield sleep(0.04)
        log.append("undisturbed")

    def put():
        yield sleep(0)
        yield queue.put("in time")

    run(get(), put())
    assert log == ["in time", "undisturbed"]


def test_timed_operations_that_need_not_wait():
    queue = Queue(maxsize=1)
    log = []

    def task():
        yield queue.put("item", timeout=1)
        log.append((yield queue.get(timeout=1)))

    began = time.monotonic()
    run(task())
    assert log == ["item"]
    assert time.monotonic() - began < 1


def test_put_times_out_and_its_item_is_not_queued():
    queue = Queue(maxsize=1)

    def put():
        yield queue.put("first")
        with pytest.raises(Timeout):
            yield queue.put("second", timeout=0.01)

    run(put())
    assert len(queue) == 1


def test_sleepers_wake_in_the_order_of_their_times():
    log = []

    def task(seconds):
        yield sleep(seconds)
        log.append(seconds)

    run(task(0.03), task(0.01), task(0.02), task(0))
    assert log == [0, 0.01, 0.02, 0.03]


def test_others_run_while_one_sleeps_for_no_time():
    log = []

    def task(name):
        for _ in range(2):
            log.append(name)
            yield sleep(0)

    run(task("a"), task("b"))
    assert log == ["a", "b", "a", "b"]


def test_an_error_leaves_run_and_the_others_can_go_on():
    log = []

    def fail():
        yield sleep(0)
        raise LookupError("lost")

    def task():
        yield sleep(0)
        yield sleep(0)
        log.append("done")

    manager = TaskManager()
    manager.add(fail())
    manager.add(task())
    with pytest.raises(LookupError):
        manager.run()
    manager.run()
    assert log == ["done"]


def test_tasks_may_add_tasks():
    manager = TaskManager()
    log = []

    def child(number):
        yield sleep(0)
        log.append(number)

    def parent():
        for number in range(3):
            manager.add(child(number))
            yield sleep(0)

    manager.add(parent())
    manager.run()
    assert log == [0, 1, 2]


def test_results_of_generators_that_are_delegated_to():
    queue = Queue()
    log = []

    def double():
        return 2 * (yield queue.get())

    def task():
        yield queue.put(21)
        log.append((yield from double()))

    run(task())
    assert log == [42]


def test_an_echo_over_tcp():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    log = []

    def serve():
        connection, _ = yield from accept(listener)
        with connection:
            while data := (yield from recv(connection, 100)):
                yield from sendall(connection, data.upper())

    def ask():
        client = socket.create_connection(listener.getsockname())
        client.setblocking(False)
        with client:
            for text in (b"one", b"two"):
                yield from send(client, text)
                log.append((yield from recv(client, 100)))

    with listener:
        run(serve(), ask())
    assert log == [b"ONE", b"TWO"]


def test_sendall_waits_until_the_peer_has_read(connected):
    here, there = connected
    data = bytes(range(256)) * 8192
    got = bytearray()

    def write():
        yield from sendall(here, data)
        here.shutdown(socket.SHUT_WR)

    def read():
        while part := (yield from recv(there, 65536)):
            got.extend(part)

    run(write(), read())
    assert got == data


def test_one_socket_is_read_and_written_at_the_same_time(connected):
    here, there = connected
    log = []

    def read():
        yield readable(here)
        log.append("readable")

    def write():
        yield writable(here)
        log.append("writable")
        there.send(b"x")

    run(read(), write())
    assert log == ["writable", "readable"]


def test_recv_times_out_and_the_socket_is_not_watched_any_more(connected):
    here, there = connected
    log = []

    def task():
        with pytest.raises(Timeout):
            yield from recv(here, 10, timeout=0.01)
        there.send(b"later")
        log.append((yield from recv(here, 10, timeout=1)))

    run(task())
    assert log == [b"later"]


def test_two_tasks_may_not_wait_for_the_same_event(connected):
    here, there = connected
    log = []

    def first():
        yield readable(here)
        log.append("first")

    def second():
        with pytest.raises(RuntimeError, match="another task"):
            yield readable(here)
        with pytest.raises(RuntimeError, match="another task"):
            yield readable(here, timeout=1)
        there.send(b"x")

    run(first(), second())
    assert log == ["first"]


def test_waiting_for_a_closed_socket_fails_in_the_task(connected):
    here, _ = connected
    here.close()

    def task():
        with pytest.raises(ValueError):
            yield readable(here)

    run(task())


def test_a_busy_connection_leaves_the_others_their_turns(connected):
    here, there = connected
    there.send(b"x" * 1000)
    log = []

    def busy():
        for _ in range(3):
            yield from recv(here, 1)
            log.append("busy")

    def other():
        for _ in range(3):
            yield sleep(0)
            log.append("other")

    run(busy(), other())
    assert log == ["busy", "other"] * 3
