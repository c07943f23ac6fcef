"""A run in which every attack of tests/fakes takes part beside honest programs: it ends, each attack is a
row, the honest ones lose nothing, and nothing is left behind."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.probe import orphans
from tests.command_line import ringside
from tests.runs import ROOT

Add = Callable[..., None]

ATTACKS = runpy.run_path(str(ROOT / "tests" / "fakes" / "attacks.py"))

HARMLESS = {
    *("terminates-the-probe", "interrupts-the-probe", "terminates-the-probe-and-ends", "limits-the-probe"),
    *("moves-the-probe", "writes-to-the-probe", "reads-the-probes-memory", "leaves-its-cgroup"),
}
OUTCOMES = {
    **dict.fromkeys(("hangs-at-once", "hangs-while-working", "hangs-after-its-result"), "timed-out"),
    "stops-itself": "timed-out",
    **dict.fromkeys(("forks-without-end", "starts-threads-without-end", "floods-stderr"), "flooded"),
    **dict.fromkeys(("stops-the-probe", "kills-the-probe"), "probe-failed"),
    "ends-with-another-status": "crashed",
    **dict.fromkeys(HARMLESS, "ok"),
}
# Two threads more than there are fakes' own; a host with one CPU has none to take.
LIMITS = "[limits]\nwall_s = 3\nprocesses = 60\n"


def expected(how: str) -> str:
    single = len(os.sched_getaffinity(0)) < 2
    if how in ("takes-all-cpus", "takes-all-cpus-in-a-thread") and single:
        return "ok"
    return OUTCOMES.get(how, "wrong-evidence")


def test_all_attacks_beside_honest_programs(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    before = orphans.children()
    hows = [*ATTACKS["BEFORE"], *ATTACKS["WORKING"], *ATTACKS["AFTER"]]
    for name in ("honest", "upright"):
        add_fake(name)
    for how in hows:
        add_fake(how, how)
    add_experiment("all", "honest", "upright", *hows, blocks=2, more=LIMITS)
    done = ringside("run", "all", "--until", "end", "--json", status=1, timeout_s=600)
    document = json.loads(done.stdout)
    outcomes = {cell["contender"]: cell["outcomes"] for cell in document["cells"]}
    assert outcomes.pop("honest") == {"ok": 2}
    assert outcomes.pop("upright") == {"ok": 2}
    first = {how: next(iter(counts)) for how, counts in outcomes.items()}
    # A host may have too little time for a flood, or refuse the next thread before the limit.
    either = ("flooded", "timed-out", "crashed")
    wrong = {
        how: outcome
        for how, outcome in first.items()
        if outcome != expected(how) and not (outcome in either and expected(how) in either)
    }
    assert wrong == {}
    assert "\x1b" not in done.stdout
    interfering = next(each for each in document["warnings"] if each["code"] == "interference")
    assert "terminates-the-probe (SIGTERM to the probe" in interfering["text"]
    assert orphans.children() <= before
    # The store is whole, and can be read again.
    assert json.loads(ringside("show", "--json", status=1).stdout)["cells"] == document["cells"]


@pytest.mark.soak
def test_attacks_do_not_change_the_figures_of_others(
    workplace: Path, add_fake: Add, add_experiment: Add
) -> None:
    """CPU time and wall time of honest programs, beside attacks and without: equivalent within 10 %."""
    add_fake("honest")
    hows = [how for how in (*ATTACKS["BEFORE"], *ATTACKS["WORKING"]) if not how.startswith("hangs")]
    for how in hows:
        add_fake(how, how)
    add_experiment("quiet", "honest", blocks=30, more=LIMITS)
    add_experiment("loud", "honest", *hows, blocks=30, more=LIMITS)
    ringside("run", "quiet", "--until", "end")
    ringside("run", "loud", "--until", "end", status=1, timeout_s=3600)
    quiet, loud = (run.split()[0] for run in reversed(ringside("list", "runs").stdout.splitlines()[2:4]))
    done = ringside("compare", quiet, loud, "--metric", "cpu_s", "--margin", "10%", "--json", status=None)
    (change,) = json.loads(done.stdout)["comparisons"]
    assert change["verdict"] == "equivalent", change
