"""Conformance of every contender that has the workload `fanout` (docs/PROTOCOL.md), over real sockets.

What they have in common with any server of HTTP: tests/contenders/test_fanout_http.py. Nothing here measures:
where time is the subject, a machine that stalled gets another try, and the bounds are wide.
"""

from __future__ import annotations

import itertools
import re
import socket
import threading
import time
from contextlib import suppress

import pytest

from ringside.workloads.fanout.check import nothing, says, whole
from tests.support.gateways import CONTENDERS, PATIENCE_S, every_contender, get, io_of, on_a_good_day, serving
from tests.support.upstreams import Make, chunked, closed_port, garbage

# Their libraries send the head by itself, as their READMEs say.
HEAD_ALONE = ("c-microhttpd", "ruby-async")
# Their clients take a 103 for the answer, as their READMEs say.
NO_EARLY_HINTS = ("haskell",)


# --- kind=io ------------------------------------------------------------------------------------------------


@every_contender
def test_the_statuses_of_three_upstreams(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine), "colour=red") as gateway:
        for target in ("/", "/?why=not"):
            reply = gateway.get(target)
            assert reply.status == 200
            assert reply.headers["Content-Type"].startswith("text/plain")
            assert reply.headers["Transfer-Encoding"] == "chunked"
            assert re.fullmatch(r"\.*200\.*200\.*200", reply.body), reply


@every_contender
@pytest.mark.soak
def test_the_three_calls_are_under_way_at_the_same_time(name: str, upstream: Make) -> None:
    meeting = threading.Barrier(3)

    def answer(connection: socket.socket) -> bool:
        meeting.wait(PATIENCE_S)
        return whole()(connection)

    three = [upstream(answer) for _ in range(3)]
    with serving(name, *io_of(*three), "timeout_ms=25000") as gateway:
        for _ in range(3):
            assert gateway.get().statuses == "200200200"
    # And when all three are one server.
    one = upstream(answer)
    with serving(name, *io_of(one, one, one), "timeout_ms=25000") as gateway:
        assert gateway.get().statuses == "200200200"


@every_contender
def test_the_request_and_its_id_reach_all_three(name: str, upstream: Make) -> None:
    three = [upstream(whole()) for _ in range(3)]
    urls = [one.url + path for one, path in zip(three, ("", "deep/path", "a?b=c"), strict=True)]
    with serving(name, *io_of(*urls)) as gateway:
        assert gateway.get(X_Request_Id="one: 1/2").statuses == "200200200"
        assert gateway.get().statuses == "200200200"
        assert gateway.get(x_REQUEST_id="three").statuses == "200200200"
    for one, path in zip(three, ("/", "/deep/path", "/a?b=c"), strict=True):
        assert [head.split("\r\n")[0] for head in one.heads] == [f"GET {path} HTTP/1.1"] * 3
        for head in one.heads:
            assert f"\r\nhost: 127.0.0.1:{one.port}\r\n" in head.lower()
        ids = [re.findall(r"(?im)^X-Request-Id: *(.*)\r$", head) for head in one.heads]
        assert ids == [["one: 1/2"], [], ["three"]]


@every_contender
@pytest.mark.soak
def test_statuses_are_sent_as_they_arrive(name: str, upstream: Make) -> None:
    three = [upstream(whole(201, 0.6)), upstream(whole(202)), upstream(whole(203, 0.3))]
    with serving(name, *io_of(*three)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert reply.statuses == "202203201", reply
            assert reply.when("202") < reply.when("203") - 0.15, reply
            assert reply.when("203") < reply.when("201") - 0.15, reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_a_dot_for_every_tick_in_which_nothing_was_written(name: str, upstream: Make) -> None:
    slow = upstream(whole(200, 1.0))
    with serving(name, *io_of(slow, slow, slow)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert re.fullmatch(r"\.+200\.*200\.*200", reply.body), reply
            instants = [instant for instant, piece in reply.pieces for dot in piece if dot == "."]
            # Never early, however slow the machine; in time, where the machine lets it.
            for index, instant in enumerate(instants, start=1):
                assert instant >= index * 0.05 - 0.002, reply
            gaps = [later - earlier for earlier, later in itertools.pairwise([0.0, *instants])]
            assert len(instants) >= 3, reply
            assert any(0.045 <= gap <= 0.08 for gap in gaps), reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_a_status_begins_a_new_tick(name: str, upstream: Make) -> None:
    three = [upstream(whole(201, 0.2)), upstream(whole(202, 0.4)), upstream(whole(203, 0.6))]
    with serving(name, *io_of(*three), "tick_ms=550") as gateway:

        def attempt() -> None:
            assert gateway.get().body == "201202203"

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_an_answer_counts_when_it_is_whole(name: str, upstream: Make) -> None:
    def late_body(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 201 Said\r\nContent-")
        time.sleep(0.2)
        connection.sendall(b"Length: 4\r\n\r\nfi")
        time.sleep(0.2)
        connection.sendall(b"ne")
        return True

    three = [upstream(late_body), upstream(whole(202)), upstream(whole(203, 0.1))]
    with serving(name, *io_of(*three)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert reply.statuses == "202203201", reply
            assert reply.when("203") < reply.when("201") - 0.1, reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_bodies_of_all_kinds(name: str, upstream: Make) -> None:
    large = upstream(whole(200, 0.0, "x" * 300_000))
    to_the_end = upstream(says("HTTP/1.0 200 Said\r\n\r\nuntil the end", goes_on=False))
    empty = upstream(says("HTTP/1.1 204 Said\r\n\r\n"))
    announced = upstream(
        says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Said\r\ncontent-length:0\r\n\r\n")
    )
    if name in NO_EARLY_HINTS:
        announced = upstream(whole(404))
    for three, expected in (
        ((large, to_the_end, upstream(chunked)), ["200", "200", "203"]),
        ((empty, announced, upstream(whole(503))), ["204", "404", "503"]),
    ):
        with serving(name, *io_of(*three)) as gateway:
            client = gateway.client()
            for _ in range(4):
                statuses = get(client).statuses
                assert sorted(re.findall("...", statuses)) == expected, statuses
            client.close()


@every_contender
@pytest.mark.soak
def test_a_redirect_is_a_status_like_any_other(name: str, upstream: Make) -> None:
    elsewhere = upstream(whole())
    redirect = upstream(
        says(f"HTTP/1.1 302 Said\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n", 0.0)
    )
    with serving(name, *io_of(redirect, redirect, redirect)) as gateway:
        assert gateway.get().statuses == "302302302"
    assert not elsewhere.heads


@every_contender
def test_an_upstream_that_fails_counts_as_400_and_the_gateway_goes_on(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    begun = "HTTP/1.1 200 Said\r\n"
    # Refuses; hangs up; breaks off before the answer, in the head, in the body, in a chunk; speaks no HTTP.
    refuses = closed_port()
    hangs_up = upstream(lambda _: False, at_accept=True)
    silent = upstream(lambda _: False)
    in_the_head = upstream(says(f"{begun}Content-", goes_on=False))
    in_the_body = upstream(says(f"{begun}Content-Length: 100\r\n\r\nnot all", goes_on=False))
    in_a_chunk = upstream(says(f"{begun}Transfer-Encoding: chunked\r\n\r\n5\r\nhel", goes_on=False))
    foreign = upstream(garbage)
    for three, expected in (
        ((fine, refuses, fine), ["200", "200", "400"]),
        ((hangs_up, silent, in_the_head), ["400"] * 3),
        ((in_the_body, in_a_chunk, foreign), ["400"] * 3),
    ):
        with serving(name, *io_of(*three), "timeout_ms=3000") as gateway:
            for _ in range(2):
                statuses = gateway.get().statuses
                assert sorted(re.findall("...", statuses)) == expected, statuses


@every_contender
@pytest.mark.soak
def test_an_upstream_that_takes_too_long_counts_as_400(name: str, upstream: Make) -> None:
    def stops_in_the_body(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 Said\r\nContent-Length: 9\r\n\r\nfine")
        return nothing(connection)

    def dribbles(connection: socket.socket) -> bool:
        """Never silent for long, and never done: the time is that of the whole call."""
        connection.sendall(b"HTTP/1.1 200 Said\r\nContent-Length: 9000\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    three = [upstream(nothing), upstream(stops_in_the_body), upstream(dribbles)]
    with serving(name, *io_of(*three), "timeout_ms=400") as gateway:
        for _ in range(2):
            reply = gateway.get()
            assert reply.statuses == "400400400", reply
            assert reply.when("400") >= 0.39, reply
            assert "." in reply.body, reply


@every_contender
@pytest.mark.soak
def test_an_upstream_may_close_between_requests(name: str, upstream: Make) -> None:
    """A kept connection that turns out to be closed is no failure of the upstream."""
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine)) as gateway:
        client = gateway.client()
        for _ in range(3):
            assert get(client).statuses == "200200200"
            for connection in fine.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            time.sleep(0.2)
        client.close()


# --- kind=cpu -----------------------------------------------------------------------------------------------


@every_contender
@pytest.mark.soak
def test_three_sums(name: str) -> None:
    for arguments, total in ((("work=10",), 45), ((), 4999950000), (("work=1",), 0)):
        with serving(name, "kind=cpu", *arguments) as gateway:
            client = gateway.client()
            for _ in range(2):
                reply = get(client)
                assert reply.status == 200
                assert reply.headers["Content-Type"].startswith("text/plain")
                assert reply.headers["Transfer-Encoding"] == "chunked"
                assert reply.body == f"{total}\n" * 3
            client.close()


@every_contender
@pytest.mark.soak
def test_many_sums_at_one_time(name: str) -> None:
    with serving(name, "kind=cpu", "work=20000", "cores=2") as gateway:
        clients = [gateway.client() for _ in range(30)]
        for client in clients:
            client.request("GET", "/")
        for client in clients:
            assert client.getresponse().read() == b"199990000\n" * 3
            client.close()


# --- kind=mixed ---------------------------------------------------------------------------------------------


@every_contender
def test_a_status_and_a_sum_of_each(name: str, upstream: Make) -> None:
    fine, refusing = upstream(whole()), closed_port()
    _, upstreams = io_of(fine, refusing, fine)
    with serving(name, "kind=mixed", upstreams, "work=10") as gateway:
        client = gateway.client()
        for _ in range(2):
            body = get(client).body
            assert sorted(body.replace(".", "").splitlines()) == ["200:45", "200:45", "400:45"], body
        client.close()


@every_contender
@pytest.mark.soak
def test_many_statuses_and_sums_at_one_time(name: str, upstream: Make) -> None:
    fine = upstream(whole(200, 0.05))
    _, upstreams = io_of(fine, fine, fine)
    with serving(name, "kind=mixed", upstreams, "work=2000", "cores=2") as gateway:
        clients = [gateway.client() for _ in range(30)]
        for client in clients:
            client.request("GET", "/")
        for client in clients:
            body = client.getresponse().read().decode()
            assert body.replace(".", "") == "200:1999000\n" * 3, body
            client.close()


@pytest.mark.parametrize("name", [name for name in CONTENDERS if name not in HEAD_ALONE])
def test_head_and_end_travel_with_the_body(name: str, upstream: Make) -> None:
    """The head comes with the first piece, the end with the last."""
    quick, slow = upstream(whole()), upstream(whole(200, 0.3))
    with serving(name, *io_of(quick, quick, slow), "tick_ms=60000") as gateway:

        def attempt() -> None:
            with gateway.connect() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                received = [connection.recv(65536)]
                while not received[-1].endswith(b"0\r\n\r\n"):
                    received.append(connection.recv(65536))
            # A size may have zeros in front.
            assert re.search(rb"\r\n\r\n0*(3\r\n200|6\r\n200200)\r\n", received[0])
            assert re.fullmatch(rb"0*3\r\n200\r\n0\r\n\r\n", received[-1])

        on_a_good_day(attempt)
