"""Abilities that the libraries of some gateways lack, as their READMEs say, and that all others have."""

import re
import socket
from pathlib import Path

import pytest

from ringside.conformance.common import in_time
from ringside.conformance.http import Client
from ringside.conformance.servers import running
from ringside.workloads.fanout.check import Upstream, says, whole
from tests.support import ROOT
from tests.support.processes import is_over
from tests.support.programs import having, subject

# Their libraries send the head by itself.
HEAD_ALONE = ("c-microhttpd", "ruby-async-http")
# Their clients take a 103 for the answer.
NO_EARLY_HINTS = ("haskell",)
FOLDER = ROOT / "contenders"
EARLY_HINTS = says(
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Said\r\nContent-Length: 0\r\n\r\n"
)


def arguments(upstreams: list[Upstream]) -> list[str]:
    urls = ",".join(upstream.url for upstream in upstreams)
    return ["port=0", "cores=1", "kind=io", f"upstreams={urls}"]


@pytest.mark.parametrize("name", [name for name in having("fanout") if name not in HEAD_ALONE])
def test_head_and_end_travel_with_the_body(name: str, tmp_path: Path) -> None:
    """The head comes with the first piece, the end with the last."""
    with Upstream(whole()) as quick, Upstream(whole(200, 0.3)) as slow:
        words = [*arguments([quick, quick, slow]), "tick_ms=60000"]
        with running(subject(name, "fanout", tmp_path), *words) as server:

            def attempt() -> None:
                with server.connect() as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    received = [connection.recv(65536)]
                    while not received[-1].endswith(b"0\r\n\r\n"):
                        received.append(connection.recv(65536))
                # A size may have zeros in front.
                first = re.search(rb"\r\n\r\n0*(3\r\n200|6\r\n200200)\r\n", received[0])
                last = re.fullmatch(rb"0*3\r\n200\r\n0\r\n\r\n", received[-1])
                if not first or not last:
                    raise ValueError(received)

            in_time(attempt)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in having("fanout") if name not in NO_EARLY_HINTS])
def test_early_hints_are_no_answer(name: str, tmp_path: Path) -> None:
    with (
        Upstream(EARLY_HINTS) as hinting,
        running(subject(name, "fanout", tmp_path), *arguments([hinting] * 3)) as server,
        server.connect() as connection,
    ):
        assert Client(connection).get().body.replace(".", "") == "404404404"


def readme_says(name: str) -> str:
    """The README's statement about calls whose client hung up."""
    found = re.search(
        r"^\*\*When a client hangs up\.\*\* (.+)$",
        (FOLDER / name.partition("@")[0] / "README.md").read_text(),
        re.M,
    )
    assert found, f"{name}: its README does not say what becomes of calls when a client hangs up"
    return found[1]


@pytest.mark.parametrize("name", having("fanout"))
def test_a_readme_says_what_becomes_of_calls_for_nobody(name: str) -> None:
    assert readme_says(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", having("fanout"))
def test_calls_for_nobody_are_as_the_readme_says(name: str, tmp_path: Path) -> None:
    were_ended: list[bool] = []

    def waits(connection: socket.socket) -> bool:
        """Notes whether the caller ends its call within two seconds, forty ticks."""
        connection.settimeout(2.0)
        try:
            were_ended.append(not connection.recv(1))
        except OSError as error:
            were_ended.append(not isinstance(error, TimeoutError))
        return False

    with (
        Upstream(waits) as upstream,
        running(subject(name, "fanout", tmp_path), *arguments([upstream] * 3)) as server,
    ):
        with server.connect() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert is_over(lambda: len(upstream.heads) >= 3, 20)
        assert is_over(lambda: len(were_ended) >= 3, 20)
    goes_on = "to their end" in readme_says(name) or "to its end" in readme_says(name)
    assert were_ended == [not goes_on] * 3
