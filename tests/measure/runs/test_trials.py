"""The request of a trial, and the trial that the probe's messages make."""

import dataclasses
import hashlib
import json
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.errors import ProbeError
from ringside.measure.runs import trials
from ringside.measure.runs.trials import padding_bytes, with_ready_line
from ringside.model.catalogue import Contender, Ready, Receipt, Runtime, WorkloadEntry
from ringside.model.design import Cell, ExperimentLimits, Input, Level
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import Evidence, ExpectedLines, InputUse, Span, TrialRequest, trial_message
from ringside.workloads.base import Workload
from ringside.workloads.batch.workload import BATCH
from ringside.workloads.fanout.workload import FANOUT
from ringside.workloads.feed.workload import FEED
from ringside.workloads.jobs.workload import JOBS
from ringside.workloads.ring.workload import RING, Ring
from ringside.workloads.sleepers.workload import SLEEPERS
from tests.support.points import ok_trial, point

RING_LEVELS: dict[str, Level] = {"nodes": 4, "messages": 3, "mode": "token", "trace": 1, "cores": 2}
COMMAND = ("{runtime}", "+S", "{cores}", "{build}/program")
CONTENDER = Contender(
    name="a",
    folder=Path("/folder"),
    title="",
    parallel=True,
    runtime=Runtime(name="r", executable=("r",), version=("r",)),
    workloads={
        workload.name: WorkloadEntry(COMMAND, capabilities=("hold",))
        for workload in (RING, BATCH, FANOUT, FEED, JOBS, SLEEPERS)
    },
)
READY = Ready(CONTENDER, Receipt("/bin/r", "1", "r 1"), Path("/build"), "c")


def request_for(of: Workload = RING, levels: dict[str, Level] | None = None, **changes: Any) -> TrialRequest:
    settings: dict[str, Any] = {
        "ready": READY,
        "limits": ExperimentLimits(wall_s=5),
        "cpus": ((0, 1), (3,)),
        "environment": {"PATH": "/bin"},
        "seed": 9,
        "memory_available_bytes": 1000,
    }
    at = point(of, **(RING_LEVELS if levels is None else levels))
    settings |= changes
    return trials.request(settings.pop("ready"), Cell("a", at), of, **settings)


def test_the_request_holds_the_command_the_point_and_the_evidence() -> None:
    request = request_for()
    assert request.argv == (
        *("/bin/r", "+S", "2", "/build/program", "nodes=4", "messages=3", "mode=token"),
        *("capacity=own", "trace=1", "repeats=1", "cores=2", "seed=9", "hold=1"),
    )
    assert (request.cwd, request.env) == ("/folder", {"PATH": "/bin"})
    assert (request.cpus, request.probe_cpus) == ((0, 1), (3,))
    assert request.expect == Evidence(
        {"checksum": "21", "order": "7911"}, ExpectedLines(12, {":": 6, "*": 3, ">": 2, "@": 1})
    )
    assert (request.limits.wall_s, request.limits.memory_bytes) == (5, 750)
    assert request.limits.output_bytes == RING.output_bytes(point(RING, **RING_LEVELS))
    assert (request.service, request.inputs, request.timeline, request.reference) == (None, (), False, False)
    assert request_for(reference=True).reference
    sent = json.loads(request.encode())
    assert (sent["version"], sent["argv"][-1]) == (1, "hold=1")


def test_only_a_contender_that_offers_it_waits() -> None:
    assert request_for().awaits == ("spawned",)
    core = msgspec.structs.replace(CONTENDER, workloads={"ring": WorkloadEntry(COMMAND)})
    request = request_for(ready=dataclasses.replace(READY, contender=core))
    assert request.awaits == ()
    assert "hold=1" not in request.argv


def test_an_experiments_limits_win() -> None:
    limits = request_for(limits=ExperimentLimits(memory_bytes=7, output_bytes=8, processes=9)).limits
    assert (limits.memory_bytes, limits.output_bytes, limits.processes) == (7, 8, 9)


@pytest.mark.parametrize(("source", "cached"), [("cache", True), ("disk", False)])
def test_input_files(tmp_path: Path, source: str, cached: bool) -> None:
    answers = tmp_path / "answers"
    answers.write_bytes(b"Case #1: 5\n")
    input = Input(tmp_path / "input", 100, hashlib.sha256(b"Case #1: 5\n").hexdigest(), answers)
    request = request_for(BATCH, {"cases": 1, "source": source, "seed": 77}, input=input)
    assert request.inputs == (InputUse(str(input.path), cached=cached),)
    assert f"input={input.path}" in request.argv
    # The point's seed is the input's, and wins over that of the run.
    assert [word for word in request.argv if word.startswith("seed=")] == ["seed=77"]
    assert request.expect == Evidence({"cases": "1"}, ExpectedLines(1, sha256=input.answer_sha256))
    assert not request_for(BATCH, {"cases": 1}).inputs


def test_servers_prove_their_work_by_their_answers() -> None:
    request = request_for(FANOUT, {"requests": 7})
    assert request.service == FANOUT.service(point(FANOUT, requests=7), 9)
    assert (request.expect, request.timeline) == (None, False)
    assert request_for(FANOUT, {"nofile": 64}).argv[:3] == ("prlimit", "--nofile=64", "/bin/r")
    feed = request_for(FEED, {})
    assert feed.timeline
    sent = json.loads(feed.encode())
    assert "expect" not in sent
    assert sent["service"]["steps"][1]["loads"][0]["plan"]["stream"]["chunk"] == "Chunk {k} for {id}"
    assert sent["service"]["steps"][1]["marks"][0] == {"name": "ramped", "at_s": 1.0}


def test_the_seed_of_a_block_is_in_the_evidence_and_marks_are_awaited() -> None:
    at = point(SLEEPERS, tasks=10)
    request = request_for(SLEEPERS, {"tasks": 10}, seed=9)
    assert request.expect == SLEEPERS.evidence(at, 9, None) != SLEEPERS.evidence(at, 8, None)
    assert request.awaits == ("started",)
    # Jobs say when they were submitted only where they wait.
    assert [request_for(JOBS, {"kind": kind}).awaits for kind in ("sleep", "cpu")] == [("submitted",), ()]


def test_a_plain_server_gets_a_free_port_and_no_arguments() -> None:
    entry = WorkloadEntry(("{runtime}", "-p", "{port}", "{build}/{requests}"))
    contender = msgspec.structs.replace(CONTENDER, workloads={FANOUT.name: entry}, has_sources=False)
    argv = request_for(FANOUT, {"requests": 7}, ready=dataclasses.replace(READY, contender=contender)).argv
    port = int(argv[4])
    assert 1024 <= port < 65536
    assert argv == with_ready_line(["/bin/r", "-p", str(port), "/build/7"], port)
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_servers_listen_where_engines_on_other_machines_reach_them() -> None:
    request = request_for(FEED, {}, host="10.0.0.7")
    assert "host=10.0.0.7" in request.argv
    assert request.service is not None
    assert (request.service.host, request.service.remote) == ("10.0.0.7", True)
    here = request_for(FEED, {})
    assert not any(word.startswith("host=") for word in here.argv)
    assert here.service == msgspec.structs.replace(request.service, host="127.0.0.1", remote=False)
    assert request_for(host="10.0.0.7") == request_for()
    entry = WorkloadEntry(("{runtime}", "{host}:{port}"), host=True)
    contender = msgspec.structs.replace(CONTENDER, workloads={FEED.name: entry}, has_sources=False)
    ready = dataclasses.replace(READY, contender=contender)
    for host in ("127.0.0.2", None):
        address = request_for(FEED, {}, ready=ready, host=host).argv[-1]
        assert address.rpartition(":")[0] == (host or "127.0.0.1")


def test_the_environment_is_small_and_writes_nowhere_else() -> None:
    base = {"PATH": "/bin", "SECRET": "x", "HOME": "/home/me", "TMPDIR": "/scratch"}
    environment = trials.environment(base, READY, 1, 2, 3)
    own = {
        "PATH": "/bin",
        "HOME": "/build",
        "LANG": "C.UTF-8",
        "TMPDIR": "/scratch",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ERL_CRASH_DUMP_BYTES": "0",
        "RINGSIDE_PADDING": "." * padding_bytes(1, 2, 3),
    }
    assert environment == own
    bare = trials.environment({}, READY, 1, 2, 3)
    assert bare == {**own, "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp"}
    contender = msgspec.structs.replace(CONTENDER, environment={"THINGS": "{build}/{x}"})
    variant = trials.environment(base, dataclasses.replace(READY, contender=contender), 1, 2, 3)
    assert variant == {**own, "THINGS": "/build/{x}"}


BLANK = ok_trial(RING, {"outcome": Outcome.INTERRUPTED, "cpus": (1,), "memory_limit_bytes": 750})
OUTCOME = {"type": "outcome", "outcome": "ok", "detail": "", "wall_ns": 5}


def with_lines(*messages: dict[str, Any], interference: str | None = None) -> Any:
    read = [trial_message(json.dumps(message).encode()) for message in messages]
    return trials.trial_from_messages(BLANK, read, interference)


def phase(name: str, ns: int) -> dict[str, Any]:
    return {"type": "phase", "name": name, "ns": ns, "t_ns": 1}


def test_messages_become_a_trial() -> None:
    trial = with_lines(
        {"type": "started", "version": 1, "missing": ["cgroup: no"], "pid": 1},
        phase("relay", 5),
        {"type": "sample", "t_ns": 2, "mark": "spawned", "pss_bytes": 4},
        {"type": "sample", "t_ns": 3, "mark": None, "pss_bytes": None},
        {"type": "span", "unit": 7, "begin_ns": 1_000_000_000, "end_ns": 2_500_000_000},
        {"type": "load", "step": "measured", "name": "all", "requests": 6},
        {"type": "load", "step": "measured", "name": "long", "requests": 8},
        {**OUTCOME, "outcome": "wrong-evidence", "detail": "no result"},
    )
    assert (trial.outcome, trial.detail) == (Outcome.WRONG_EVIDENCE, "no result")
    assert trial.report.wall_ns == 5
    assert (trial.phases, trial.phases_read_ns("relay")) == ({"relay": (5,)}, (1,))
    assert list(trial.marks) == ["spawned"]
    assert trial.marks["spawned"].pss_bytes == 4
    assert [sample.t_ns for sample in trial.samples] == [2, 3]
    assert trial.spans == (Span(7, 1_000_000_000, 2_500_000_000),)
    assert trial.load("measured").requests == 6
    assert trial.load("measured", "long").requests == 8
    assert trial.load("warm-up") is None
    assert trial.missing == ("cgroup: no",)
    # The runner's earlier facts stay.
    assert (trial.cell, trial.cpus, trial.memory_limit_bytes) == (BLANK.cell, (1,), 750)


def test_phases_of_repeats() -> None:
    messages = [phase("spawn", 1), phase("relay", 9), phase("spawn", 2), phase("relay", 4), phase("alone", 7)]
    trial = with_lines(*messages, OUTCOME)
    assert trial.missing == ()
    assert trial.phases == {"spawn": (1, 2), "relay": (9, 4), "alone": (7,)}
    assert (trial.phase_ns("relay"), trial.repeats_ns("relay")) == (4, (9, 4))
    assert (trial.phase_ns("alone"), trial.repeats_ns("alone")) == (7, ())
    assert (trial.phase_ns("gap"), trial.repeats_ns("gap")) == (None, ())


def test_interference_is_added_to_what_the_probe_saw() -> None:
    seen = {**OUTCOME, "interference": ["SIGTERM"]}
    assert with_lines(seen).report.interference == ("SIGTERM",)
    trial = with_lines(seen, interference="its build changed")
    assert trial.report.interference == ("SIGTERM", "its build changed")
    assert (trial.outcome, trial.report.wall_ns) == (Outcome.OK, 5)


class Contradicted(Ring):
    """Finds that the seed contradicts any trial."""

    def refute(self, trial: Trial, seed: int) -> None:
        if seed:
            raise ValueError(f"{trial.cell.contender} \x1b {seed}")


def test_what_cannot_be_true_is_wrong_evidence() -> None:
    fine = ok_trial(RING, {})
    wrong = trials.validated(fine, Contradicted(), 9)
    assert (wrong.outcome, wrong.detail) == (Outcome.WRONG_EVIDENCE, f"{fine.cell.contender} · 9")
    assert wrong.phases == fine.phases
    assert trials.validated(fine, Contradicted(), 0) is fine
    # How another trial ended is known already.
    crashed = ok_trial(RING, {"outcome": Outcome.CRASHED})
    assert trials.validated(crashed, Contradicted(), 9) is crashed


def test_messages_without_a_known_outcome_are_an_error_of_the_probe() -> None:
    with pytest.raises(ProbeError, match="^the probe ended without an outcome$"):
        with_lines({"type": "started", "version": 1})
    for outcome, shown in (("elsewhere\x1b", "elsewhere·"), ("x" * 101, f"{'x' * 99}…")):
        with pytest.raises(ProbeError, match=f"unknown outcome: {shown}$"):
            with_lines({**OUTCOME, "outcome": outcome})


def test_padding_varies_and_is_fixed_by_the_seed() -> None:
    sizes = [padding_bytes(1, block, 0) for block in range(50)]
    assert len(set(sizes)) > 40
    assert sizes == [padding_bytes(1, block, 0) for block in range(50)]
    assert all(0 <= size < 4096 for size in sizes)
    assert max(sizes) > 3500
