"""Trials of contenders: the request that goes to the probe, and the trial that its messages make; and one
trial of a run again, without storing it, to see what a contender that failed writes."""

import os
import random
import shlex
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

import msgspec

from ringside.catalogue.loader import Catalogue
from ringside.errors import BuildError, ProbeError, UsageError
from ringside.measure import host
from ringside.measure.host import Executor, memory_available_bytes
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import Listener, Notify, row, uninterrupted
from ringside.measure.runs.plan import Prepared, check_machine, prepare
from ringside.measure.runs.sandbox import sandboxed
from ringside.measure.toolchain.builds import FileWatch, Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Ready, Unavailable, WorkloadEntry
from ringside.model.design import Cell, ExperimentLimits, Input, Point, grouped
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.probe import protocol
from ringside.store import now
from ringside.store.plans import RunPlan, read_plan
from ringside.text import one_line
from ringside.workloads import measurement
from ringside.workloads.base import AUTO, HOLD, LARGEST_SEED, REPEATS, Workload
from ringside.workloads.phases import Pause, impossible_phases, phase_contradictions

Kind = TypeVar("Kind")

# Limit of a contender's run before the first block.
_REHEARSAL_S = 60.0
# The same until `::ready`; a slower server gets its whole limit in the first block.
_REHEARSAL_READY_S = 15.0
# The share of the available memory that a contender may take, unless an experiment limits it.
_MEMORY_SHARE = 0.75
LOOPBACK = "127.0.0.1"
# The variable that only makes the environment's size vary.
PADDING = "RINGSIDE_PADDING"
# A separate process, which the probe adopts, waits until something listens on the port, reports it, and ends.
# The server takes this program's place, so nothing else is measured. Connecting would give it work.
_LAUNCHER = Path(__file__).with_name("launcher.sh").read_text(encoding="utf-8")


def request(
    ready: Ready,
    cell: Cell,
    workload: Workload,
    *,
    limits: ExperimentLimits,
    cpus: tuple[tuple[int, ...], tuple[int, ...]],
    environment: Mapping[str, str],
    seed: int,
    memory_available_bytes: int,
    input: Input | None = None,
    reference: bool = False,
    host: str | None = None,
) -> protocol.TrialRequest:
    """The probe's request for one trial of a cell. `cpus`: the contender's and the probe's. `input`: the file
    that the workload has for the point. `reference`: time the fixed computation before. `host`: where a
    server listens for engines on other machines. Raises UsageError if the workload's evidence does."""
    point = cell.point
    arguments = {**{key: str(level) for key, level in point.levels}, **workload.arguments(point)}
    if arguments.get(REPEATS.name) == AUTO:
        arguments[REPEATS.name] = "1"
    arguments.setdefault("seed", str(seed))
    entry, awaits = ready.contender.workloads[workload.name], workload.awaits(point)
    if awaits and any(capability.name == HOLD for capability in workload.capabilities):
        if HOLD in entry.capabilities:
            arguments[HOLD] = "1"
        else:
            awaits = ()
    if input:
        arguments["input"] = str(input.path)
    service = workload.service(point, seed)
    if service and host:
        arguments["host"] = host
        service = msgspec.structs.replace(service, host=host, remote=True)
    return protocol.TrialRequest(
        argv=_argv(ready, entry, point, arguments),
        cwd=str(ready.contender.folder),
        env=dict(environment),
        limits=protocol.Limits(
            wall_s=limits.wall_s,
            memory_bytes=limits.memory_bytes or int(memory_available_bytes * _MEMORY_SHARE),
            output_bytes=limits.output_bytes or workload.output_bytes(point),
            processes=limits.processes,
        ),
        cpus=cpus[0],
        probe_cpus=cpus[1],
        timeline=workload.timeline_view is not None,
        # A server's evidence is its answers.
        expect=None if service else workload.evidence(point, seed, input),
        service=service,
        inputs=(protocol.InputUse(str(input.path), cached=workload.input_cached(point)),) if input else (),
        awaits=awaits,
        reference=reference,
        temporary=True,
    )


def _argv(ready: Ready, entry: WorkloadEntry, point: Point, arguments: Mapping[str, str]) -> tuple[str, ...]:
    names = {"runtime": ready.receipt.executable, "build": str(ready.build), **point.as_dict()}
    if not ready.contender.has_sources:
        host = arguments.get("host", LOOPBACK)
        port = free_port(host)
        command = expand(entry.command, {**arguments, **names, "port": port, "host": host})
        return with_ready_line(command, port)
    limited = ("prlimit", f"--nofile={names['nofile']}") if names.get("nofile") else ()
    return (*limited, *expand(entry.command, names), *(f"{key}={value}" for key, value in arguments.items()))


def free_port(host: str = LOOPBACK) -> int:
    """A port of an address of this machine on which nothing listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port: int = server.getsockname()[1]
        return port


def with_ready_line(command: Sequence[str], port: int) -> tuple[str, ...]:
    """A command that starts a server without the protocol, and prints `::ready` once it listens on `port`."""
    # `read` of /proc/net/tcp sees ports as four hexadecimal digits.
    return ("/bin/sh", "-c", _LAUNCHER, f"{port:04X}", str(port), *command)


def padding_bytes(seed: int, block: int, position: int) -> int:
    """Length of an environment variable that only takes room: the size of the environment moves the stack
    and with it results (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    ASPLOS 2009), so it varies at random instead of favouring one contender."""
    return random.Random(f"padding/{seed}/{block}/{position}").randrange(4096)


def environment(
    base: Mapping[str, str], ready: Ready, seed: int, block: int, position: int
) -> dict[str, str]:
    """A contender's whole environment: small, the same for all but a variant's variables, of a random size.

    HOME lies in the build folder and Python writes no bytecode beside the sources (a build may compile
    it), so that nothing is written elsewhere."""
    own = ready.contender.environment
    return {
        "PATH": base.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(ready.build),
        "LANG": "C.UTF-8",
        "TMPDIR": base.get("TMPDIR", "/tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ERL_CRASH_DUMP_BYTES": "0",
        PADDING: "." * padding_bytes(seed, block, position),
        **dict(zip(own, expand(tuple(own.values()), {"build": ready.build}), strict=True)),
    }


def plain_command(request: protocol.TrialRequest) -> str:
    """A line for a shell that starts the program as the probe does, without its limits, CPUs and load. A
    program that pauses until it gets a line gets lines."""
    environment = [f"{name}={value}" for name, value in request.env.items() if name != PADDING]
    lines = "yes '' | " if request.awaits else ""
    return f"cd {shlex.quote(request.cwd)} && {lines}env -i {shlex.join([*environment, *request.argv])}"


def trial_from_messages(
    blank: Trial, messages: Sequence[protocol.TrialMessage], interference: str | None = None
) -> Trial:
    """The trial with the probe's messages. `interference`: of another program with this one, in words. Raises
    ProbeError if the outcome is missing or unknown."""
    if not isinstance(report := messages[-1] if messages else None, protocol.TrialOutcome):
        raise ProbeError("the probe ended without an outcome")
    if interference:
        report = msgspec.structs.replace(report, interference=(*report.interference, interference))
    phases, samples = _of_kind(messages, protocol.Phase), _of_kind(messages, protocol.Sample)
    by_name = grouped((phase.name, phase) for phase in phases)
    return replace(
        blank,
        outcome=outcome_of(report),
        detail=report.detail,
        report=report,
        phases={name: tuple(phase.ns for phase in each) for name, each in by_name.items()},
        phase_lines=phases,
        read_ns={name: (each[0].t_ns, each[-1].t_ns) for name, each in by_name.items()},
        marks={sample.mark: sample for sample in samples if sample.mark},
        samples=samples,
        loads=_of_kind(messages, protocol.LoadMessage),
        spans=_of_kind(messages, protocol.Span),
        missing=next((started.missing for started in _of_kind(messages, protocol.Started)), ()),
    )


def _of_kind(messages: Sequence[protocol.TrialMessage], kind: type[Kind]) -> tuple[Kind, ...]:
    return tuple(message for message in messages if isinstance(message, kind))


def validated(trial: Trial, workload: Workload, seed: int) -> Trial:
    """The trial, or `wrong-evidence` where what an `ok` one reported cannot be true."""
    if trial.outcome is not Outcome.OK:
        return trial
    try:
        _refute_phases(trial, workload)
        workload.refute(trial, seed)
    except ValueError as contradiction:
        return replace(trial, outcome=Outcome.WRONG_EVIDENCE, detail=one_line(str(contradiction)))
    return trial


def _refute_phases(trial: Trial, workload: Workload) -> None:
    """Raises ValueError for phases that cannot be true by the probe's clock."""
    report = trial.report or protocol.TrialOutcome("ok")
    awaited = [trial.marks[name] for name in workload.awaits(trial.cell.point) if name in trial.marks]
    pauses = [Pause(mark.t_ns, report.paused_ns or 0) for mark in awaited[:1]]
    # The kernel's figure is a mean over the CPUs that are busy, and has nothing of what the hypervisor took.
    pressure_ns = report.pressure.cpu_ns if report.pressure else None
    stolen_ns = sum(cpu.stolen_ns for cpu in report.cpus)
    waited_ns = None if pressure_ns is None else pressure_ns * (os.cpu_count() or 1) + stolen_ns
    idle_ns = max(0, (report.wall_ns or 0) - report.cpu_ns)
    contradictions = chain(
        impossible_phases(trial.phase_lines, workload.least_ns(trial.cell.point, trial.input_bytes)),
        phase_contradictions(trial.phase_lines, workload.phase_rules, pauses, waited_ns, idle_ns),
    )
    if contradiction := next(contradictions, None):
        raise ValueError(contradiction)


def outcome_of(report: protocol.TrialOutcome | protocol.LoadFigures) -> Outcome:
    """How the trial ended. Raises ProbeError for an outcome that this version does not know."""
    try:
        return Outcome(report.outcome)
    except ValueError:
        raise ProbeError(f"the probe reported an unknown outcome: {one_line(report.outcome, 100)}") from None


@dataclass(eq=False)
class ContenderTrials:
    """Carries out trials of contenders. `listen_at`: the address of this machine where servers listen for
    loads of the executor's engines; None: 127.0.0.1, for loads of the probe."""

    seed: int
    prepared: Prepared
    executor: Executor
    listen_at: str | None = None

    def __post_init__(self) -> None:
        self._environment, _ = host.environment()
        self._memory_available_bytes = memory_available_bytes()
        contenders = self.prepared.contenders.items()
        self._watches = {name: FileWatch(each) for name, each in contenders if isinstance(each, Ready)}

    def close(self) -> None:
        """After the last trial."""
        for watch in self._watches.values():
            watch.discard_changed()

    def warm_up(self, notify: Notify) -> None:
        """Each contender once, before the first block: this loads files and writes bytecode caches."""
        prepared = self.prepared
        smallest = min(prepared.points, key=prepared.workload.work)
        for name in prepared.experiment.contenders:
            cell = Cell(name, smallest)
            if prepared.why_unavailable(cell) is None:
                notify("warm-up", cell)
                rehearsal = Cell(name, prepared.workload.rehearsal(smallest))
                # A probe that fails here fails in the first block, too, where it is a row.
                with suppress(ProbeError):
                    uninterrupted(self.trial(0, 0, rehearsal, first=False))

    def request(self, block: int, position: int, cell: Cell, *, first: bool) -> protocol.TrialRequest:
        """The probe's request for a trial, without the sandbox."""
        ready, workload = self._watches[cell.contender].ready, self.prepared.workload
        limits = self.prepared.experiment.limits
        if block == 0:
            # It is not measured: what hangs need not cost its whole limit here, too.
            limits = msgspec.structs.replace(limits, wall_s=min(limits.wall_s, _REHEARSAL_S))
        probe_request = request(
            ready,
            cell,
            workload,
            limits=limits,
            cpus=self.executor.cpus(workload.cores(cell.point)),
            environment=environment(self._environment, ready, self.seed, block, position),
            seed=self._seed_of(block),
            memory_available_bytes=self._memory_available_bytes,
            input=self.prepared.input(cell.point),
            reference=first,
            host=self.listen_at,
        )
        service = probe_request.service
        if block == 0 and service:
            service = msgspec.structs.replace(service, ready_s=min(service.ready_s, _REHEARSAL_READY_S))
            return msgspec.structs.replace(probe_request, service=service)
        return probe_request

    def can_measure(self, cell: Cell) -> bool:
        request = self.request(0, 0, cell, first=False)
        what = (request.env, request.limits, request.cpus, request.probe_cpus)
        harmless = protocol.TrialRequest(("true",), "/", *what)
        blank = Trial(0, 0, cell, Outcome.INTERRUPTED, "")
        with suppress(ProbeError):
            trial = trial_from_messages(blank, self.executor.trial(harmless))
            return uninterrupted(trial).outcome is Outcome.OK
        return False

    def _seed_of(self, block: int) -> int:
        """The same for all contenders of a block, another in the next."""
        return (self.seed + block) % (LARGEST_SEED + 1)

    def trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        watch, ready = self._watches[cell.contender], self._watches[cell.contender].ready
        try:
            changed = watch.changed_sources()
            rebuilt = watch.mend_build()
        except BuildError as error:
            changed = str(error)
        if changed:
            return row(block, position, cell, changed)
        input_file = self.prepared.input(cell.point)
        request = self.request(block, position, cell, first=first)
        if self.prepared.experiment.sandbox:
            files = [input_file.path] if input_file else []
            folders = [ready.contender.folder, ready.build]
            request = sandboxed(request, [*folders, *files], ready.receipt.executable)
        blank = Trial(block, position, cell, Outcome.INTERRUPTED, "", request.cpus, now())
        size, limit = input_file.size_bytes if input_file else None, request.limits.memory_bytes
        blank = replace(blank, memory_limit_bytes=limit, input_bytes=size)
        try:
            messages = self.executor.trial(request)
        finally:
            watch.end_trial()
        trial = trial_from_messages(blank, messages, rebuilt)
        if trial.outcome is Outcome.NEVER_READY and not ready.contender.has_sources:
            trial = replace(
                trial, detail="it did not listen on the port that `{port}` in its command stands for"
            )
        return validated(trial, self.prepared.workload, self._seed_of(block))


@dataclass(frozen=True, slots=True)
class Repetition:
    """A trial to repeat. `place`: its block, position and cell. `has_changed`: the contender has since."""

    trials: ContenderTrials
    place: tuple[int, int, Cell]
    has_changed: bool


def repetition(
    run: Run,
    earlier: Sequence[Trial],
    contender: str,
    settings: Mapping[str, Sequence[str]],
    *,
    catalogue: Catalogue,
    toolchain: Toolchain,
    inputs: Inputs,
    executor: Executor,
) -> Repetition | Unavailable:
    """A trial of the contender at the point that `settings` name, that of its first failure where several
    fit. `earlier`: the trials of the run. Raises UsageError if the run has no such trial, CatalogueError
    where the manifest is broken."""
    kept = read_plan(run)
    workload = measurement(kept.experiment.workload)
    if not isinstance(workload, Workload):
        raise UsageError(f"run {run.id} is not one of `ringside run`: repeat its command by hand")
    if contender not in kept.contenders:
        known = ", ".join(kept.contenders)
        raise UsageError(f"run {run.id} has no contender `{contender}`; it has: {known}")
    points = _points(kept, run, workload, settings)
    failed = [
        trial
        for trial in earlier
        if trial.cell.contender == contender
        and trial.cell.point in points
        and trial.outcome not in (Outcome.OK, Outcome.UNAVAILABLE, *REPEATABLE)
    ]
    cell = failed[0].cell if failed else Cell(contender, points[0])
    place = (failed[0].block, failed[0].position) if failed else (1, 0)
    check_machine([cell.point], workload, executor.capacity())
    cell = kept.measured(cell)
    contenders = {contender: catalogue.contender(contender)}
    prepared = prepare(kept.experiment, [cell.point], contenders, toolchain, inputs, Listener())
    ready = prepared.contenders[contender]
    if not isinstance(ready, Ready):
        return ready
    has_changed = ready.content != kept.contenders[contender].content
    return Repetition(ContenderTrials(run.seed, prepared, executor), (*place, cell), has_changed)


def _points(
    kept: RunPlan, run: Run, workload: Workload, settings: Mapping[str, Sequence[str]]
) -> list[Point]:
    for factor in settings:
        workload.factor(factor)
    points = [
        point
        for point in kept.points
        if all(str(point.as_dict().get(factor)) in levels for factor, levels in settings.items())
    ]
    if not points:
        raise UsageError(f"run {run.id} has no such point; it has: {'; '.join(map(str, kept.points[:9]))}")
    return points
