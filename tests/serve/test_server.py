"""The server of the live page: where it listens, how it ends, and what it needs."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.serve.server import PageServer, listen
from ringside.serve.source import Source
from ringside.store import Store
from tests.support.command_line import RINGSIDE, ringside
from tests.support.errors import error_of
from tests.support.live_pages import SMALL, Client
from tests.support.runs import make_run


def test_a_port_in_use_and_an_address_of_others_are_one_line() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            UsageError, match=rf"cannot listen at 127\.0\.0\.1:{port}: .*; choose another port"
        ):
            listen("127.0.0.1", port)
        done = ringside("serve", "--port", str(port), status=2)
        assert done.stderr.count("\n") == 1
    assert "cannot listen at 203.0.113.9:0" in error_of(UsageError, listen, "203.0.113.9", 0)
    assert "this machine has no such address" in error_of(UsageError, listen, "a..b", 0)


def test_an_address_of_the_network_is_answered_by_its_number_and_name() -> None:
    server = PageServer("0.0.0.0", 0, Source(lambda: "/nothing"), list)
    try:
        assert server.url.startswith("http://localhost:")
        client = Client(server.url)
        assert client.get("/favicon.ico", Host="192.0.2.7:8000")[0] == 200
        assert client.get("/favicon.ico", Host=socket.gethostname())[0] == 200
        assert client.get("/favicon.ico", Host="evil.example")[0] == 421
    finally:
        server.stop()


def test_stopping_ends_the_streams_of_watchers(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = Store(path)
    run = make_run(store, SMALL, blocks=1, ended=False)
    server = PageServer("127.0.0.1", 0, Source(lambda: str(path)), list)
    with Client(server.url).events(run.id) as events:
        assert next(events)[0] == "progress"
        began_s = time.monotonic()
        server.stop()
        # Well before a connection would be cut.
        assert time.monotonic() - began_s < 3
        assert "end" not in {name for name, _ in events}


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError, match="uvicorn is missing: run `make setup`"):
        PageServer("127.0.0.1", 0, Source(lambda: "/nothing"), list)


# Nothing is to be built for it.
RUN = "run showdown-ring --only python-asyncio --set nodes=20 --blocks 5000 --until end --serve --port 0"


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [("serve --port 0", "shows the runs; Ctrl-C ends it", 0), (RUN, "^run ", 130)],
)
def test_ctrl_c_ends_the_page_and_the_run(words: str, said: str, status: int, tmp_path: Path) -> None:
    process = subprocess.Popen([*RINGSIDE, *words.split()], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    url = ""
    for line in process.stderr:
        url = next(iter(re.findall(r"http://\S+", line)), url)
        if url and re.search(said, line):
            break
    client = Client(url)
    assert "<svg" in client.page("/favicon.ico")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in rest
    with pytest.raises(ConnectionRefusedError):
        client.get("/")
