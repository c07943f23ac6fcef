"""Conformance of `sleepers`: every contender has all tasks asleep at one time, and each wakes at its own
instant."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from ringside.conformance.common import in_time
from ringside.conformance.subject import lines_until
from ringside.measure import plan
from ringside.measure.executor import LocalExecutor
from ringside.model.results import Outcome
from ringside.workloads.sleepers import SLEEPERS
from tests.contenders.test_ring import ready
from tests.support import ROOT
from tests.support.command_line import ringside
from tests.support.programs import carry_out, command, directly, point
from tests.support.servers import having, killed_at_last

CONTENDERS = having("sleepers")


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


@pytest.mark.parametrize("name", CONTENDERS)
def test_tasks_sleep_at_one_time_and_wake_at_their_instants(name: str, executor: LocalExecutor) -> None:
    at = point("sleepers", tasks=500, seconds=2, cores=executor.available_cpus())

    def attempt() -> str:
        trial = carry_out("sleepers", ready(name), executor, at, seed=2**31 - 3)
        if trial.outcome is not Outcome.OK:
            return f"{name}: {trial.detail} {trial.report}"
        assert set(trial.phases) == {"start", "wake"}
        assert trial.marks["started"].pss_bytes
        figures = SLEEPERS.figures(trial)
        expected = {"held_pss_bytes", "start_ns", "late_ms.p50", "late_ms.p99", "late_ms.max", "end_late_ms"}
        assert expected <= set(figures)
        assert trial.report
        assert trial.report.left_behind == 0
        return ""

    # A host may stall for longer than the second before the first instant.
    assert in_time(attempt) == ""


@pytest.mark.parametrize("name", CONTENDERS)
def test_one_task_and_any_seed(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    for seed in (0, 2**32 - 1):
        trial = carry_out("sleepers", one, executor, point("sleepers", tasks=1, seconds=2), seed=seed)
        assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
        assert trial.report
        assert trial.report.wall_ns
        assert trial.report.wall_ns / 1e9 >= 1.0


@pytest.mark.parametrize("name", CONTENDERS)
def test_bad_arguments_get_status_2_and_one_line(name: str) -> None:
    one = ready(name)
    good = {"tasks": "3", "seconds": "2"}
    # `ringside check` tries the rest.
    for change in SLEEPERS.checks.bad[::2]:
        key, _, value = change.partition("=")
        arguments = [f"{name}={text}" for name, text in (good | {key: value}).items()]
        done = directly("sleepers", one, *arguments)
        assert done.returncode == 2, (change, done)
        assert len(done.stderr.decode().strip().splitlines()) == 1, (change, done)
        assert b"::result" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("while (late_ns := clock() - instant) < 0:", "late_ns = 0\n    while False:", "some woke early"),
        # Three of them take longer than the last second, in which the instants are.
        ("started.get()", "time.sleep(0.7)", "they were not all asleep at one time"),
    ],
)
def test_a_program_whose_times_cannot_be_true_is_a_row(
    old: str, new: str, reason: str, workplace: Path
) -> None:
    """Its numbers are right, so the probe calls it `ok`."""
    folder = workplace / "hasty"
    shutil.copytree(ROOT / "contenders" / "python-threads", folder)
    text = (folder / "sleepers.py").read_text(encoding="utf-8")
    assert old in text
    (folder / "sleepers.py").write_text(text.replace(old, new), encoding="utf-8")
    levels = ("--set", "tasks=3", "--set", "seconds=2", "--blocks", "1")
    done = ringside("run", "sleepers", "--with", str(folder), "--only", "hasty", *levels, "--json", status=1)
    document = json.loads(done.stdout)
    assert [cell["outcomes"] for cell in document["cells"]] == [{"wrong-evidence": 1}]
    repeated = ringside("repeat", "latest", "hasty", "--with", str(folder), status=1).stdout
    assert reason in repeated


@pytest.mark.soak
@pytest.mark.parametrize("name", CONTENDERS)
def test_tasks_wake_while_it_waits_for_its_line(name: str) -> None:
    """A line that comes late holds nothing but the collector."""
    process = subprocess.Popen(
        command("sleepers", ready(name), "tasks=3", "seconds=2", "hold=1"),
        cwd=ready(name).contender.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with killed_at_last(process):
        assert process.stdout
        assert process.stdin
        lines, _ = lines_until(process, b"::await name=started")
        assert lines[-1] == b"::await name=started"
        time.sleep(6)
        output, _ = process.communicate(b"\n", timeout=60)
        printed = dict(pair.split(b"=") for pair in output.split(b"::result ")[1].split())
        # Had they waited for the line, they would be four seconds late.
        assert int(printed[b"late_max_ns"]) < 3_000_000_000


@pytest.mark.soak
@pytest.mark.parametrize("name", CONTENDERS)
def test_many_tasks(name: str, executor: LocalExecutor) -> None:
    """As many as the manifest allows, up to fifty thousand; a lower slope than a pointer's is impossible."""
    one = ready(name)
    held = {}
    for tasks in (1, 50_000):
        at = point("sleepers", tasks=tasks, seconds=60 if tasks > 1 else 2)
        if plan.past_limit(one.contender, SLEEPERS, at):
            pytest.skip("the manifest allows fewer")
        trial = carry_out("sleepers", one, executor, at)
        assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
        held[tasks] = SLEEPERS.figures(trial)["held_pss_bytes"]
    assert (held[50_000] - held[1]) / 50_000 > 8
