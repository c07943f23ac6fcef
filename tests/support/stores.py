"""Contenders and trials with a value of their own in every field, a process that holds a run, and SQL."""

import sqlite3
import subprocess
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe import protocol
from ringside.probe.protocol import CpuUse, LatencySummary, LoadMessage, Sample, TrialOutcome
from ringside.store import Store
from ringside.store.plans import PlannedContender
from tests.support import processes

# One with text in every field, and one that is not here.
CONTENDERS = {
    "erlang": PlannedContender(
        "Erlang",
        family="actors",
        model="actors",
        language="Erlang",
        queue="unbounded",
        scheduler="preemptive",
        parallel=True,
        runtime="otp",
        runs_on="Erlang",
        command=("{runtime}", "ring.erl"),
        files={"ring.erl": "hash"},
        version="27",
        receipt="OTP 27",
        executable="/usr/bin/erl",
        origin="Debian 13 erlang-base 1:27",
        content="c",
    ),
    "go": PlannedContender("Go", unavailable="go: not found", remedy="apt-get install go", log="$ make"),
}
POINT = Point((("nodes", 10), ("messages", 3), ("mode", "token")))


def sql(path: Path | str, statement: str, *values: object) -> list[Any]:
    """The rows of a statement on a file of SQLite, which has them when this returns."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        return database.execute(statement, values).fetchall()


def whole_trials(store: Store, run: Run) -> list[Trial]:
    return [replace(each, samples=tuple(each.samples)) for each in store.trials(run, samples=True)]


def trial(block: int = 1, outcome: Outcome = Outcome.OK, name: str = "a") -> Trial:
    """A trial with a value of its own in every field."""
    return Trial(
        block=block,
        position=2,
        cell=Cell(name, POINT),
        outcome=outcome,
        detail="exit status 0",
        cpus=(1, 3),
        started_at="2026-01-01T00:00:00.000+00:00",
        report=TrialOutcome(
            "ok",
            wall_ns=5,
            result={"checksum": "21"},
            output=protocol.ProgramOutput(stdout_bytes=9, starting={":": 6}),
            cpus=(CpuUse(1, busy_ns=7, idle_ns=2),),
        ),
        phases={"relay": (7,), "spawn": (3, 1, 2), "alone": (4, 5)},
        marks={"spawned": Sample(4, "spawned", pss_bytes=9)},
        samples=(Sample(1, pss_bytes=8), Sample(2, cpu_by_thread=((5, 6),))),
        loads=(LoadMessage(step="s", name="n", histograms={"latency": LatencySummary(count=1, p50_ns=2)}),),
        spans=(protocol.Span(1, 500_000_000, 750_000_000),),
        missing=("x",),
        memory_limit_bytes=11,
        input_bytes=12,
    )


def begin(store: Store, seed: int = 7) -> Run:
    return store.begin_run("ring", seed, {}, {}, {})


# Another process that adds to a run, until it is killed or its stdin ends.
HOLDS = """
import sys
from ringside.store import Store
store = Store(sys.argv[1])
with store.hold(store.run(sys.argv[2]).id):
    print("held", flush=True)
    sys.stdin.read()
"""


def holding(where: str, run: Run) -> AbstractContextManager[subprocess.Popen[str]]:
    return processes.holding(HOLDS, where, run.id)
