"""Answers of upstreams to gateways under test, beside those of `ringside.workloads.fanout.check`."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from ringside.measure.plain_server import free_port
from ringside.workloads.fanout.check import Upstream, nothing


def chunked(connection: socket.socket) -> bool:
    connection.sendall(b"HTTP/1.1 203 Said\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
    time.sleep(0.05)
    connection.sendall(b"lo\r\n1;why=not\r\n!\r\n0\r\nTrailer: yes\r\n\r\n")
    return True


def garbage(connection: socket.socket) -> bool:
    connection.sendall(b"SSH-2.0-something_else\r\n\r\n")
    return nothing(connection)


def closed_port() -> str:
    return f"http://127.0.0.1:{free_port()}/"


Make = Callable[..., Upstream]
