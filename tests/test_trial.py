from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringside.measure import trials as trial
from ringside.model.catalogue import Contender, Entry, Ready, Receipt, Runtime
from ringside.model.design import Cell, Limits, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads.ring import RING

POINT = Point((("nodes", 4), ("messages", 3), ("mode", "token"), ("trace", 1), ("cores", 2)))
CONTENDER = Contender(
    name="a",
    folder=Path("/folder"),
    title="",
    model="",
    queue="",
    language="",
    scheduler="",
    parallel=True,
    runtime=Runtime("r", ("r",), ("r",)),
    builds=(),
    workloads={"ring": Entry(("{runtime}", "+S", "{cores}", "{build}/ring"))},
)
READY = Ready(CONTENDER, Receipt("/bin/r", "1", "r 1"), Path("/build"), "c")


def make_request(**changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "limits": Limits(wall_s=5),
        "cpus": (0, 1),
        "probe_cpus": (),
        "environment": {"PATH": "/bin"},
        "seed": 9,
        "memory_available_bytes": 1000,
    }
    return trial.request(READY, Cell("a", POINT), RING, **{**settings, **changes})


def test_the_request_holds_the_command_the_point_and_the_evidence() -> None:
    made = make_request()
    assert made["argv"] == [
        *("/bin/r", "+S", "2", "/build/ring", "nodes=4", "messages=3", "mode=token", "trace=1", "cores=2"),
        *("hold=1", "seed=9"),
    ]
    assert made["cwd"] == "/folder"
    assert made["expect"]["result"] == {"checksum": "21", "order": "7911"}
    assert made["expect"]["lines"] == {
        "total": 12,
        "starting": {":": 6, "*": 3, ">": 2, "@": 1},
        "sha256": None,
    }
    assert made["limits"]["memory_bytes"] == 750
    assert made["limits"]["wall_s"] == 5
    assert json.loads(json.dumps(made)) == made


def test_an_experiments_limits_win() -> None:
    limits = make_request(limits=Limits(memory_bytes=7, output_bytes=8, processes=9))["limits"]
    assert (limits["memory_bytes"], limits["output_bytes"], limits["processes"]) == (7, 8, 9)


def test_the_environment_is_little_and_writes_nowhere_else() -> None:
    base = {"PATH": "/bin", "SECRET": "x", "HOME": "/home/me"}
    made = trial.environment(base, Path("/build"), 1, 2, 3)
    assert "SECRET" not in made
    assert made["HOME"] == "/build"
    assert made["PYTHONDONTWRITEBYTECODE"] == "1"


BLANK = Trial(1, 0, Cell("a", POINT), Outcome.INTERRUPTED, "")
OUTCOME = {"type": "outcome", "outcome": "ok", "detail": "", "wall_ns": 5}


def lines(*answers: dict[str, Any]) -> list[bytes]:
    return [json.dumps(answer).encode() for answer in answers]


def test_answers_become_a_trial() -> None:
    found = trial.parse(
        lines(
            {"type": "started", "missing": ["cgroup: no"], "pid": 1},
            {"type": "phase", "name": "relay", "ns": 5, "t_ns": 1},
            {"type": "sample", "mark": "spawned", "pss_bytes": 4},
            {"type": "sample", "mark": None, "pss_bytes": None},
            OUTCOME,
        ),
        BLANK,
    )
    assert found.outcome is Outcome.OK
    assert found.phases == {"relay": 5}
    assert found.marks["spawned"]["pss_bytes"] == 4
    assert len(found.samples) == 2
    assert found.missing == ("cgroup: no",)


def test_phases_that_come_again_are_repeats() -> None:
    phases = [("spawn", 1), ("relay", 5), ("spawn", 2), ("relay", 4), ("alone", 9)]
    told = [{"type": "phase", "name": name, "ns": ns, "t_ns": 1} for name, ns in phases]
    found = trial.parse(lines(*told, OUTCOME), BLANK)
    assert found.phases == {"spawn": 3, "relay": 9, "alone": 9}
    assert found.outcome_line["repeats"] == {"spawn": [1, 2], "relay": [5, 4]}


def test_no_outcome_is_an_error() -> None:
    with pytest.raises(ValueError, match="without an outcome"):
        trial.parse(lines({"type": "started", "missing": []}), BLANK)
