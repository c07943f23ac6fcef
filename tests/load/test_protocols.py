"""`ringside load` inside TLS and by HTTP/2: the real engine, and servers of libraries."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import TESTS
from tests.support.command_line import captured, in_process, load_document
from tests.support.odd_server import secure, serving
from tests.support.started import ports_of

needs_go = pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")


@pytest.fixture
def trust(certificates: Path, workplace: Path) -> tuple[str, str]:
    return "--cacert", str(certificates / "own.pem")


# --- TLS ---


@pytest.fixture(scope="module")
def port(certificates: Path) -> Iterator[int]:
    with serving(secure(certificates)[1]) as port:
        yield port


def test_tls(port: int, trust: tuple[str, str]) -> None:
    few = ("--requests", "60", "--connections", "3", "--rate", "200", "--expect-body", "ok")
    load = load_document(f"https://localhost:{port}/", *trust, *few)
    assert (load["requests"] + load["late_requests"], load["errors"]) == (60, {})
    assert load["security"].startswith("TLSv1.3 TLS13_")
    assert min(load["handshake_ms"]["p50"], load["connect_ms"]["p50"]) > 0


def test_tls_in_the_table_and_compared_with_plain_http(port: int, http: str) -> None:
    target = (f"https://127.0.0.1:{port}/", "--insecure", "--connections", "2")
    shown = in_process("load", *target, "--requests", "40").stdout
    assert "security     TLSv1.3 TLS13_" in shown
    assert "\nhandshake " in shown
    compared = load_document(*target, "--vs", f"{http}/b", "--requests", "24", "--blocks", "2")
    secure = {(run["name"], run["security"] is not None, run["requests"]) for run in compared["runs"]}
    assert secure == {("A", True, 12), ("B", False, 12)}


def test_a_certificate_that_nobody_trusts_gets_one_line(port: int, workplace: Path) -> None:
    done = in_process("load", f"https://localhost:{port}/", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    for part in ("certificate is not accepted: it is self-signed", "--cacert FILE", "--insecure"):
        assert part in line
    assert set(load_document(f"https://localhost:{port}/", status=1)["errors"]) == {"certificate"}


@pytest.mark.parametrize(
    ("scheme", "words", "kind", "detail"),
    [
        ("https", ("--insecure",), "tls", "what it sends is not TLS"),
        ("ws", ("--duration", "1s"), "upgrade", "it answers 200 to the request for a WebSocket"),
    ],
)
def test_a_plain_server(http: str, scheme: str, words: tuple[str, ...], kind: str, detail: str) -> None:
    load = load_document(f"{scheme}{http[4:]}/", "--requests", "4", *words, status=1)
    assert set(load["errors"]) == {kind}
    assert detail in load["detail"]


# --- HTTP/2 ---


@pytest.fixture(scope="module")
def go(certificates: Path) -> Iterator[tuple[int, int]]:
    """The ports of a server of HTTP/1.1 and HTTP/2, plain and inside TLS."""
    build = ["go", "build", "-o", "server", str(TESTS / "http_servers" / "versions.go")]
    built = captured(build, cwd=certificates)
    if "SetUnencryptedHTTP2" in built.stderr:
        pytest.skip("Go 1.24 or newer is needed for HTTP/2 without TLS")
    assert built.returncode == 0, built.stderr
    with ports_of(["./server", "own.pem", "own.key"], certificates) as (plain, secure):
        yield plain, secure


@needs_go
def test_several_requests_on_each_connection(go: tuple[int, int], trust: tuple[str, str]) -> None:
    few = ("--requests", "120", "--connections", "3", "-m", "5", "--expect-body", "HTTP/2.0 /x")
    for target in (
        (f"h2://127.0.0.1:{go[0]}/x",),
        (f"https://localhost:{go[1]}/x", *trust, "--http2"),
        (f"h2s://localhost:{go[1]}/x", *trust),
    ):
        load = load_document(*target, *few)
        assert (load["requests"], load["errors"]) == (120, {})
        assert (load["connections"]["opened"], load["connections"]["most_open"]) == (3, 3)
        assert (load["handshake_ms"] is None) == (len(target) == 1)


@needs_go
def test_large_bodies_and_replies_before_they_were_read(go: tuple[int, int], trust: tuple[str, str]) -> None:
    """More is to be sent than the kernel takes: the connection goes on when there is room. The server ends
    the stream without an error, once it has answered (RFC 9113, section 8.1)."""
    Path("body").write_bytes(b"x" * 3_000_000)
    few = ("--requests", "20", "--connections", "2", "-m", "4", "--body", "@body")
    for url, *words in ((f"h2://127.0.0.1:{go[0]}",), (f"https://localhost:{go[1]}", *trust, "--http2")):
        early = load_document(f"{url}/early/", *words, *few, status=1)
        assert (early["requests"], early["errors"]) == (0, {"early-reply": 20})
        refused = load_document(f"{url}/early/413", *words, *few, status=1)
        assert (refused["errors"], refused["statuses"]) == ({"status": 20}, {"413": 20})
        whole = load_document(f"{url}/x", *words, *few, "--expect-contains", "xHTTP/2.0 /x")
        assert (whole["requests"], whole["errors"]) == (20, {})


@needs_go
def test_both_versions_compared(go: tuple[int, int], trust: tuple[str, str]) -> None:
    few = ("--requests", "24", "--blocks", "2", "--connections", "2", "-m", "3", *trust)
    secure = f"localhost:{go[1]}/y"
    shown = " ".join(in_process("load", f"https://{secure}", "--vs", f"h2s://{secure}", *few).stdout.split())
    assert "A: HTTP/1.1, B: HTTP/2 with 3 streams on each connection" in shown
    same = (f"h2s://{secure}", "--vs", f"h2://localhost:{go[0]}/y")
    shown = " ".join(in_process("load", *same, *few).stdout.split())
    assert "HTTP/2 with 3 streams on each connection" in shown
    assert "HTTP/1.1" not in shown
