"""A contender's program of one workload, started as the probe starts it, with and without the probe; and the
rules of docs/PROTOCOL.md that `ringside check` tests."""

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

import msgspec

from ringside.files import tables_beside
from ringside.measure import host
from ringside.measure.host import Executor
from ringside.measure.runs import plan, trials
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Ready
from ringside.model.design import Cell, ExperimentLimits, Input, Level, Point
from ringside.model.results import Outcome, Trial
from ringside.probe import kernel
from ringside.text import one_line
from ringside.units import count
from ringside.workloads.base import Workload

# A port that is rarely taken; those behind it are of upstreams.
PORT = 8123


def by_hand(module: str, *words: str) -> str:
    """The line for a shell that runs this module, to repeat a finding by hand."""
    return shlex.join([sys.executable, "-m", module, *words])


# The rules that are no single workload's.
RULES: dict[str, str] = tables_beside(__file__, "rules.toml")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a contender breaks."""

    rule: str
    # The rule in a sentence.
    meaning: str
    workload: str
    expected: str
    came: str
    # A line for a shell that repeats it.
    command: str


# Longer than any honest program takes, even on a machine that stalls now and then.
PATIENCE_S = 20.0
_WALL_S = 60.0
# How long a server is watched before its load: nothing is measured here.
_IDLE_S = 0.1
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Done:
    """A program that has ended: `status` is None if it had to be killed."""

    status: int | None
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> list[str]:
        return self.stderr.decode(errors="replace").strip().splitlines()

    @property
    def is_refusal(self) -> bool:
        """Whether it ended with status 2 and one line on stderr, as for arguments that it cannot use."""
        return self.status == 2 and len(self.complaint) == 1 and b"::re" not in self.stdout

    def __str__(self) -> str:
        how = f"status {self.status}" if self.status is not None else f"no end within {PATIENCE_S:.0f} s"
        if self.status is not None and self.status < 0:
            how = f"killed by {signal.Signals(-self.status).name}"
        wrote = one_line(" ".join(self.complaint), _SHOWN)
        return f"{how}, {count(len(self.complaint), 'line')} on stderr" + (f": {wrote}" if wrote else "")


@dataclass
class Subject:
    """The program of a workload. `folder`: a temporary one."""

    ready: Ready
    workload: Workload
    executor: Executor
    inputs: Inputs
    folder: Path
    quick: bool = False
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir(parents=True, exist_ok=True)
        self.environment = trials.environment({**os.environ, "TMPDIR": str(self.tmp)}, self.ready, 1, 1, 0)

    def beside(self) -> "Subject":
        """The same program without findings, for another thread: a probe carries out one trial at a time."""
        return replace(self, executor=Executor(), findings=[])

    def report(self, rule: str, expected: str, came: object, command: str) -> None:
        """Add a finding, one for each rule."""
        if rule in self.broken:
            return
        meaning, text = {**RULES, **self.workload.rules}[rule], one_line(str(came), 2 * _SHOWN)
        self.findings.append(Finding(rule, meaning, self.workload.name, expected, text, command))

    @contextmanager
    def expects(self, rule: str, expected: str, command: str) -> Iterator[None]:
        """Adds a finding where the block raises OSError or ValueError, which says what came instead."""
        try:
            yield
        except (OSError, ValueError) as error:
            # Errors of connections may lack a text.
            self.report(rule, expected, str(error) or type(error).__name__, command)

    @property
    def broken(self) -> set[str]:
        """The rules with a finding."""
        return {finding.rule for finding in self.findings}

    # --- without the probe ---

    def argv(self, *arguments: str) -> list[str]:
        """The command with these `key=value` arguments."""
        names = {"runtime": self.ready.receipt.executable, "build": str(self.ready.build), "cores": 1}
        names |= dict(word.split("=", 1) for word in arguments if "=" in word)
        return [*expand(self.ready.contender.workloads[self.workload.name].command, names), *arguments]

    def by_hand(self, *arguments: str, before: str = "") -> str:
        """A line for a shell that starts the program. `before`: what is written to its stdin."""
        cwd = shlex.quote(str(self.ready.contender.folder))
        return f"cd {cwd} && {before}{shlex.join(self.argv(*arguments))}"

    @property
    def served(self) -> list[str]:
        """The arguments with which a server is tested."""
        if words := self.workload.checks.arguments:
            return words.split()
        point = self.point()
        values = {**point.as_dict(), **self.workload.arguments(point)}
        return [f"{key}={value}" for key, value in values.items()]

    def served_by_hand(self, client: str, arguments: Sequence[str] | None = None) -> str:
        """A line for a shell that starts the server, with these arguments or the usual ones, and a client."""
        words = [f"port={PORT}" if word == "port=0" else word for word in arguments or self.served]
        # In the background its stdin would be at its end, which ends it.
        return f"{self.by_hand(*words, before='sleep 9 | ')} & sleep 2; {client}"

    def asked_by_hand(self, before: str = "") -> str:
        """A line for a shell that starts the server, and asks it after another client."""
        return self.served_by_hand(before + self.workload.checks.ask)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The program with pipes, in a session of its own, which does not outlive the block."""
        with subprocess.Popen(
            self.argv(*arguments),
            cwd=self.ready.contender.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def run(self, *arguments: str) -> Done:
        """The program to its end, with an stdin that is at its end; killed where that takes too long."""
        with self.started(*arguments) as process:
            return end_of(process)

    # --- by the probe ---

    @property
    def offered(self) -> tuple[str, ...]:
        """The capabilities that the manifest names."""
        return self.ready.contender.workloads[self.workload.name].capabilities

    def point(self, **levels: Level) -> Point:
        """The workload's defaults with other levels."""
        factors = {factor.name: factor.default for factor in self.workload.factors}
        return Point(tuple((factors | levels).items()))

    def input(self, point: Point) -> Input | None:
        """The file that the program reads at a point."""
        file = self.workload.input(point)
        return self.inputs.get(file) if file else None

    def can(self, point: Point) -> bool:
        """Whether the manifest has this point."""
        cores = self.workload.cores(point) <= self.executor.capacity().cpus
        return cores and plan.past_limit(self.ready.contender, self.workload, point) is None

    def trial(self, point: Point, seed: int = 1) -> tuple[Trial, str]:
        """A trial by the probe, and a line for a shell that repeats it."""
        cell = Cell(self.ready.contender.name, point)
        input = self.input(point)
        request = trials.request(
            self.ready,
            cell,
            self.workload,
            limits=ExperimentLimits(wall_s=_WALL_S),
            cpus=self.executor.cpus(self.workload.cores(point)),
            environment=self.environment,
            seed=seed,
            memory_available_bytes=host.memory_available_bytes(),
            input=input,
        )
        if request.service:
            service = msgspec.structs.replace(request.service, idle_s=_IDLE_S)
            request = msgspec.structs.replace(request, service=service)
        blank = Trial(1, 0, cell, Outcome.INTERRUPTED, "", input_bytes=input.size_bytes if input else None)
        trial = trials.trial_from_messages(blank, self.executor.trial(request))
        # The temporary folder is gone when somebody repeats it.
        lasting = {name: value for name, value in request.env.items() if name != "TMPDIR"}
        line = trials.plain_command(msgspec.structs.replace(request, env=lasting))
        return trials.validated(trial, self.workload, seed), line


def end_of(process: subprocess.Popen[bytes], input: bytes = b"") -> Done:
    """How a program ends that gets this, and then nothing more, on its stdin."""
    try:
        stdout, stderr = process.communicate(input, PATIENCE_S)
    except subprocess.TimeoutExpired as late:
        # It still runs, or a process that it left behind keeps its pipes open.
        return Done(process.poll(), late.stdout or b"", late.stderr or b"")
    return Done(process.returncode, stdout, stderr)


def results_of(stdout: bytes) -> list[dict[str, str]]:
    """The pairs of each `::result`; the probe looks whether they are well-formed."""
    lines = stdout.decode(errors="replace").splitlines()
    words = (line.split(" ")[1:] for line in lines if line.startswith("::result"))
    return [{key: value for key, _, value in (word.partition("=") for word in each)} for each in words]


def lines_until(
    process: subprocess.Popen[bytes], word: bytes, patience_s: float = PATIENCE_S
) -> tuple[list[bytes], bool]:
    """The lines on stdout up to the first that begins with `word`, and whether stdout is at its end. The last
    line is another one where that did not come in time."""
    assert process.stdout is not None
    lines: list[bytes] = []
    rest, deadline = b"", time.monotonic() + patience_s
    while (left_s := deadline - time.monotonic()) > 0:
        if not select.select([process.stdout], [], [], left_s)[0]:
            break
        piece = os.read(process.stdout.fileno(), 1 << 16)
        if not piece:
            return lines, True
        *whole, rest = (rest + piece).split(b"\n")
        lines += whole
        if any(line.startswith(word) for line in whole):
            return lines, False
    return lines, False


def alive_in_session(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    alive = []
    for folder in Path("/proc").glob("[0-9]*"):
        # State, parent, group, session; nothing of a process that has gone.
        fields = kernel.fields_of(int(folder.name))
        if fields and int(fields[3]) == session and fields[0] not in "ZX":
            alive.append(int(folder.name))
    return alive


def listeners(pids: Sequence[int]) -> dict[int, str]:
    """The TCP ports on which these processes listen, each with its address."""
    inodes = set()
    for pid in pids:
        with suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    target = os.readlink(entry)
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
    ports = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    address, _, port = fields[1].rpartition(":")
                    ports[int(port, 16)] = _address(address)
    return ports


def _address(text: str) -> str:
    """An address as the kernel writes it, in words of four bytes; one of IPv4 inside IPv6 as that of IPv4."""
    words = (bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    address = ip_address(b"".join(words))
    return str(getattr(address, "ipv4_mapped", None) or address)


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    """The files below a folder, each with its size and the time of its last change."""
    files = {}
    for path in folder.rglob("*"):
        with suppress(OSError):
            state, name = path.stat(), str(path.relative_to(folder))
            files[name] = (state.st_size, state.st_mtime_ns) if path.is_file() else (0, 0)
    return files
