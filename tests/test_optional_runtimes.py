"""Optional runtimes of bundled contenders: each that is found gives right evidence; none is missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ringside.cli.main import cli
from ringside.measure.executor import LocalExecutor
from ringside.measure.inputs import Inputs
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Ready, Receipt
from ringside.model.results import Outcome
from ringside.workloads import workload as find_workload
from tests.programs import carry_out, point
from tests.test_contenders import CATALOGUE, ROOT

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
}
MANIFEST = """
title = "Some"
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
        trial = carry_out(workload, ready, LocalExecutor(), at, input)
        assert trial.outcome is Outcome.OK, f"{name} {workload}: {trial.detail} {trial.report}"


def test_versions_beside_each_other_are_different_ones() -> None:
    receipts = [TOOLCHAIN.receipt(one.runtime) for one in OPTIONAL if one.name.startswith("python-asyncio@")]
    versions = [receipt.version for receipt in receipts if isinstance(receipt, Receipt)]
    assert len(set(versions)) == len(versions) > 0


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
