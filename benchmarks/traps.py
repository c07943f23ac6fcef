"""Twenty known mistakes of measuring, planted one at a time: what Ringside and its peers say of each.

    .venv/bin/python benchmarks/traps.py [--tools FOLDER]… [NAME …]

Without names it does all and writes docs/TRAPS.md. Exit status 1 if Ringside does not name one. Peers are
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
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTENDERS = HERE.parent / "contenders"
PAGE = HERE.parent / "docs" / "TRAPS.md"
RINGSIDE = str(Path(sys.executable).with_name("ringside"))
PROGRAM = f"{sys.executable} -S -E {HERE / 'planted' / 'program.py'}"
RING = CONTENDERS / "python-asyncio" / "ring.py"
LAST_CPU = str(max(os.sched_getaffinity(0)))
LIMIT_S = 60
# All of its commands begin with this text; the page says it once.
PLAIN = "hyperfine -N --style basic "
MARKS = {True: "✓", False: "✗", None: "–"}


@dataclass(frozen=True, slots=True)
class Peer:
    """A run of another tool. `shows`: a pattern of the figure that a reader takes away; `names`: a pattern of
    the line that names the mistake, if the tool has one."""

    command: str
    shows: str
    names: str = ""

    @property
    def tool(self) -> str:
        return self.command.split()[0]


@dataclass(frozen=True, slots=True)
class Trap:
    """A mistake. `planted`: what was done; `believed`: the conclusion of a reader without a warning.
    `ringside`: the command's arguments; `names`: a pattern of the sentence that must appear; `worded`: a
    sentence made from its groups, if it is a row of a table; `status`: the expected exit status. `servers`:
    servers that run meanwhile; {0} and {1} in commands are their addresses. `{program}` starts a planted
    program; `beside`: a planted program that runs meanwhile. `is_starved`: that program uses the tool's CPU,
    and the tool gets a lower priority. `quota`: the number of CPUs that the tool may use. `needs`: a program
    without which the trap cannot be tried. `experiment`: the file of `run trap`; `edit`: a contender made by
    copying another: its name, the other's name, a file, a text in it, and the copy's replacement."""

    name: str
    planted: str
    believed: str
    avoid: str
    ringside: str
    names: str
    status: int = 0
    worded: str = r"\g<0>"
    peers: tuple[Peer, ...] = ()
    servers: tuple[str, ...] = ()
    beside: str = ""
    is_starved: bool = False
    quota: float = 0.0
    experiment: str = ""
    needs: str = ""
    edit: tuple[str, str, str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of a tool: its decisive line, and whether that names the mistake (None if the tool was not
    run)."""

    tool: str
    command: str
    line: str
    is_named: bool | None


def hyperfine(commands: str, options: str = "--runs 20", names: str = "") -> Peer:
    return Peer(
        f"{PLAIN}{options} {commands}",
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
        "The second of two servers answers 95 % of requests with 503, at once.",
        "the failing server is the faster one",
        "refuse a verdict if more than 1 % fails.",
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
        "A server ignores every second request; the load ends before any time-out.",
        "no errors, low latencies",
        "count unanswered requests as failed, and their age as latency.",
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
        "A p99 is read from twelve requests.",
        "one request in a hundred takes this long",
        "take ten values beyond a percentile: a thousand for p99.",
        "load {0} --connections 1 --requests 12",
        r"\?: (fewer than \d+ lie beyond this percentile: it describes those few alone\.)",
        worded=r"\1",
        peers=(Peer("oha --no-tui -n 12 -c 1 {0}", r"99.00% in \S+ \S+"),),
        servers=("slow",),
    ),
    Trap(
        "Different work under one name",
        "The second of two programs adds only a tenth of the numbers.",
        "it does the same work faster",
        "compare outputs before times.",
        "vs -r 10 '{program} sum' '{program} less-sum'",
        r"Output of `B` differs from that of `A`\.",
        peers=(hyperfine("'{program} sum' '{program} less-sum'"),),
    ),
    Trap(
        "Two modes",
        "A program takes 0.1 and 1.5 s in turn.",
        "it takes about 0.8 s",
        "look at single values.",
        "vs -r 16 '{program} two-modes {scratch}'",
        r"A \([\d.]+× apart\): the values have two modes, and the median may be near neither\.",
        peers=(
            hyperfine("'{program} two-modes {scratch}'", "--runs 16"),
            Peer(
                "pyperf command -p 16 -n 1 -w 0 -- {program} two-modes {scratch}",
                r"command: .*",
                r"the standard deviation \(.*?\) is \d+% of the mean",
            ),
        ),
    ),
    Trap(
        "Rare stalls",
        "A program takes 0.1 s, but 2 s every sixth time.",
        "it takes about 0.4 s",
        "show the slow executions: how many, how long.",
        "vs -r 24 '{program} stalls {scratch}'",
        r"\d+ of 24 \([^)]*\), not in the histogram",
        peers=(
            hyperfine(
                "'{program} stalls {scratch}'", "--runs 24", names="Statistical outliers were detected"
            ),
        ),
    ),
    Trap(
        "Memory of short processes",
        "A program of 100 ms needs 200 MB for a moment.",
        "it needs little",
        "take the kernel's peak, not samples.",
        "vs -r 7 '{program} memory'",
        r"peak memory (?:19|20)\d(?:\.\d+)? MiB",
        peers=(
            hyperfine("'{program} memory'", "--runs 10"),
            Peer(
                "pyperf command --track-memory -p 5 -n 1 -w 1 -- {program} memory",
                r"command: .*",
                r"(?:19|20)\d(?:\.\d+)? M(?:i?B)",
            ),
        ),
    ),
    Trap(
        "Output bound by its reader",
        "A program writes 262 MB to a pipe and waits for its reader.",
        "the program takes that long",
        "discard the output (`--output null`).",
        "vs -r 7 '{program} prints'",
        r"Ringside read the output of `A` \(\d+ % of its time\)[^.]*\.",
        peers=(hyperfine("'{program} prints'", "--runs 7 --output pipe"),),
    ),
    Trap(
        "Coordinated omission",
        "A server stalls half a second at every 3,000th request.",
        "p99 is a few milliseconds",
        "send at fixed instants (`--rate`), and count latency from them.",
        "load {0} --connections 8 --duration 4s",
        r"A reply took \d+ ms: a closed loop hides such stalls, since it sends nothing meanwhile\.",
        peers=(
            # This tool adds the requests that it could not send during the stall.
            wrk("-d 4 -c 8 -t 1 --latency", names=r"99% +\d{3}[.\d]*ms"),
            h2load("-D 4 -c 8", r"time for request:(?: +\S+){3}"),
            Peer("oha --no-tui -z 4s -c 8 {0}", r"99.00% in \S+ \S+"),
        ),
        servers=("stalls",),
    ),
    Trap(
        "A generator at its limit",
        "Three busy programs have priority on the generator's CPU.",
        "the server is that slow",
        "watch the generator's own delay; give it its own CPUs.",
        "load {0} --rate 15000 --connections 64 --duration 3s",
        r"The engine(?:'s own delay is \d+ %| itself was up to \d+ ms behind its schedule)[^.]*\.",
        peers=(
            wrk("-d 3 -c 8 -t 1 --latency"),
            h2load("-D 3 -c 8", r"time for request:(?: +\S+){3}"),
            Peer("oha --no-tui -z 3s -q 15000 -c 64 --latency-correction {0}", r"99.00% in \S+ \S+"),
        ),
        servers=("good",),
        beside="busy",
        is_starved=True,
    ),
    Trap(
        "A default pool",
        "A server answers after 50 ms; the client has ten connections.",
        "the server can do 200 requests per second",
        "send at a rate, and use more connections if requests queue in the client.",
        "load {0} --connections 10 --rate 400 --duration 4s",
        r"[\d.]+ % of the intended requests were answered in time\. Use [^.]* more connections[^.]*\.",
        peers=(
            wrk("-d 3 -c 10 -t 1 --latency", r"Requests/sec: +\S+"),
            h2load("-D 3 -c 10", r"finished in .*?req/s"),
            Peer("oha --no-tui -z 3s -c 10 -q 400 {0}", r"Requests/sec: +\S+"),
        ),
        servers=("waits",),
    ),
    Trap(
        "Carry-over",
        "The first of three equal commands leaves a file, which the next one takes 40 ms to remove.",
        "the second command is slower",
        "use a random order, and compare trials by what ran before them.",
        "vs -r 30 '{program} leaves {scratch}' '{program} cleans {scratch}' '{program} cleans {scratch}'",
        r"The trial after A has [\d.]+ ?% more",
        peers=(
            hyperfine(
                "'{program} leaves {scratch}' '{program} cleans {scratch}'",
                "--runs 20",
            ),
        ),
    ),
    Trap(
        "Drift",
        "Two equal commands; after four seconds other programs take the CPUs.",
        "the second command is slower",
        "alternate commands, and time a reference computation beside them.",
        "vs --time 10s --until end '{program} works' '{program} works'",
        r"The machine's speed changed: a reference computation took [^;]*",
        peers=(hyperfine("'{program} works' '{program} works'", "--runs 30"),),
        beside="later",
    ),
    Trap(
        "A neighbour in bursts",
        "Other programs take the CPUs for half of each second.",
        "these are the command's own times",
        "watch who else uses the CPUs.",
        "vs -r 20 '{program} works' '{program} works'",
        r"Other programs used \d+ % of the contenders' CPUs",
        peers=(hyperfine("'{program} works' '{program} works'", "--runs 20"),),
        beside="bursts",
    ),
    Trap(
        "A wrong unit",
        "A program prints microseconds instead of nanoseconds.",
        "a message takes a thousandth of its time",
        "time it from outside too, and reject figures that contradict.",
        "run trap --until end",
        r"wrong-evidence: ::phase name=\w+",
        status=1,
        experiment="""\
title = "A wrong unit"
workload = "ring"
contenders = ["python-asyncio", "wrong-unit"]
baseline = "python-asyncio"
blocks = 1
[factors]
nodes = 100
messages = 1000
""",
        edit=("wrong-unit", "python-asyncio", "ring.py", "ns={end - start}", "ns={(end - start) // 1000}"),
    ),
    Trap(
        "A cold JIT",
        "The same ring on CPython and on PyPy, too short for PyPy's compiler.",
        "PyPy is slower",
        "repeat the work in one process, and separate the first repeat from the steady state.",
        "run trap --until end",
        r"python-asyncio@pypy (\S+ [µn]s) (\S+ [µn]s) ([\d.]+) (\d+) "
        r"([\w ,×]*(?:warm(?:ing|ed) up|no steady state))",
        worded=r"on PyPy the first repeat takes \1, the steady state \2: \3 times as long, "
        r"steady from repeat \4 on; in the blocks: \5",
        peers=(hyperfine("'pypy3 {ring} nodes=100 messages=100' 'python3 {ring} nodes=100 messages=100'"),),
        needs="pypy3",
        experiment="""\
title = "A cold JIT"
workload = "ring"
contenders = ["python-asyncio", "python-asyncio@pypy"]
baseline = "python-asyncio"
blocks = 7
[factors]
nodes = 100
messages = 100
repeats = 30
[show]
metrics = ["hop_ns", "first_hop_ns"]
""",
    ),
    Trap(
        "A hook that is still working",
        "`--prepare` starts a background computation and ends at once.",
        "the command takes that long",
        "let hooks wait for what they start.",
        "vs -r 10 --prepare '{program} works-on' '{program} works'",
        r"[Oo]ther programs used [\d.]+ % of the contenders' CPUs",
        peers=(hyperfine("'{program} works'", "--runs 10 --prepare '{program} works-on'"),),
    ),
    Trap(
        "A CPU quota",
        "Tool and programs share a fifth of a CPU, as in a container.",
        "the command takes that long",
        "look at the cgroup's cpu.max and nr_throttled.",
        "vs -r 10 '{program} works' '{program} works'",
        r"a CPU quota of \S+ CPUs stopped processes \d+ times? during the run",
        peers=(hyperfine("'{program} works'", "--runs 10"),),
        quota=0.2,
    ),
    Trap(
        "Different bodies",
        "Two servers answer 200, the second with an error page.",
        "both servers do the same",
        "compare bodies too.",
        "load {0} --vs {1} --rate 200 --duration 4s --blocks 4",
        r"The answers differ: [\w ,]+ bytes",
        peers=(
            wrk("-d 2 -c 8 -t 1", r"Requests/sec: +\S+"),
            h2load(shows=r"status codes:.*?5xx"),
        ),
        servers=("good", "other"),
    ),
    Trap(
        "Early replies",
        "A server answers 200 before it reads the 20 MB body.",
        "the server takes that many uploads",
        "count only replies to requests sent whole.",
        "load {0} --body @upload --connections 2 --duration 3s",
        r"early-reply ([\d,]+) (the reply was complete before the request was sent: "
        r"the server did not read the body)",
        worded=r"early-reply, \1 times: \2",
        status=1,
        peers=(
            h2load("-D 3 -c 2 -d upload", shows=r"requests:.*?timeout"),
            Peer("oha --no-tui -n 20 -c 2 -m POST -D upload {0}", r"Success rate: +\S+"),
        ),
        servers=("early",),
    ),
)


@contextmanager
def served(hows: Sequence[str]) -> Iterator[list[str]]:
    """The addresses of new servers, which stop at the end of the `with` block."""
    with ExitStack() as stack:
        addresses = []
        for how in hows:
            argv = [sys.executable, str(HERE / "planted" / "server.py"), how]
            pipe = subprocess.PIPE
            server = stack.enter_context(subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True))
            stack.callback(server.kill)
            assert server.stdout
            addresses.append(f"http://127.0.0.1:{int(server.stdout.readline())}/")
        yield addresses


@contextmanager
def beside(trap: Trap) -> Iterator[None]:
    """If a program is named, it runs until the `with` block ends."""
    if not (how := trap.beside):
        yield
        return
    pinned = ["taskset", "-c", LAST_CPU] if trap.is_starved else []
    with subprocess.Popen([*pinned, *PROGRAM.split(), how], stdin=subprocess.PIPE) as program:
        try:
            yield
        finally:
            # The program ends when its stdin does, and so do its child processes.
            program.communicate()


class NotPossibleError(Exception):
    """The reason why a trap cannot be planted on this machine."""


@contextmanager
def limited(trap: Trap) -> Iterator[None]:
    """Puts this process and its child processes into a cgroup with a trap's quota. Raises
    NotPossibleError."""
    if not trap.quota:
        yield
        return
    # The files of cgroup version 1 and version 2.
    for top, file in ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"), ("/sys/fs/cgroup", "cpu.max"):
        own, own_pid = Path(top, f"ringside-trap-{os.getpid()}"), str(os.getpid())
        with suppress(OSError):
            own.mkdir()
            (own / file).write_text(str(round(trap.quota * 100_000)))
            (own / "cgroup.procs").write_text(own_pid)
            break
        with suppress(OSError):
            own.rmdir()
    else:
        raise NotPossibleError("no cgroup whose CPU time can be limited may be made here")
    try:
        yield
    finally:
        Path(top, "cgroup.procs").write_text(own_pid)
        with suppress(OSError):
            own.rmdir()


@contextmanager
def scratch(trap: Trap) -> Iterator[Path]:
    """A new folder with a trap's experiment and its contender, if it has one."""
    with tempfile.TemporaryDirectory(prefix="ringside-trap-") as name:
        folder = Path(name)
        (folder / "upload").write_bytes(bytes(20_000_000))
        if trap.experiment:
            (folder / "experiments").mkdir()
            (folder / "experiments" / "trap.toml").write_text(trap.experiment)
        if trap.edit:
            copy, original, file, old, new = trap.edit
            shutil.copytree(CONTENDERS / original, folder / "contenders" / copy)
            source = folder / "contenders" / copy / file
            text = source.read_text()
            assert old in text
            source.write_text(text.replace(old, new))
        yield folder


def said(trap: Trap, command: str) -> tuple[int, str]:
    """Runs a command while the servers of a trap run. Returns its exit status and its whole output in one
    line."""
    with beside(trap), served(trap.servers) as addresses, scratch(trap) as folder, limited(trap):
        low = ["nice", "-n", "5", "taskset", "-c", LAST_CPU] if trap.is_starved else []
        words = low + shlex.split(command.format(*addresses, program=PROGRAM, ring=RING, scratch=folder))
        try:
            ended = subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1", "COLUMNS": "400"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, f"(no end within {LIMIT_S} s)"
    return ended.returncode, " ".join(ended.stdout.decode(errors="replace").split())


def of_ringside(trap: Trap) -> Answer:
    try:
        if trap.needs and not shutil.which(trap.needs):
            raise NotPossibleError(f"{trap.needs} is not installed here")
        status, text = said(trap, f"{shlex.quote(RINGSIDE)} {trap.ringside}")
    except NotPossibleError as error:
        return Answer("Ringside", f"ringside {trap.ringside}", f"not tried: {error}", None)
    named = re.search(trap.names, text)
    is_named = bool(named) and status == trap.status
    line = named.expand(trap.worded) if named else f"(nothing of it) {text[-300:]}"
    ending = "" if is_named else f" Exit status {status}."
    return Answer("Ringside", f"ringside {trap.ringside}", line + ending, is_named)


def of_peer(trap: Trap, other: Peer, folders: str) -> Answer:
    program = shutil.which(other.tool, path=folders)
    if program is None:
        return Answer(other.tool, other.command, "not installed here", None)
    status, text = said(trap, other.command.replace(other.tool, shlex.quote(program), 1))
    named = re.search(other.names, text) if other.names else None
    match = named or re.search(other.shows, text)
    line = match[0] if match else f"exit status {status}: {text[-200:]}"
    return Answer(other.tool, other.command, line, bool(named))


def section(trap: Trap, answers: Sequence[Answer]) -> list[str]:
    tried = [answer for answer in answers if answer.is_named is not None]
    believed = "" if all(answer.is_named for answer in tried) else f" Believed: {trap.believed}."
    lines = [f"## {trap.name}", "", f"{trap.planted}{believed} Remedy: {trap.avoid}", ""]
    missed = []
    for answer in tried or answers[:1]:
        if answer.tool == "Ringside" or answer.is_named:
            line = answer.line.replace("<", "&lt;").replace(PROGRAM, "program.py")
            lines.append(f"- {MARKS[answer.is_named]} {answer.tool}: {line}")
        else:
            missed.append(answer.tool)
    lines += [f"- {MARKS[False]} {', '.join(missed)}"] if missed else []
    return [*lines, ""]


def summary(results: Sequence[tuple[Trap, Sequence[Answer]]]) -> str:
    """For each tool, how many mistakes it names, out of those that it was tried on."""
    named: dict[str, list[bool]] = {}
    for answer in (each for _, answers in results for each in answers):
        tried = named.setdefault(answer.tool, [])
        if answer.is_named is not None:
            tried.append(answer.is_named)
    counts = (
        f"{tool} {sum(each)} of {len(each)}" if each else f"{tool} not tried" for tool, each in named.items()
    )
    return f"Mistakes named: {', '.join(counts)}."


def page(results: Sequence[tuple[Trap, Sequence[Answer]]]) -> str:
    lines = [
        "# Traps of measuring",
        "",
        summary(results),
        "",
        "`benchmarks/traps.py` plants known mistakes in small programs and servers, runs Ringside and its "
        "peers on each, and writes this page; `traps.py drift` repeats one and prints the commands. ✓: the "
        "tool prints a warning of the mistake or the true figure, or refuses to go on. *Believed*: what an "
        "unwarned reader concludes.",
        "",
    ]
    for trap, answers in results:
        lines += section(trap, answers)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tools", action="append", default=[], metavar="FOLDER", help="of more peers")
    parser.add_argument("names", nargs="*", help="words in the names of the traps to try")
    chosen = parser.parse_args()
    folders = os.pathsep.join([*chosen.tools, str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    results = []
    for trap in TRAPS:
        if chosen.names and not any(name.lower() in trap.name.lower() for name in chosen.names):
            continue
        answers = [of_ringside(trap)]
        if answers[0].is_named is not None:
            answers += [of_peer(trap, peer, folders) for peer in trap.peers]
        results.append((trap, answers))
        for answer in answers:
            print(f"{trap.name}: {answer.command}: {answer.is_named}: {answer.line}", flush=True)
    if not chosen.names:
        PAGE.write_text(page(results), encoding="utf-8")
    missed = [trap.name for trap, answers in results if answers[0].is_named is False]
    print(f"Ringside names {len(results) - len(missed)} of {len(results)}", *missed, sep="; not ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
