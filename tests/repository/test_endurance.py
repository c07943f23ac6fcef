"""scripts/endurance.py in short: `make soak` runs it for hours."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from scripts import endurance

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import CpuUse, Pressure, ProgramOutput, Sample, TrialOutcome
from ringside.store import Store
from tests.support import ROOT

SCRIPT = ROOT / "scripts" / "endurance.py"


def short_trial(block: int, count: int) -> Trial:
    """A trial as of a program of some milliseconds, with so many samples, of which five columns change."""
    report = TrialOutcome(
        "ok",
        exit_status=0,
        wall_ns=7_759_993,
        paused_ns=114_463,
        cpu_user_ns=812_000,
        cpu_system_ns=1_049_000,
        cpu_source="cgroup",
        peak_pss_bytes=203_776,
        peak_threads=1,
        peak_processes=1,
        voluntary_switches=3,
        involuntary_switches=0,
        minor_faults=64,
        major_faults=0,
        run_queue_ns=6_681_716,
        result={"checksum": "1", "order": "1"},
        output=ProgramOutput(stdout_bytes=103),
        stdout_tail="::phase name=spawn ns=1000\n::await name=spawned\n::phase name=relay ns=1000\n",
        probe_cpu_ns=760_912,
        samples=count,
        cpus=(CpuUse(1, busy_ns=10_000_000, idle_ns=0),),
        pressure=Pressure(8_018_000, 0, 0),
    )

    def sample(number: int, mark: str | None = None) -> Sample:
        figures = (959_000, 1_499_136, 203_776, 1)
        cpu_ns, rss_bytes, pss_bytes, switches = (figure + number for figure in figures)
        return Sample(7_000_000 + number, mark, 1, 1, cpu_ns, rss_bytes, pss_bytes, switches)

    return Trial(
        block=block,
        position=1,
        cell=Cell("one", Point((("nodes", 2), ("messages", 1), ("mode", "pipelined"), ("cores", 1)))),
        outcome=Outcome.OK,
        detail="",
        cpus=(1,),
        started_at="2026-01-01T00:00:00.000+00:00",
        report=report,
        phases={"spawn": (1000,), "relay": (1000,)},
        marks={name: sample(0, name) for name in ("spawned", "result")},
        samples=tuple(map(sample, range(count))),
        missing=("cgroup memory controller: not delegated", "cgroup pids controller: not delegated"),
        memory_limit_bytes=17_560_000_512,
    )


@pytest.mark.parametrize("samples", [3, 30, 300])
def test_a_store_has_the_size_that_its_documentation_says(tmp_path: Path, samples: int) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    run = store.begin_run("endurance", 1, {}, {}, {})
    for block in range(1, 321):
        store.add_trial(run, short_trial(block, samples))
    store.close()
    assert endurance.trials(path) == 320
    assert endurance.kept_integers(path) == 320 * 5 * samples
    assert endurance.size_of_store(path) == []
    # What is kept besides is noticed.
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE trial SET detail = hex(zeroblob(5000))")
        connection.commit()
        connection.execute("VACUUM")
    (complaint,) = endurance.size_of_store(path)
    assert "bytes for 320 trials, docs/STORE.md says" in complaint


def test_the_formula_is_that_of_the_documentation() -> None:
    text = (ROOT / "docs" / "STORE.md").read_text(encoding="utf-8")
    numbers = dict(
        re.findall(
            r"^\| (the store|a trial with two marks|an integer of samples) \| ([\d,]+) \|$", text, re.M
        )
    )
    wanted = (endurance.STORE_BYTES, endurance.TRIAL_BYTES, endurance.INTEGER_BYTES)
    assert [int(number.replace(",", "")) for number in numbers.values()] == list(wanted)


def test_sixty_trials_and_seconds_of_load() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--trials", "60", "--load", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done
    assert "60 trials: nothing grew" in done.stdout
    assert "a load of 3 s: nothing grew" in done.stdout
