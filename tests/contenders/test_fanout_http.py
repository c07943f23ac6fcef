"""Every contender that has the workload `fanout`, as any server of HTTP/1.1: connections, what is no request,
the end, arguments."""

from __future__ import annotations

import resource
import signal
import socket
import struct
import time
from contextlib import ExitStack, suppress

import pytest

from ringside.measure.plain_server import free_port
from ringside.workloads.fanout.check import nothing, read_head, whole
from tests.contenders.test_ring import CATALOGUE
from tests.support import servers
from tests.support.gateways import every_contender, get, io_of, serving
from tests.support.upstreams import Make


@every_contender
@pytest.mark.soak
def test_other_paths_and_methods(name: str) -> None:
    with serving(name, "kind=cpu", "work=3") as gateway:
        client = gateway.client()
        for method, target, status in (
            ("GET", "/other", 404),
            ("GET", "/other?q", 404),
            # No URL to Java's parser.
            ("GET", "//", 400 if name == "java-virtual-threads" else 404),
            ("DELETE", "/", 405),
            ("HEAD", "/", 405),
            ("GET", "/?q=/other", 200),
        ):
            assert get(client, target, method).status == status, (method, target)
        client.close()
        client = gateway.client()
        client.request("POST", "/", body=b"something")
        assert client.getresponse().status == 405
        client.close()
        assert gateway.get().status == 200


@every_contender
@pytest.mark.soak
def test_connections_are_kept(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine)) as gateway:
        client = gateway.client()
        kept = client.sock
        for _ in range(5):
            assert get(client).statuses == "200200200"
            assert client.sock is kept
        client.close()


@every_contender
@pytest.mark.soak
def test_requests_in_pieces_and_requests_together(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway, gateway.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"
        for piece in (request[:3], request[3:20], request[20:-1], request[-1:]):
            connection.sendall(piece)
            time.sleep(0.05)
        assert read_bodies(connection, 1) == ["10\n10\n10\n"]
        connection.sendall(request * 3)
        assert read_bodies(connection, 3) == ["10\n10\n10\n"] * 3


def read_bodies(connection: socket.socket, count: int) -> list[str]:
    """So many chunked answers, byte by byte: nothing of the next one is taken."""

    def line() -> bytes:
        found = b""
        while not found.endswith(b"\n"):
            byte = connection.recv(1)
            assert byte, found
            found += byte
        return found

    bodies = []
    for _ in range(count):
        assert read_head(line).startswith("HTTP/1.1 200 ")
        body = b""
        while size := int(line(), 16):
            body += b"".join(connection.recv(1) for _ in range(size))
            assert line() == b"\r\n"
        assert line() == b"\r\n"
        bodies.append(body.decode())
    return bodies


@every_contender
@pytest.mark.soak
def test_a_client_that_asks_for_the_end_gets_it(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway, gateway.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
        assert read_bodies(connection, 1) == ["10\n10\n10\n"]
        assert connection.recv(1) == b""


@every_contender
@pytest.mark.soak
def test_what_is_no_request_harms_nobody(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway:
        for text in (
            b"nonsense\r\n\r\n",
            b"\x00\x01\x02\xff\r\n\r\n",
            b"\r\n\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nLong: " + b"x" * 200_000 + b"\r\n\r\n",
        ):
            with gateway.connect() as connection, suppress(OSError):
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        assert gateway.get().body == "10\n10\n10\n"


@every_contender
@pytest.mark.soak
def test_clients_that_go_away(name: str, upstream: Make) -> None:
    slow = upstream(whole(200, 0.3))
    request = b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"
    with serving(name, *io_of(slow, slow, slow)) as gateway, ExitStack() as stack:
        for index in range(24):
            connection = stack.enter_context(gateway.connect())
            kind = index % 4
            connection.sendall(request[:20] if kind == 3 else request * (40 if kind == 2 else 1))
            if kind == 0:
                time.sleep(0.07)
                connection.close()
            elif kind == 1:
                # Reset, in the middle of the answer.
                time.sleep(0.07)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            # The others stay: one never reads its answers, one never ends its request.
        assert gateway.get().statuses == "200200200"
        time.sleep(0.5)
        assert gateway.get().statuses == "200200200"


@every_contender
@pytest.mark.soak
def test_a_thousand_connections(name: str, upstream: Make) -> None:
    most = CATALOGUE.contender(name).workloads["fanout"].most
    count = min(1000, *most.values()) if most else 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5000:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    fine = upstream(whole())
    try:
        with serving(name, *io_of(fine, fine, fine), "timeout_ms=30000") as gateway, ExitStack() as stack:
            connections = [stack.enter_context(gateway.connect()) for _ in range(count)]
            for connection in connections:
                connection.sendall(b"GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n")
            for connection in connections:
                assert connection.recv(4096).startswith(b"HTTP/1.1 404 ")
            for connection in connections[::50]:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
            for connection in connections[::50]:
                assert connection.recv(4096).startswith(b"HTTP/1.1 ")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@every_contender
@pytest.mark.parametrize("how", ["SIGTERM", "the end of stdin"])
@pytest.mark.soak
def test_the_end_with_requests_under_way(name: str, how: str, upstream: Make) -> None:
    never = upstream(nothing)
    with serving(name, *io_of(never, never, never), "timeout_ms=60000") as gateway, ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(gateway.connect())
            connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
            # A dot, at least.
            assert connection.recv(1)
        if how == "SIGTERM":
            gateway.process.send_signal(signal.SIGTERM)
        else:
            assert gateway.process.stdin is not None
            gateway.process.stdin.close()
        servers.assert_ended_well(gateway.process)


@every_contender
@pytest.mark.soak
def test_the_end_with_sums_under_way(name: str) -> None:
    with serving(name, "kind=cpu", "work=1000000000") as gateway, gateway.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
        time.sleep(0.1)
        gateway.process.send_signal(signal.SIGTERM)
        servers.assert_ended_well(gateway.process)


@every_contender
@pytest.mark.soak
def test_it_listens_where_it_is_told(name: str) -> None:
    port = free_port()
    with serving(name, "kind=cpu", "work=2", f"port={port}") as gateway:
        assert gateway.port == port
        assert gateway.get().body == "1\n1\n1\n"


THREE = "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,http://127.0.0.1:9/"


@every_contender
@pytest.mark.parametrize(
    "bad",
    [
        [],
        ["kind=disk"],
        ["kind="],
        ["kind=io"],
        ["kind=io", "upstreams="],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/"],
        ["kind=io", THREE + ",http://127.0.0.1:9/"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,https://127.0.0.1:9/"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,nonsense"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,http://127.0.0.1:nine/"],
        ["kind=io", THREE, "tick_ms=0"],
        ["kind=io", THREE, "timeout_ms=soon"],
        ["kind=io", THREE, "tick_ms=-5"],
        ["kind=mixed"],
        ["kind=mixed", THREE, "work=0"],
        ["kind=cpu", "work=0"],
        ["kind=cpu", "work=1000000001"],
        ["kind=cpu", "work=ten"],
        ["kind=cpu", "port=65536"],
        ["kind=cpu", "port=http"],
        ["kind=cpu", "cores=0"],
    ],
    ids=" ".join,
)
@pytest.mark.soak
def test_a_bad_value_gets_status_2_and_one_line(name: str, bad: list[str]) -> None:
    process = servers.start("fanout", name, *bad)
    with servers.killed_at_last(process):
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 2, (stdout, stderr)
    assert stdout == b""
    assert len(stderr.decode().strip().splitlines()) == 1, stderr
