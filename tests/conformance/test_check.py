"""`ringside check`: every rule has a contender that breaks it, and no other. Each is a copy of a contender of
the catalogue with one thing changed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringside.conformance.common import parse
from ringside.conformance.kit import rules_of
from ringside.conformance.subject import RULES as SHARED
from ringside.workloads import WORKLOADS
from tests.support import ROOT
from tests.support.command_line import ringside

ORIGINAL = "python-threads"
RULES = dict(SHARED)
for each in WORKLOADS.values():
    RULES |= rules_of(each).rules

# For each rule: the workload, the file, a text in it, and what takes its place.
WRONG: dict[str, tuple[str, str, str, str]] = {
    "args-bad": (
        "ring",
        "ring.py",
        '"messages": whole_number(given, "messages", "", 1)',
        '"messages": int(given["messages"])',
    ),
    "args-unknown": (
        "ring",
        "ring.py",
        "    given = arguments.read()\n",
        "    given = arguments.read()\n    if 'colour' in given: sys.exit(2)\n",
    ),
    "lines": ("ring", "ring.py", '"::phase name=relay ns=', '"::phase name=relay  ns='),
    "flush": ("ring", "arguments.py", "flush=True", "flush=False"),
    "result": ("ring", "ring.py", '"::result checksum', '"result checksum'),
    "exit": ("ring", "ring.py", "        rings(**given)\n", "        rings(**given)\n        sys.exit(3)\n"),
    "evidence": ("ring", "ring.py", "outbox.put(value + i)", "outbox.put(value + min(i, 20))"),
    "cores": (
        "ring",
        "ring.py",
        "    given = settings()\n",
        "    given = settings()\n    import os; os.sched_setaffinity(0, range(os.cpu_count()))\n",
    ),
    "phases": ("jobs", "jobs.py", '    report(f"::phase name=gap ns={heart.gap_ns}")\n', ""),
    "growth": (
        "ring",
        "ring.py",
        "name=spawn ns={time.monotonic_ns() - start}",
        "name=spawn ns={(time.monotonic_ns() - start) // 1000}",
    ),
    "hold": ("ring", "ring.py", "        sys.stdin.readline()\n", "        time.sleep(0.01)\n"),
    "repeats": ("ring", "ring.py", "for _ in range(repeats)", "for _ in range(min(repeats, 2))"),
    "left-behind": (
        "ring",
        "ring.py",
        "    given = settings()\n",
        "    given = settings()\n    import subprocess\n"
        "    subprocess.Popen(['sleep', '30'], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)\n",
    ),
    "files": (
        "ring",
        "ring.py",
        "    given = settings()\n",
        "    given = settings()\n    import tempfile; tempfile.mkstemp()\n",
    ),
    "ready": (
        "fib",
        "fib.py",
        '"::ready port={listener.getsockname()[1]}"',
        '"::ready port={listener.getsockname()[1] - 1}"',
    ),
    "loopback": ("fib", "fib.py", '"127.0.0.1"', '"0.0.0.0"'),
    "host": ("fib", "fib.py", 'given.get("host", "127.0.0.1")', '"127.0.0.1"'),
    "port": ("fib", "fib.py", 'given["port"], backlog', "0, backlog"),
    "sigterm": (
        "fib",
        "service.py",
        "    signal.signal(signal.SIGTERM, end)\n",
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
    ),
    "stdin-end": ("fib", "service.py", "select.select([told, 0], [], [])", "select.select([told], [], [])"),
    "quiet": (
        "fib",
        "fib.py",
        "def answer(request):\n",
        "def answer(request):\n    print(request, flush=True)\n",
    ),
    "survives": (
        "fib",
        "fib.py",
        "        pass  # The client went away.\n",
        "        import os; os._exit(1)\n",
    ),
    "connections": (
        "fib",
        "fib.py",
        "def converse(connection):\n",
        "def converse(connection):\n    if __import__('threading').active_count() > 60: return\n",
    ),
    "ring-trace": (
        "ring",
        "ring.py",
        '            if value > terminator:\n                write(f": Proc',
        '            if value > terminator + 1:\n                write(f": Proc',
    ),
    "batch-input": ("batch", "batch.py", "            if file.read(1):\n", "            if False:\n"),
    "jobs-workers": ("jobs", "jobs.py", "ThreadPoolExecutor(workers)", "ThreadPoolExecutor(workers + 1)"),
    "jobs-beats": ("jobs", "jobs.py", "        heart.beat_if_due()", "        pass"),
    "jobs-trace": (
        "jobs",
        "jobs.py",
        '            report(f"::span unit={unit}',
        '            if unit % 1 == 0 and began == ended: report(f"::span unit={unit}',
    ),
    "sleepers-instants": (
        "sleepers",
        "sleepers.py",
        "        time.sleep(-late_ns / 1e9)\n",
        "        time.sleep(-late_ns / 1e9 + 0.3)\n",
    ),
    "restarts-quiet": (
        "restarts",
        "restarts.py",
        "lambda error: events.put(",
        "lambda error: print(error.exc_value, file=__import__('sys').stderr) or events.put(",
    ),
    "fib-errors": ("fib", "fib.py", "    if request.isdigit()", "    if request.strip().isdigit()"),
    "fib-long-line": ("fib", "fib.py", "            if len(line) == LONGEST:\n", "            if False:\n"),
    "fib-stream": (
        "fib",
        "fib.py",
        '            while (line := requests.readline(LONGEST)).endswith(b"\\n"):\n',
        '            while (line := requests.readline(LONGEST)).endswith(b"\\n") or line == b"7":\n',
    ),
    "fib-work": ("fib", "fib.py", "def fib(n):\n", "@__import__('functools').cache\ndef fib(n):\n"),
    "http-paths": ("feed", "feed.py", "404 Not Found", "400 Bad Request"),
    "fanout-body": ("fanout", "fanout.py", '"Content-Type", "text/plain"', '"Content-Type", "text/html"'),
    "fanout-keep-alive": (
        "fanout",
        "fanout.py",
        "        self.close_connection |= not self.chunked\n",
        "        self.close_connection = True\n",
    ),
    "fanout-overlap": ("fanout", "fanout.py", "MOST_CALLS = 4096", "MOST_CALLS = 1"),
    "fanout-id": ("fanout", "fanout.py", "X-Request-Id", "X-Request-Ident"),
    "fanout-400": ("fanout", "fanout.py", "BAD_UPSTREAM = 400", "BAD_UPSTREAM = 502"),
    "fanout-work": ("fanout", "fanout.py", "    result = 0\n", "    return work * (work - 1) // 2\n"),
    "fanout-ticks": ("fanout", "fanout.py", '"tick_ms", "50", 1) / 1000', '"tick_ms", "50", 1) / 300'),
    "feed-messages": ("feed", "feed.py", "Chunk %d for", "chunk %d for"),
    "feed-due": ("feed", "feed.py", "begin_s + k * interval_s", "begin_s + (k - 0.5) * interval_s"),
    "feed-released": (
        "feed",
        "feed.py",
        "        with connection:\n",
        '        __import__("builtins").__dict__.setdefault("kept", []).append(connection.dup())\n'
        "        with connection:\n",
    ),
    "feed-full": (
        "feed",
        "connections.py",
        "            time.sleep(0.01)  # No descriptor is free: some connection may end.\n",
        "            import os; os._exit(1)\n",
    ),
    "feed-slow": (
        "feed",
        "feed.py",
        '        connection.sendall(chunk(b"Chunk %d for',
        '        with __import__("threading").__dict__.setdefault("only", threading.Lock()):'
        ' connection.sendall(chunk(b"Chunk %d for',
    ),
}


def copied(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of a contender with a text of a file replaced."""
    shutil.copytree(ROOT / "contenders" / ORIGINAL, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text, (file, old)
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def findings(*words: str, status: int) -> list[dict[str, Any]]:
    done = ringside("check", *words, "--json", status=status)
    document = json.loads(done.stdout)
    return [
        finding
        for contender in document["contenders"]
        for workload in contender["workloads"]
        for finding in workload["findings"]
    ]


def test_every_rule_has_a_contender_that_breaks_it() -> None:
    assert set(WRONG) == set(RULES)


# A quick check looks at nothing that breaks these.
WHOLE = ("evidence", "growth", "fanout-400", "fanout-ticks", "feed-slow")
# Two are tested by `make test`, those that take a minute by `make soak`, the others by `make integration`.
QUICK, SLOW = ("args-unknown", "quiet"), ("sigterm", "stdin-end")
# What the command that repeats a finding shows, where that takes nothing that may be missing.
BY_HAND = {
    "args-bad": "KeyError: 'messages'",
    "args-unknown": "status 2",
    "connections": "of 100 clients at one time got an answer",
    "exit": "status 3",
    "fanout-400": "502",
    "fanout-body": "Content-Type: text/html",
    "fanout-id": "port 8124 was called: GET / HTTP/1.1 | Host: 127.0.0.1:8124 | Accept-Encoding",
    "fanout-overlap": "one call waited for three seconds, and no other came",
    "fanout-ticks": "port 8126 was called: GET / HTTP/1.1",
    "feed-messages": "chunk 1 for 7",
    "feed-slow": "not all messages: ",
    "hold": "::await name=spawned",
    "http-paths": "400 Bad Request",
    "lines": "::phase name=relay  ns=",
    "result": "\nresult checksum=",
    "ring-trace": "status 0",
}


def _marks(rule: str) -> list[pytest.MarkDecorator]:
    if rule in QUICK:
        return []
    return [pytest.mark.soak if rule in SLOW else pytest.mark.integration]


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=_marks(rule)) for rule in WRONG])
def test_a_broken_rule_is_the_only_finding(rule: str, workplace: Path) -> None:
    workload, file, old, new = WRONG[rule]
    folder = copied(workplace / "wrong", file, old, new)
    quick = [] if rule in WHOLE else ["--quick"]
    broken = findings(str(folder), "--workload", workload, *quick, status=1)
    assert [finding["rule"] for finding in broken] == [rule], broken
    line = broken[0]["command"]
    assert str(folder) in line
    if rule in BY_HAND:
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
        assert BY_HAND[rule] in f"{done.stdout} {done.stderr} status {done.returncode}", done


def test_a_contender_that_conforms(workplace: Path) -> None:
    shutil.copytree(ROOT / "contenders" / ORIGINAL, workplace / "mine")
    # The manifest stands for its folder.
    done = ringside("check", "mine/contender.toml", "--quick", "--workload", "jobs")
    assert done.stdout == "mine: jobs: conforms\n"
    assert re.search(r"check: mine took \d+\.\d s \(jobs \d+\.\d\)", done.stderr)


def test_the_rules_are_those_of_the_contract() -> None:
    page = (ROOT / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
    table = re.findall(r'^\| <a id="rule-([a-z0-9-]+)"></a>`([a-z0-9-]+)` \| (.*) \|$', page, re.MULTILINE)
    assert {name: text for _, name, text in table} == RULES
    assert all(anchor == name for anchor, name, _ in table)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (b"::result a=1\n", ""),
        (b"::resul a=1\n", "there is no protocol line `::resul`"),
        (b"::phase name=x  ns=1\n", "is not key=value"),
        (b"::phase name=x ns=-1\n", "`ns` must be a whole number"),
        (b"::phase name=x\n", "`ns` is missing"),
        (b"::result a=1 a=2\n", "`a` twice"),
        (b"::result a=1\n::result a=1\n", "a second ::result"),
        (b"::result a=\xff\n", "not UTF-8"),
        (b"::result a=1\r\n", "a control character"),
        (b"::result " + b"x" * 70_000 + b"=1\n", "longer than"),
    ],
)
def test_protocol_lines(output: bytes, problem: str) -> None:
    came = parse(b"other\n" + output).problem
    assert problem in came if problem else not came


def test_a_file_is_no_folder(workplace: Path, complaint: Callable[..., str]) -> None:
    Path("perl").mkdir()
    Path("perl/ring.pl").touch()
    assert "is a file: name its folder, as in `ringside check ./perl`" in complaint("check", "./perl/ring.pl")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "name the folder of a contender"),
        (("./nowhere",), "/nowhere; a server needs none"),
        (("nobody",), "there is no contender `nobody`"),
        (("limit", "--workload", "rnig"), "contender `limit` takes no part in `rnig`; it has: ring"),
        (("--with", "mine=sleep {port}"), "`mine` is a command"),
        (("empty/",), "the folder has no contender.toml"),
    ],
)
def test_wrong_use(complaint: Callable[..., str], words: tuple[str, ...], text: str) -> None:
    Path("empty").mkdir()
    assert text in complaint("check", *words)


def test_a_contender_that_cannot_be_built(workplace: Path) -> None:
    (workplace / "mine").mkdir()
    manifest = 'title = "x"\nfamily = "threads"\nmodel = "x"\nqueue = "none"\n'
    manifest += '[runtime.x]\nexecutable = ["no-such-runtime"]\n'
    manifest += 'version = ["{runtime}"]\n[workload.ring]\ncommand = ["{runtime}"]\n'
    (workplace / "mine" / "contender.toml").write_text(manifest, encoding="utf-8")
    done = ringside("check", "./mine", status=1)
    assert done.stdout.startswith("mine cannot be checked: needs no-such-runtime: not found; install")
