"""`ringside load` as a user meets it: the real command, the real engine, a real server."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringside.cli import main as cli

RINGSIDE = [sys.executable, "-m", "ringside.cli.main", "load"]
SERVER = Path(__file__).parent / "load_server.py"


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[str, str]]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    http, tcp = process.stdout.readline().split()
    yield http, tcp
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def http(ports: tuple[str, str], workplace: Path) -> str:
    return f"http://127.0.0.1:{ports[0]}"


def load(*words: str, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*RINGSIDE, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr, done.stderr
    return done


def document(*words: str, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(load(*words, "--json", status=status).stdout)
    assert found["format"] == 1
    return found


@pytest.fixture
def complaint(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Gives the one line that a wrong use gets. In this process: there are many, and starts are slow."""

    def complain(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ringside", "load", *words])
        previous = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main()
        finally:
            signal.signal(signal.SIGTERM, previous)
        said = capsys.readouterr()
        assert ended.value.code == 2, said
        (line,) = said.err.splitlines()
        assert line.startswith("ringside: ")
        assert not said.out
        return line

    return complain


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'TARGET'"),
        (["https://h/"], "https is not spoken"),
        (["nonsense"], "has no scheme"),
        (["http://h/", "--duration", "soon"], "--duration soon: write it as"),
        (["http://h/", "--rate", "0"], "--rate 0 is out of range"),
        (["http://h/", "--connections", "0"], "0 is not in the range"),
        (["http://h/", "--io", "select"], "'select' is not one of"),
        (["http://h/", "--cpus", "9999"], "CPU 9999 cannot be used"),
        (["http://h/", "--body", "@none"], "the file cannot be read"),
        (["http://h/", "--seed", "1"], "--seed is for --poisson or --vs"),
        (["http://h/", "--blocks", "1"], "--blocks is for --vs"),
        (["http://h/", "--hdr", "no/such/folder/x"], "cannot be written"),
        (["http://h/", "--hdr", "x", "--vs", "http://h/"], "--hdr is for one target"),
        (["http://h/", "--vs", "tcp://h:1"], "like with like"),
        (["http://h/", "--staircase", "1:1s", "--vs", "http://h/"], "instead of --staircase"),
        (["stream+http://h/", "--vs", "stream+http://h/"], "by --interval or --due-field"),
        (["http://h/", "--expect-pattern", "a", "--expect-body", "a"], "--expect-pattern stands alone"),
        (["http://127.0.0.1:1/", "--expect-pattern", "a["], 'matches: "a[": unclosed character class'),
        (["http://nobody.invalid/"], "the host nobody.invalid has no address"),
    ],
)
def test_wrong_use_gets_one_line_and_status_2(
    complaint: Callable[..., str], words: list[str], message: str
) -> None:
    assert message in complaint(*words)


def test_more_connections_than_descriptors_are_refused_before_the_start(workplace: Path) -> None:
    shell = f"ulimit -n 100; exec {' '.join(RINGSIDE)} http://127.0.0.1:1/ --connections 200"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "200 connections need more descriptors" in done.stderr
    assert "hard limit is 100 (ulimit -Hn), so up to 32 connections fit" in done.stderr


def test_a_closed_loop(http: str, workplace: Path) -> None:
    words = (f"{http}/", "--requests", "300", "--connections", "3", "--hdr", "out.hgrm")
    found = document(*words, "--expect-body", "hello\n")
    assert (found["requests"], found["errors"], found["statuses"]) == (300, {}, {"200": 300})
    assert found["intended_rate"] is None
    assert found["achieved_rate"] > 0
    assert found["latency_ms"]["p50"] <= found["latency_ms"]["p99"] <= found["latency_ms"]["max"]
    assert found["cpu_s"] > 0
    assert found["peak_memory_bytes"] > 0
    assert found["connections"]["opened"] == 3
    percentiles = (workplace / "out.hgrm").read_text()
    assert re.search(r"Total count    = +300\]", percentiles)
    assert re.search(r" 1\.000000000000 +300$", percentiles, re.MULTILINE)


def test_an_open_loop(http: str) -> None:
    found = document(f"{http}/", "--rate", "100", "--poisson", "--seed", "3", "--requests", "100")
    assert found["intended"] == 100
    assert found["requests"] + found["late_requests"] + found["unfinished"] == 100
    assert found["pacing"] == {"kind": "poisson", "rate_per_s": 100, "seed": 3}
    assert found["queue_ms"]["max"] <= found["latency_ms"]["max"]
    stairs = document(f"{http}/", "--staircase", "50:500ms,100:500ms")
    assert stairs["intended"] == pytest.approx(75, abs=2)


def test_what_is_sent(http: str) -> None:
    (Path.cwd() / "body").write_bytes(b"\x00\xff" * 500)
    found = document(f"{http}/", "--body", "@body", "--expect-status", "200", "--requests", "10")
    assert (found["errors"], found["bytes_out"] > 10_000, found["bytes_in"] > 10_000) == ({}, True, True)
    text = ("--body", "ü", "--expect-body", "ü", "--method", "PUT", "--header", "X: y", "--close")
    found = document(f"{http}/", *text, "--requests", "10", "--connections", "1")
    assert (found["errors"], found["connections"]["opened"] >= 10) == ({}, True)


def test_redirects_are_not_followed(http: str) -> None:
    found = document(f"{http}/elsewhere", "--requests", "10", "--connections", "1")
    assert (found["statuses"], found["errors"]) == ({"302": 10}, {})


def test_lines(ports: tuple[str, str], workplace: Path) -> None:
    target = f"tcp://127.0.0.1:{ports[1]}"
    words = (target, "--requests", "50", "--connections", "2", "--line", "41")
    assert document(*words, "--expect-body", "42")["requests"] == 50
    found = document(*words, "--expect-contains", "7", status=1)
    assert (found["requests"], found["outcome"]) == (0, "load-failed")
    assert found["errors"]["content"] > 0
    assert document(*words, "--expect-pattern", r"[0-9]{2}")["requests"] == 50
    assert document(*words, "--expect-pattern", r"[0-9]", status=1)["errors"]["content"] > 0


def test_streams(ports: tuple[str, str], workplace: Path) -> None:
    target = f"stream+http://127.0.0.1:{ports[0]}/stream/{{id}}"
    words = (target, "--connections", "5", "--interval", "100ms", "--duration", "1500ms")
    told = ("--first", "Welcome: {id}", "--chunk", "Chunk {k} for {id}")
    found = document(*words, *told)
    assert found["messages"] > 10
    assert not any(
        found["sequence"].get(fault) for fault in ("gaps", "repeats", "swaps", "foreign", "malformed")
    )
    assert found["chunk_lateness_ms"]["max"] > 0
    shown = load(*words, *told[:3], "Chunk {k} of {id}").stdout
    assert "messages of another form" in shown


def test_a_summary_and_a_load_that_fails(http: str) -> None:
    shown = load(f"{http}/", "--requests", "50").stdout
    for part in (
        "closed loop, 64 connections",
        "coordinated omission",
        "Times in milliseconds",
        "Latency, up to",
    ):
        assert part in shown, part
    assert "\x1b" not in shown
    shown = load("http://127.0.0.1:1/", "--duration", "500ms", status=1).stdout
    assert "nobody listens there" in shown


def test_a_name_with_an_address_where_nobody_listens(http: str) -> None:
    """Where `localhost` is two addresses, the server has but one of them."""
    found = document(http.replace("127.0.0.1", "localhost"), "--requests", "20", "--connections", "2")
    assert (found["requests"], found["errors"]) == (20, {})


def test_two_targets(http: str) -> None:
    words = ("--vs", f"{http}/b", "--requests", "60", "--connections", "2")
    shown = load(f"{http}/a", *words, "--blocks", "6", "--seed", "1").stdout
    assert re.match(
        r"B answers \S+ times as many requests per second as A \(\S+\): (faster|slower|indis)", shown
    )
    found = document(f"{http}/a", *words, "--blocks", "2")
    assert (found["blocks"], found["blocks_done"]) == (2, 2)
    assert found["comparisons"][0]["verdict"] == "too-few-blocks"
    assert {(one["block"], one["name"]) for one in found["runs"]} == {(b, n) for b in (0, 1) for n in "AB"}
    assert all(one["requests"] == 30 for one in found["runs"])
    load(f"{http}/a", "--vs", "http://127.0.0.1:1/", "--requests", "4", "--blocks", "1", status=1)


def children(process: subprocess.Popen[Any]) -> list[str]:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_load_and_shows_it(http: str, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*RINGSIDE, f"{http}/", "--duration", "60s", "--connections", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 30
    while not any("ringside-probe" in Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process)):
        assert time.monotonic() < until
        time.sleep(0.05)
    # The version's check is over soon after; then it is the load that runs.
    time.sleep(2)
    (probe,) = children(process)
    process.send_signal(number)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Interrupted: this is what was measured until then." in out
    assert "Times in milliseconds" in out
    assert "Traceback" not in said
    assert not Path(f"/proc/{probe}").exists()


def on_a_terminal(columns: int, interrupt_when: str, *words: str) -> tuple[str, int]:
    """What a terminal of this width is sent; Ctrl-C is typed when it shows a text."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *RINGSIDE, *words],
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


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_live_view(http: str, columns: int) -> None:
    shown, status = on_a_terminal(columns, "", f"{http}/", "--duration", "1500ms", "--rate", "200")
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    live, _, after = plain.partition("open loop")
    assert "p99 " in live
    assert "█" in live
    assert all(len(line) <= columns for line in re.split(r"[\r\n]+", live))
    assert "Times in milliseconds" in after


def test_ctrl_c_on_a_terminal_reaches_ringside_alone(http: str) -> None:
    shown, status = on_a_terminal(80, "p99 ", f"{http}/", "--duration", "60s", "--rate", "200")
    assert status == 130
    assert "Interrupted: this is what was measured" in shown


def test_ctrl_c_ends_a_comparison_with_the_blocks_that_are_done(http: str) -> None:
    words = ("--vs", f"{http}/b", "--duration", "200s", "--blocks", "400", "--connections", "2")
    shown, status = on_a_terminal(200, "block 3 of 400", f"{http}/a", *words)
    assert status == 130
    assert "no verdict from 2 blocks" in shown
    assert "2 of 400 blocks in random order" in shown


def test_nothing_is_drawn_for_json(http: str) -> None:
    shown, status = on_a_terminal(80, "", f"{http}/", "--requests", "50", "--json")
    assert status == 0
    assert json.loads(shown)["requests"] == 50
