"""`ringside load` by HTTP/2: the real command, the real engine, the server of Go's standard library."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import in_process, load_document
from tests.support.started import ports_of

SERVER = r"""
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
		fmt.Fprintf(w, "%s %s", r.Proto, r.URL.Path)
	})
	http.HandleFunc("/feed", func(w http.ResponseWriter, r *http.Request) {
		for k := 0; ; k++ {
			if _, err := fmt.Fprintf(w, "chunk %d", k); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	for path, status := range map[string]int{"/204": 204, "/304": 304} {
		http.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	http.HandleFunc("/early/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early/413" {
			w.WriteHeader(413)
		}
		io.WriteString(w, "no need")
	})
	http.HandleFunc("/head/", func(w http.ResponseWriter, r *http.Request) {
		var size int
		fmt.Sscanf(r.URL.Path, "/head/%d", &size)
		w.Header().Set("X-Large", strings.Repeat("x", size))
		io.WriteString(w, "large")
	})
	http.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(103)
		w.WriteHeader(103)
		io.WriteString(w, "hints")
	})
	both := new(http.Protocols)
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	plain, _ := net.Listen("tcp", "127.0.0.1:0")
	secure, _ := net.Listen("tcp", "127.0.0.1:0")
	go (&http.Server{Protocols: both}).Serve(plain)
	fmt.Println(plain.Addr().(*net.TCPAddr).Port, secure.Addr().(*net.TCPAddr).Port)
	http.ServeTLS(secure, nil, os.Args[1], os.Args[2])
}
"""

pytestmark = pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")


@pytest.fixture(scope="module")
def servers(certificates: Path) -> Iterator[tuple[int, int]]:
    """The ports of a server of HTTP/1.1 and HTTP/2, plain and inside TLS."""
    (certificates / "server.go").write_text(SERVER)
    build = ["go", "build", "-o", "server", "server.go"]
    built = subprocess.run(build, cwd=certificates, capture_output=True, text=True, check=False)
    if "SetUnencryptedHTTP2" in built.stderr:
        pytest.skip("Go 1.24 or newer is needed for HTTP/2 without TLS")
    assert built.returncode == 0, built.stderr
    with ports_of(["./server", "own.pem", "own.key"], certificates) as (plain, secure):
        yield plain, secure


@pytest.mark.parametrize("io", ["epoll", "uring"])
@pytest.mark.parametrize("loop", [(), ("--rate", "300")])
def test_several_requests_on_each_connection(
    servers: tuple[int, int], certificates: Path, workplace: Path, loop: tuple[str, ...], io: str
) -> None:
    few = ("--requests", "120", "--connections", "3", "-m", "5", "--io", io, *loop)
    expected = ("--expect-body", "HTTP/2.0 /x")
    trust = ("--http2", "--cacert", str(certificates / "own.pem"))
    secure = f"localhost:{servers[1]}/x", *trust
    for target in (
        (f"h2://127.0.0.1:{servers[0]}/x",),
        (f"https://{secure[0]}", *secure[1:]),
        (f"h2s://{secure[0]}", *secure[2:]),
    ):
        load = load_document(*target, *few, *expected)
        assert (load["requests"] + load["late_requests"], load["errors"]) == (120, {})
        assert (load["connections"]["opened"], load["connections"]["most_open"]) == (3, 3)
        assert (load["handshake_ms"] is None) == (len(target) == 1)


def test_bodies_placeholders_and_streams(servers: tuple[int, int], workplace: Path) -> None:
    target = f"h2://127.0.0.1:{servers[0]}"
    expected = ("--expect-contains", "xHTTP/2.0 /")
    load = load_document(
        f"{target}/{{n}}", "--requests", "30", "-m", "4", "--body", "{n}x", "--placeholders", *expected
    )
    assert (load["requests"], load["errors"]) == (30, {})
    load = load_document(f"{target}/7", "--requests", "10", "-m", "2", "--body", "x" * 100_000, *expected)
    assert (load["requests"], load["errors"]) == (10, {})
    streams = load_document(
        f"stream+{target}/feed",
        *("--connections", "2", "-m", "3", "--duration", "700ms"),
        *("--first", "chunk 0", "--chunk", "chunk {k}", "--interval", "100ms"),
    )
    assert streams["messages"] > 12
    assert set(streams["sequence"].values()) == {0}


@pytest.mark.parametrize("io", ["epoll", "uring"])
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/x", ("--method", "HEAD", "--expect-status", "200")),
        ("/204", ("--expect-status", "204")),
        ("/304", ("--method", "HEAD", "--expect-status", "304")),
    ],
)
def test_replies_without_a_body(
    servers: tuple[int, int], workplace: Path, path: str, arguments: tuple[str, ...], io: str
) -> None:
    few = ("--requests", "40", "--connections", "2", "-m", "4", "--io", io, *arguments)
    load = load_document(f"h2://127.0.0.1:{servers[0]}{path}", *few, "--expect-body", "")
    assert (load["requests"], load["errors"]) == (40, {})
    assert load["connections"]["opened"] == 2


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_replies_before_the_body_was_read(
    servers: tuple[int, int], certificates: Path, workplace: Path, io: str
) -> None:
    """The server ends the stream without an error, once it has answered (RFC 9113, section 8.1)."""
    Path("body").write_bytes(b"x" * 1_500_000)
    few = ("--requests", "20", "--connections", "2", "-m", "3", "--body", "@body", "--io", io)
    trust = ("--http2", "--cacert", str(certificates / "own.pem"))
    for target in (
        (f"h2://127.0.0.1:{servers[0]}",),
        (f"https://localhost:{servers[1]}", *trust),
    ):
        early = load_document(f"{target[0]}/early/", *target[1:], *few, status=1)
        assert (early["requests"], early["errors"]) == (0, {"early-reply": 20})
        refused = load_document(f"{target[0]}/early/413", *target[1:], *few, status=1)
        assert (refused["errors"], refused["statuses"]) == ({"status": 20}, {"413": 20})
        whole = load_document(f"{target[0]}/x", *target[1:], *few, "--expect-contains", "xHTTP/2.0 /x")
        assert (whole["requests"], whole["errors"]) == (20, {})


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_large_bodies_on_several_streams_wait_for_the_server(
    servers: tuple[int, int], certificates: Path, workplace: Path, io: str
) -> None:
    """More is to be sent than the kernel takes: the connection goes on when there is room."""
    Path("body").write_bytes(b"x" * 3_000_000)
    few = ("--requests", "30", "--connections", "2", "-m", "4", "--body", "@body", "--io", io)
    trust = ("--http2", "--cacert", str(certificates / "own.pem"))
    for target in ((f"h2://127.0.0.1:{servers[0]}/x",), (f"https://localhost:{servers[1]}/x", *trust)):
        load = load_document(*target, *few, "--expect-contains", "xHTTP/2.0 /x")
        assert (load["requests"], load["errors"]) == (30, {})


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_heads_of_replies_have_a_limit(servers: tuple[int, int], workplace: Path, io: str) -> None:
    few = ("--requests", "6", "--connections", "2", "-m", "2", "--io", io)
    target = f"h2://127.0.0.1:{servers[0]}/head"
    load = load_document(f"{target}/200000", *few, "--expect-body", "large")
    assert (load["requests"], load["errors"]) == (6, {})
    load = load_document(f"{target}/300000", *few, "--duration", "5s", status=1)
    assert (load["requests"], set(load["errors"])) == (0, {"too-large"})


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_interim_replies(servers: tuple[int, int], workplace: Path, io: str) -> None:
    """103 (Early Hints) before a reply, and 100 before the body of a request is read."""
    few = ("--requests", "40", "--connections", "2", "-m", "4", "--io", io)
    target = f"h2://127.0.0.1:{servers[0]}"
    load = load_document(f"{target}/hints", *few, "--expect-body", "hints")
    assert (load["requests"], load["statuses"]) == (40, {"200": 40})
    expecting = ("--header", "Expect: 100-continue", "--body", "y" * 3000)
    load = load_document(f"{target}/x", *few, *expecting, "--expect-body", "y" * 3000 + "HTTP/2.0 /x")
    assert (load["requests"], load["statuses"]) == (40, {"200": 40})


def test_both_versions_compared(servers: tuple[int, int], certificates: Path, workplace: Path) -> None:
    target = f"localhost:{servers[1]}/y"
    few = ("--requests", "24", "--blocks", "2", "--connections", "2", "-m", "3")
    trust = ("--cacert", str(certificates / "own.pem"))
    pair = (f"https://{target}", "--vs", f"h2s://{target}")
    compared = load_document(*pair, *few, *trust)
    assert {(run["name"], run["requests"]) for run in compared["runs"]} == {("A", 12), ("B", 12)}
    shown = " ".join(in_process("load", *pair, *few, *trust).stdout.split())
    assert "A: HTTP/1.1, B: HTTP/2 with 3 streams on each connection" in shown
    same = (f"h2s://{target}", "--vs", f"h2://localhost:{servers[0]}/y")
    shown = " ".join(in_process("load", *same, *few, *trust).stdout.split())
    assert "HTTP/2 with 3 streams on each connection, uring each" in shown
    assert "HTTP/1.1" not in shown


def test_a_server_that_does_not_choose_it(http: str, servers: tuple[int, int]) -> None:
    load = load_document(f"h2{http[4:]}/", "--requests", "4", "--timeout", "2s", status=1)
    assert load["requests"] == 0
    assert load["errors"]
