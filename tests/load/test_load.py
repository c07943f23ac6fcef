"""`ringside load` as a user meets it: the real command, the real engine, a real server."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from ringside.measure.runs.trials import free_port
from tests.support.command_line import RINGSIDE, captured, in_process, load_document, parsed
from tests.support.odd_server import OK, one_at_a_time, requests, serving, when_loaded
from tests.support.stored_trials import words_again

LOAD = [*RINGSIDE, "load"]


def load(*arguments: str, status: int = 0) -> str:
    return in_process("load", *arguments, status=status).stdout


def test_a_closed_loop(http: str, workplace: Path) -> None:
    arguments = (f"{http}/", "--requests", "300", "--connections", "3", "--hdr", "out.hgrm")
    load = load_document(*arguments, "--expect-body", "hello\n")
    assert (load["requests"], load["errors"], load["statuses"]) == (300, {}, {"200": 300})
    assert (load["outcome"], load["pacing"], load["intended_rate"]) == ("ok", {"kind": "closed"}, None)
    assert load["achieved_rate"] == pytest.approx(300 / load["duration_s"])
    assert 0 < load["latency_ms"]["p50"] <= load["latency_ms"]["p99"] <= load["latency_ms"]["max"]
    assert sum(second["requests"] for second in load["series"]) == 300
    assert load["cpu_s"] > 0
    assert load["peak_memory_bytes"] > 0
    assert load["connections"]["opened"] == load["connections"]["most_open"] == 3
    percentiles = (workplace / "out.hgrm").read_text()
    assert re.search(r"Total count    = +300\]", percentiles)
    assert re.search(r" 1\.000000000000 +300$", percentiles, re.MULTILINE)
    # The file's values are upper ends of buckets of three digits, the summary's maximum is exact.
    (largest,) = re.findall(r"Max     = +([\d.]+),", percentiles)
    assert load["latency_ms"]["max"] <= float(largest) <= load["latency_ms"]["max"] * 1.002


def test_an_open_loop(http: str) -> None:
    load = load_document(f"{http}/", "--rate", "100", "--poisson", "--seed", "3", "--requests", "100")
    assert load["intended"] == 100
    assert load["requests"] + load["late_requests"] + load["unfinished"] == 100
    assert load["pacing"] == {"kind": "poisson", "rate_per_s": 100, "seed": 3}
    assert load["latency_is_lower_bound"] is (load["unfinished"] > 0)
    assert 0 < load["queue_ms"]["max"] <= load["latency_ms"]["max"]
    stairs = load_document(f"{http}/", "--staircase", "50:500ms,100:500ms")
    assert (stairs["intended"], stairs["intended_rate"]) == (75, 75)
    assert stairs["pacing"]["steps"][1] == {"rate_per_s": 100, "duration_s": 0.5}


def test_what_is_sent(http: str) -> None:
    (Path.cwd() / "body").write_bytes(b"\x00\xff" * 500)
    few = ("--requests", "10", "--connections", "1")
    load = load_document(f"{http}/", "--body", "@body", "--expect-status", "200", *few)
    assert load["errors"] == {}
    # Ten bodies, and ten heads of less than 200 bytes.
    assert 10 * 1000 < load["bytes_out"] < 10 * 1200
    assert 10 * 1000 < load["bytes_in"] < 10 * 1200
    load = load_document(f"{http}/", "--body", "ü", "--expect-body", "ü", "--close", *few)
    assert (load["errors"], load["requests"], load["connections"]["opened"]) == ({}, 10, 10)


def test_streams(ports: tuple[str, str], workplace: Path) -> None:
    target = f"stream+http://127.0.0.1:{ports[0]}/stream/{{id}}"
    arguments = (target, "--connections", "5", "--interval", "100ms", "--duration", "1500ms")
    messages = ("--first", "Welcome: {id}", "--chunk", "Chunk {k} for {id}")
    streams = load_document(*arguments, *messages)
    # Each gets a first message and at most 15 others. A machine that stalls may deliver fewer.
    assert 5 < streams["messages"] <= 5 * 16
    assert streams["sequence"] == {}
    assert streams["chunk_lateness_ms"]["max"] > 0
    assert streams["pacing"] is None
    shown = load(*arguments, *messages[:3], "Chunk {k} of {id}")
    assert "messages of another form" in shown


def test_a_name_with_an_address_where_nobody_listens(http: str) -> None:
    """If `localhost` is two addresses, the server has only one of them."""
    load = load_document(http.replace("127.0.0.1", "localhost"), "--requests", "20", "--connections", "2")
    assert (load["requests"], load["errors"]) == (20, {})


def test_each_target_gets_its_own_path(http: str) -> None:
    arguments = ("--vs", f"{http}/head/b", "--requests", "8", "--blocks", "2", "--connections", "1")
    compared = load_document(f"{http}/head/a", *arguments, "--expect-contains", "GET /head/b ", status=1)
    assert {(run["name"], run["requests"]) for run in compared["runs"]} == {("A", 0), ("B", 4)}


def test_the_command_for_the_same_again_has_all_options(http: str) -> None:
    """But for the values of headers that are secrets."""
    secret = ("--header=Authorization: Bearer x", "--header=X-Api-Key: y")
    kept = ("--header=X-A: b", "--method=POST", "--body=z", "--rate=100", "--requests=4", "--blocks=1")
    load(f"{http}/a", "--vs", f"{http}/b", *kept, *secret, "--seed", "1")
    again = words_again()
    assert (again[:2], again[-3:]) == (["ringside", "load"], [f"{http}/a", "--vs", f"{http}/b"])
    secrets = {"--header=Authorization: …", "--header=X-Api-Key: …"}
    assert set(again[2:-3]) == {*kept, *secrets, "--seed=1"}


def test_a_load_that_is_kept_is_compared_with_one_of_another_day(http: str) -> None:
    store = ("--store", "kept.sqlite")
    for _ in range(2):
        shown = load(f"{http}/", "--requests", "600", "--blocks", "6", *store)
    assert re.search(r"\nA .* 600 +0 +0\n", shown)
    old, new = re.findall(r"\S+-load-vs\b", in_process("list", "runs", *store).stdout)
    changes = parsed("compare", old, new, *store)["comparisons"]
    assert {change["metric"] for change in changes} == {"rate", "latency_p50"}
    assert all(change["low"] for change in changes)
    assert f"{http}/" in in_process("show", new, *store).stdout
    refused = in_process("load", f"{http}/", "--fail-if", "p99>1s", *store, status=2).stderr
    assert "ringside compare RUN latest --fail-if" in refused


def test_a_staircase_has_a_row_for_each_step_and_the_last_rate_that_was_kept() -> None:
    """A server that takes 5 ms for each request, one at a time, keeps less than 200 per second."""
    stairs = ("--staircase", "20:500ms,60:750ms,600:1s")
    with serving(one_at_a_time(0.005)) as port:
        url = f"http://127.0.0.1:{port}/"
        document = load_document(url, *stairs, "--fail-if", "p50>200ms", "--fail-if", "max<1ns", status=1)
        steps = document["steps"]
        assert document["highest_rates"]["p50>200ms"] in (20, 60)
        assert document["highest_rates"]["max<1ns"] in (20, 60, 600)
        assert [step["due"] for step in steps] == [10, 45, 600]
        assert steps[0]["answered"] == 10
        assert 5 <= steps[0]["p50_ms"] < steps[2]["p50_ms"] <= steps[2]["p99_ms"] <= steps[2]["max_ms"]
        gates = [f"--fail-if={text}" for text in ("p50>200ms", "p50@600>50ms", "p50@20>900ms", "errors@20>0")]
        ended = in_process("load", url, *stairs, *gates, "--abort-if=p99.9>60s", status=1)
    assert "--abort-if 'p99.9>60s' was not judged: fewer than 10 requests lie beyond it" in ended.stderr
    sides = re.findall(r", (not above|above) .*--fail-if", ended.stderr)
    assert sides == ["above", "above", "not above", "not above"]
    assert re.search(r"Steps, latency.*\n.*rate.*\n.*\n +20/s +10 +10 +100.0% +\S+ +\S+[?] ", ended.stdout)
    words = " ".join(ended.stdout.split())
    assert re.search(r"The last rate with 99 % answered as expected: (20|60|600)/s, with a p99 of", words)
    assert re.search(r"The highest rate that was kept with p50 at or below 200 ms: (20|60)/s\.", words)
    for wrong, message in (
        ("p99@30>1s", "30/s, which is no step"),
        ("p90@20>1s", "steps have p50, p99, max"),
    ):
        assert message in in_process("load", url, *stairs, "--fail-if", wrong, status=2).stderr


def test_a_rate_rises_linearly(http: str) -> None:
    document = load_document(f"{http}/", "--rate", "10..90", "--duration", "2s")
    due = [step["due"] for step in document["steps"]]
    # After t seconds: 10t + 20t² requests.
    assert (len(due), sum(due[:5]), sum(due), document["intended"]) == (10, 30, 100, 100)
    assert (document["steps"][0]["rate_per_s"], document["steps"][9]["to_per_s"]) == (10, 90)
    assert due == sorted(due)
    assert document["pacing"]["steps"][0]["to_per_s"] == 90


def test_connections_come_from_the_addresses_that_are_named() -> None:
    callers: set[str] = set()

    def handle(connection: socket.socket) -> None:
        callers.add(connection.getpeername()[0])
        for _ in requests(connection):
            connection.sendall(OK)

    with serving(handle) as port:
        url, few = f"http://127.0.0.1:{port}/", ("--requests", "6", "--connections", "3")
        assert load_document(url, *few, "--source", "127.0.0.7,127.0.0.9")["requests"] == 6
        assert callers == {"127.0.0.7", "127.0.0.9"}
        # `localhost` may have an address of IPv6, too.
        assert load_document(f"http://localhost:{port}/", *few, "--source", "127.0.0.7")["errors"] == {}


def test_two_targets(http: str) -> None:
    arguments = ("--vs", f"{http}/b", "--requests", "60", "--connections", "2")
    shown = load(f"{http}/a", *arguments, "--blocks", "6", "--seed", "1", "--fail-if", "worse:1000%")
    assert re.match(
        r"B has \S+× A's rate \(\S+\): (higher|lower|equal within 5 %|too close.*|no verdict.*)\n", shown
    )
    compared = load_document(f"{http}/a", *arguments, "--blocks", "2")
    assert (compared["blocks"], compared["blocks_done"]) == (2, 2)
    first = compared["comparisons"][0]
    assert (first["verdict"], first["obstacle"]) == ("inconclusive", "too-few-blocks")
    assert compared["margin"] == 0.05
    runs = compared["runs"]
    assert {(run["block"], run["name"]) for run in runs} == {(b, n) for b in (0, 1) for n in "AB"}
    assert {(run["name"], run["target"]) for run in runs} == {("A", f"{http}/a"), ("B", f"{http}/b")}
    assert all(run["requests"] == 30 for run in runs)
    load(f"{http}/a", "--vs", "http://127.0.0.1:1/", "--requests", "4", "--blocks", "1", status=1)
    load(f"{http}/a", *arguments, "--blocks", "1", "--fail-if", "worse:5%", status=1)


def children(process: subprocess.Popen[Any]) -> list[str]:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_load_and_shows_it(workplace: Path, number: signal.Signals) -> None:
    probes: list[str] = []

    def interrupt() -> None:
        probes.extend(children(process))
        process.send_signal(number)

    with when_loaded(interrupt) as url:
        words = [*LOAD, url, "--duration", "600s", "--connections", "2"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "Interrupted: these are the figures until then." in out
    assert "Times in milliseconds" in out
    assert "Traceback" not in errors
    assert [Path(f"/proc/{probe}").exists() for probe in probes] == [False]


def on_a_terminal(columns: int, interrupt_when: str, *arguments: str) -> tuple[str, int]:
    """The output to a terminal of this width; Ctrl-C is typed when it shows a text."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *LOAD, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown, typed = b"", False
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
        if interrupt_when and not typed and interrupt_when.encode() in shown:
            os.write(ours, b"\x03")
            typed = True
    os.close(ours)
    return shown.decode(), process.wait(timeout=30)


@pytest.mark.parametrize("columns", [40, 200])
def test_the_live_view(http: str, columns: int) -> None:
    shown, status = on_a_terminal(columns, "", f"{http}/", "--duration", "1500ms", "--rate", "200")
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    live, _, after = plain.partition("open loop")
    assert "p99 " in live
    assert "█" in live
    assert all(len(line) <= columns for line in re.split(r"[\r\n]+", live))
    assert "Times in milliseconds" in after


def test_ctrl_c_ends_a_comparison_with_the_blocks_that_are_done(http: str) -> None:
    """On a terminal it reaches ringside alone, not the load engine."""
    arguments = ("--vs", f"{http}/b", "--duration", "200s", "--blocks", "400", "--connections", "2")
    shown, status = on_a_terminal(200, "block 3 of 400", f"{http}/a", *arguments)
    assert status == 130
    assert re.search(r"B has \S+× A's rate: no verdict possible, too few blocks \(2\)", shown)
    assert "2 of 400 blocks in random order" in shown
    assert "--resume" not in shown


NOWHERE = "http://127.0.0.1:1/"


def test_a_target_where_nobody_listens_ends_the_load_at_once(workplace: Path) -> None:
    # With this duration the test would not end.
    done = in_process("load", NOWHERE, "--duration", "5h", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "ringside: connections are refused: nothing listens at 127.0.0.1:1; start the server"
    )
    document = parsed("load", NOWHERE, "--duration", "5h", "--rate", "5", status=1)
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
def test_a_lost_reader_changes_no_status_or_file(http: str, redirected: str, path: str, status: int) -> None:
    arguments = "--requests 20 --connections 2 --timeout 60s"
    script = f"$LOAD {http}{path} {arguments} --hdr out.hgrm {redirected} | true; exit ${{PIPESTATUS[0]}}"
    done = captured(["bash", "-c", script], env={**os.environ, "LOAD": " ".join(LOAD)})
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "#[Max" in Path("out.hgrm").read_text()


def test_the_help_begins_with_the_common_options_on_one_screen() -> None:
    lines = in_process("load", "--help", COLUMNS="80", LINES="24").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    screen = lines[:24]
    for option in ("--connections", "--rate", "--duration", "--requests", "--header", "--body", "--fail-if"):
        assert any(re.match(rf" +(-\w, )?{option}", line) for line in screen), option
    assert lines.index("Common options:") < lines.index("When requests are sent:") <= 24
