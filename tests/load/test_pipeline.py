"""`ringside load` in a pipeline and in a script: exit status, waiting, output without a reader."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ringside.measure.runs.plain_server import free_port
from tests.support.command_line import RINGSIDE, in_process

NOWHERE = "http://127.0.0.1:1/"


def in_bash(script: str) -> subprocess.CompletedProcess[str]:
    """A script of bash, in which `$LOAD` is `ringside load`."""
    environment = {**os.environ, "LOAD": " ".join([*RINGSIDE, "load"])}
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=environment
    )


def test_a_target_where_nobody_listens_ends_the_load_at_once(workplace: Path) -> None:
    # With this duration the test would not end.
    done = in_process("load", NOWHERE, "--duration", "5h", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "ringside: connections are refused: no server listens at 127.0.0.1:1; start the server"
    )
    done = in_process("load", NOWHERE, "--duration", "5h", "--rate", "5", "--json", status=1)
    document = json.loads(done.stdout)
    assert document["outcome"] == "load-failed"
    assert set(document["errors"]) == {"connect-refused"}


def test_waiting_for_a_server(workplace: Path) -> None:
    port = free_port()
    serve = (
        "import http.server, sys, time; time.sleep(1);"
        f"http.server.ThreadingHTTPServer(('127.0.0.1', {port}), "
        "http.server.SimpleHTTPRequestHandler).serve_forever()"
    )
    target = f"http://127.0.0.1:{port}/"
    late = subprocess.Popen([sys.executable, "-c", serve], stderr=subprocess.DEVNULL)
    try:
        arguments = ("--requests", "5", "--connections", "1", "--json")
        document = json.loads(in_process("load", target, *arguments, "--wait-ready", "100s").stdout)
    finally:
        late.kill()
        late.wait()
    assert document["requests"] == 5
    done = in_process("load", target, "--wait-ready", "200ms", status=1)
    assert done.stdout == ""
    assert f"{target} accepted no connection within 0.2 s (--wait-ready)" in done.stderr
    done = in_process("load", "http://nobody.invalid/", "--wait-ready", "200ms", status=2)
    assert "the host nobody.invalid has no address" in done.stderr


@pytest.mark.parametrize("redirected", ["", "2>&1"])
@pytest.mark.parametrize(("path", "status"), [("/", 0), ("/missing", 1)])
def test_a_reader_that_goes_away_changes_neither_status_nor_file(
    http: str, redirected: str, path: str, status: int
) -> None:
    arguments = "--requests 20 --connections 2 --timeout 60s"
    script = f"$LOAD {http}{path} {arguments} --hdr out.hgrm {redirected} | true; exit ${{PIPESTATUS[0]}}"
    done = in_bash(script)
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "#[Max" in Path("out.hgrm").read_text()


def test_a_plain_server_has_no_streams(http: str) -> None:
    target = http.replace("http", "stream+http", 1)
    done = in_process("load", f"{target}/", "--duration", "500ms", "--connections", "3", "--json", status=1)
    document = json.loads(done.stdout)
    assert document["outcome"] == "load-failed"
    assert document["detail"].startswith("the server held no response open")
    assert document["errors"] == {"ended": document["statuses"]["200"]}
    shown = in_process("load", f"{target}/", "--duration", "500ms", "--connections", "3", status=1).stdout
    assert "name ordinary replies as http://" in shown


def test_the_rate_of_bursts_is_the_one_that_was_asked_for(http: str) -> None:
    arguments = ("--rate", "50", "--burst", "100", "--duration", "1s")
    document = json.loads(in_process("load", f"{http}/", *arguments, "--json").stdout)
    assert (document["intended"], document["intended_rate"]) == (100, 50)
    assert "uneven-bursts" in {warning["code"] for warning in document["warnings"]}
    assert "of 50.0 intended" in in_process("load", f"{http}/", *arguments).stdout


def test_slack_sends_all_requests_and_shows_its_error(http: str) -> None:
    arguments = ("--rate", "200", "--slack", "100ms", "--duration", "1s", "--json")
    document = json.loads(in_process("load", f"{http}/", *arguments).stdout)
    assert (document["intended"], document["slack_ms"]) == (200, 100)
    answered = document["requests"] + document["late_requests"] + document["unfinished"]
    assert answered + sum(document["errors"].values()) == 200
    # Twenty requests are sent together, five milliseconds apart: half of the slack on average.
    assert document["schedule_error_ms"]["mean"] > 40
    assert document["latency_ms"]["mean"] > 40


def test_the_help_begins_with_the_common_options_on_one_screen() -> None:
    lines = in_process("load", "--help", COLUMNS="80", LINES="24").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    screen = lines[:24]
    for option in ("--connections", "--rate", "--duration", "--requests", "--header", "--body", "--fail-if"):
        assert any(re.match(rf" +(-\w, )?{option}", line) for line in screen), option
    assert lines.index("Common options:") < lines.index("When requests are sent:") <= 24
