"""Twenty known mistakes of measuring, planted one at a time: what Ringside and its peers say of each.

    .venv/bin/python benchmarks/traps.py [--tools FOLDER]… [NAME …]

Without names it does all and writes docs/TRAPS.md. Exit status 1 where Ringside does not name one. Peers are
those on PATH, and in the folders of `--tools`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "TRAPS.md"
RINGSIDE = str(Path(sys.executable).with_name("ringside"))
PROGRAM = f"{sys.executable} -S -E {HERE / 'planted' / 'program.py'}"
LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Peer:
    """A run of another tool. `shows`: a pattern of what a reader takes away; `names`: of what names the
    mistake, where the tool has such a line."""

    command: str
    shows: str
    names: str = ""

    @property
    def tool(self) -> str:
        return self.command.split()[0]


@dataclass(frozen=True, slots=True)
class Trap:
    """A mistake. `planted`: what was done; `believed`: what a reader concludes who is not warned. `ringside`:
    the words after it, `names` the pattern of the sentence that has to come, `status` how it has to end.
    `servers`: which run meanwhile; {0}, {1} in commands are their addresses. `{program}` starts a program."""

    name: str
    planted: str
    believed: str
    avoid: str
    ringside: str
    names: str
    status: int = 0
    peers: tuple[Peer, ...] = ()
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool said: the line that decides, and whether it names the mistake, None if not run."""

    tool: str
    command: str
    line: str
    is_named: bool | None


def hyperfine(commands: str, options: str = "--runs 20", names: str = "") -> Peer:
    return Peer(
        f"hyperfine -N --style basic {options} {commands}",
        r"ran \S+ ± \S+ times faster|Time \(mean ± σ\): +\S+ m?s +± +\S+ m?s(?!.*times faster)",
        names,
    )


def wrk(options: str = "-d 2 -c 8 -t 1 --latency", shows: str = r"99% +\S+", names: str = "") -> Peer:
    return Peer(f"wrk {options} {{0}}", shows, names)


def h2load(options: str = "-n 2000 -c 8", shows: str = r"requests:.*?timeout", names: str = "") -> Peer:
    return Peer(f"h2load --h1 {options} {{0}}", shows, names)


TRAPS = (
    Trap(
        "A failing target",
        "The second of two servers answers 95 % of the requests with 503, at once.",
        "the failing server is the faster one",
        "Let failures end the comparison: no verdict for a target of which more than 1 % fails.",
        "load {0} --vs {1} --rate 300 --duration 4s --blocks 4",
        r"B failed in \d+ runs?; first error: .*?\.",
        status=1,
        peers=(
            Peer("wrk -d 2 -c 8 -t 1 {1}", r"Requests/sec: +\S+", r"Non-2xx or 3xx responses: \d+"),
            Peer("h2load --h1 -n 2000 -c 8 {1}", r"finished in .*?req/s", r"status codes: .*?5xx"),
            Peer("oha --no-tui -z 2s -c 8 {1}", r"Success rate: +\S+", r"\[503\] \d+ responses"),
        ),
        servers=("slow", "failing"),
    ),
    Trap(
        "Lost requests",
        "A server never answers every second request; the load ends before any time-out.",
        "all is well: no errors, and low latencies",
        "Count what was not answered at the end as failed, and its age as a latency.",
        "load {0} --rate 100 --duration 3s --fail-if errors>1%",
        r"[\d,]+ of the intended requests had no answer at the end",
        status=1,
        peers=(
            wrk("-d 3 -c 8 -t 1 --timeout 10s", r"\d+ requests in \S+", r"Socket errors: .*"),
            h2load("-D 3 -c 8", names=r"[1-9]\d* (?:failed|errored|timeout)"),
            Peer(
                "oha --no-tui -q 100 -z 3s -c 8 {0}",
                r"Success rate: +\S+",
                r"\[\d+\] aborted due to deadline",
            ),
        ),
        servers=("losing",),
    ),
    Trap(
        "Percentiles of twelve requests",
        "Twelve requests are sent, and a p99 is read from them.",
        "one request in a hundred takes this long",
        "Ask for a percentile only where at least ten values lie beyond it: a thousand for p99.",
        "load {0} --connections 1 --requests 12",
        r"\?: fewer than \d+ lie beyond this percentile: it describes those few alone\.",
        peers=(Peer("oha --no-tui -n 12 -c 1 {0}", r"99.00% in \S+ \S+"),),
        servers=("slow",),
    ),
    Trap(
        "Different work under one name",
        "Two programs `sum`; the second adds a tenth of the numbers.",
        "the second program is the faster way to do the same",
        "Compare outputs before times.",
        "vs -r 10 '{program} sum' '{program} less-sum'",
        r"Output of `B` differs from that of `A`\.",
        peers=(hyperfine("'{program} sum' '{program} less-sum'"),),
    ),
    Trap(
        "Two modes",
        "A program takes 30 or 500 ms, at random.",
        "the program takes about 270 ms, which it never does",
        "Look at the single values; a mean ± σ of two modes describes neither.",
        "vs -r 24 '{program} two-modes'",
        r"A \([\d.]+× apart\): the values have two modes, and the median may be near neither\.",
        peers=(hyperfine("'{program} two-modes'", "--runs 24"),),
    ),
)


@contextmanager
def served(hows: Sequence[str]) -> Iterator[list[str]]:
    """The addresses of new servers, which end with the block."""
    with ExitStack() as stack:
        addresses = []
        for how in hows:
            argv = [sys.executable, str(HERE / "planted" / "server.py"), how]
            server = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
            stack.callback(server.kill)
            assert server.stdout
            addresses.append(f"http://127.0.0.1:{int(server.stdout.readline())}/")
        yield addresses


def said(trap: Trap, command: str) -> tuple[int, str]:
    """The exit status of a command while the servers of a trap run, and all that it printed, in one line."""
    with served(trap.servers) as addresses:
        words = [word.format(*addresses, program=PROGRAM) for word in shlex.split(command)]
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "400"}
        ended = subprocess.run(
            words,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
    return ended.returncode, " ".join(ended.stdout.decode(errors="replace").split())


def of_ringside(trap: Trap) -> Answer:
    status, text = said(trap, f"{shlex.quote(RINGSIDE)} {trap.ringside}")
    named = re.search(trap.names, text)
    is_named = bool(named) and status == trap.status
    line = named[0] if named else f"(nothing of it) {text[-300:]}"
    ending = f"{'' if line.endswith('.') else '.'} Exit status {status}." if status or not is_named else ""
    return Answer("Ringside", f"ringside {trap.ringside}", line + ending, is_named)


def of_peer(trap: Trap, peer: Peer, folders: str) -> Answer:
    program = shutil.which(peer.tool, path=folders)
    if program is None:
        return Answer(peer.tool, peer.command, "not installed here", None)
    status, text = said(trap, peer.command.replace(peer.tool, shlex.quote(program), 1))
    named = re.search(peer.names, text) if peer.names else None
    match = named or re.search(peer.shows, text)
    line = match[0] if match else f"exit status {status}: {text[-200:]}"
    return Answer(peer.tool, peer.command, line, bool(named))


def section(trap: Trap, answers: Sequence[Answer]) -> list[str]:
    rows = []
    for answer in answers:
        misled = {None: "–", True: "no", False: f"yes: {trap.believed}"}[answer.is_named]
        if answer.tool == "Ringside" and not answer.is_named:
            misled = f"**not named**: {trap.believed}"
        line = answer.line.replace("|", "\\|").replace("<", "&lt;").replace(PROGRAM, "program.py")
        rows.append(f"| {answer.tool} | {line} | {misled} |")
    commands = [answer.command.replace("{program}", "program.py") for answer in answers]
    return [
        f"## {trap.name}",
        "",
        f"{trap.planted} {trap.avoid}",
        "",
        "| tool | what it said | is a reader misled? |",
        "|---|---|---|",
        *rows,
        "",
        "```",
        *(shown.replace("{0}", "URL").replace("{1}", "URL2") for shown in commands),
        "```",
        "",
    ]


def page(results: Sequence[tuple[Trap, Sequence[Answer]]]) -> str:
    tools = dict.fromkeys(answer.tool for _, answers in results for answer in answers)
    lines = [
        "# Traps of measuring",
        "",
        "`benchmarks/traps.py` plants known mistakes, one at a time, in small programs and servers "
        "(`benchmarks/planted/`), runs Ringside and its peers on each, and writes this page. A tool names a "
        "mistake where it prints a warning of it, or refuses to go on. Figures are those of one run on a "
        "machine that was not quiet: they show what a tool prints, not how fast anything is.",
        "",
        "| mistake | " + " | ".join(tools) + " |",
        "|---|" + "---|" * len(tools),
    ]
    words = {None: "not installed", True: "named", False: "not named"}
    for trap, answers in results:
        by_tool = {answer.tool: words[answer.is_named] for answer in answers}
        anchor = trap.name.lower().replace(" ", "-")
        cells = " | ".join(by_tool.get(tool, "–") for tool in tools)
        lines.append(f"| [{trap.name}](#{anchor}) | {cells} |")
    lines += ["", "–: the tool is not for such programs.", ""]
    for trap, answers in results:
        lines += section(trap, answers)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tools", action="append", default=[], metavar="FOLDER", help="of more peers")
    parser.add_argument("names", nargs="*", help="words in the names of the traps that are to be tried")
    chosen = parser.parse_args()
    folders = os.pathsep.join([*chosen.tools, str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    results = []
    for trap in TRAPS:
        if chosen.names and not any(name.lower() in trap.name.lower() for name in chosen.names):
            continue
        answers = [of_ringside(trap), *(of_peer(trap, peer, folders) for peer in trap.peers)]
        results.append((trap, answers))
        for answer in answers:
            print(f"{trap.name}: {answer.tool}: {answer.is_named}: {answer.line}", flush=True)
    if not chosen.names:
        PAGE.write_text(page(results), encoding="utf-8")
    missed = [trap.name for trap, answers in results if not answers[0].is_named]
    print(f"Ringside names {len(results) - len(missed)} of {len(results)}", *missed, sep="; not ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
