"""Optional runtimes of bundled contenders: each that is found gives right evidence; none is missed."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from ringside.cli.main import cli
from ringside.measure.host import Executor
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import find_receipt
from ringside.model.catalogue import Ready, Receipt
from ringside.model.results import Outcome
from ringside.workloads import workload as find_workload
from tests.support import ROOT
from tests.support.programs import CATALOGUE, carry_out, point

TOOLCHAIN = Toolchain(ROOT / ".ringside" / "builds")
OPTIONAL = [
    one
    for folder in CATALOGUE.contender_names()
    for one in CATALOGUE.runtimes(folder)
    if one.runtime.optional
]
LEVELS: dict[str, dict[str, int | str]] = {
    "ring": {"nodes": 7, "messages": 13},
    "jobs": {"jobs": 5, "kind": "noop"},
    "batch": {"cases": 30, "size": 5},
    "sleepers": {"tasks": 20, "seconds": 2},
    "accounts": {"accounts": 5, "units": 3, "transfers": 200, "every": 10},
    "restarts": {"units": 5, "messages": 20, "every": 3},
}
FREE_THREADED = [one for one in OPTIONAL if one.runtime.name.endswith("t")]
MANIFEST = """
title = "Some"
family = "threads"
model = "a loop"
queue = "none"
[runtime.here]
executable = ["sh"]
version = ["echo", "1"]
[runtime.elsewhere]
executable = ["no-such-program"]
version = ["{runtime}"]
optional = OPTIONAL
[workload.ring]
command = ["ring"]
"""


@pytest.mark.parametrize("name", [one.name for one in OPTIONAL])
def test_one_that_is_found_gives_right_evidence(name: str, tmp_path: Path) -> None:
    one = CATALOGUE.contender(name)
    if not isinstance(TOOLCHAIN.receipt(one.runtime), Receipt):
        pytest.skip(f"{one.runtime.name} is not here")
    ready = TOOLCHAIN.prepare(one)
    assert isinstance(ready, Ready)
    for workload, levels in LEVELS.items():
        if workload not in one.workloads:
            continue
        at = point(workload, **levels)
        file = find_workload(workload).input(at)
        input = Inputs(tmp_path).get(file) if file else None
        trial = carry_out(workload, ready, Executor(), at, input)
        assert trial.outcome is Outcome.OK, f"{name} {workload}: {trial.detail} {trial.report}"


def interpreter(name: str) -> str:
    """The executable of a contender's runtime; skips the test where there is none."""
    receipt = TOOLCHAIN.receipt(CATALOGUE.contender(name).runtime)
    if not isinstance(receipt, Receipt):
        pytest.skip(f"{name} is not here")
    return receipt.executable


@pytest.mark.parametrize("name", [one.name for one in FREE_THREADED])
def test_other_runtimes_do_not_take_one_without_the_lock(name: str) -> None:
    """It is installed as `python3.14` too."""
    free_threaded = interpreter(name)
    contenders = [
        one
        for one in CATALOGUE.contenders()[0]
        if "platform" in " ".join(one.runtime.version) and one not in FREE_THREADED
    ]
    assert {"python-threads", "python-asyncio@3.13", "python-subinterpreters"} <= {
        one.name for one in contenders
    }
    for one in contenders:
        receipt = find_receipt(replace(one.runtime, executable=(free_threaded,)))
        assert isinstance(receipt, str), one.name
        assert receipt.endswith(f"{free_threaded} printed no recognisable version, such as 5.36")


@pytest.mark.parametrize(("optional", "status"), [("true", 0), ("false", 1)])
def test_only_a_runtime_that_is_not_optional_is_missed(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, optional: str, status: int
) -> None:
    folder = workplace / "contenders" / "some"
    folder.mkdir(parents=True)
    (folder / "contender.toml").write_text(MANIFEST.replace("OPTIONAL", optional), encoding="utf-8")
    monkeypatch.setattr("ringside.cli.context.catalogue", lambda: type(CATALOGUE)([workplace]))
    done = CliRunner().invoke(cli, ["setup"], standalone_mode=False)
    assert ("some@elsewhere is not available" in done.output) == bool(status), done.output
    assert done.return_value == status, done.output
    # Asked for by its name, it is missed all the same.
    named = CliRunner().invoke(cli, ["setup", "some@elsewhere"], standalone_mode=False)
    assert named.return_value == 1, named.output
