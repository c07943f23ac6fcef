"""A store that revision 3dbd790 wrote, with the figures that it printed of each run.

`stores/format1.sqlite.xz` has the showdown's runs without what no figure needs: most samples, sources besides
manifests and READMEs. Facts of the host are made up. `stores/format1.json` has the figures, to twelve digits;
its verdicts and adjusted p-values, and the intervals between runs, are those of the procedure of today.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.run_diff import diff
from ringside.model.results import Interval
from ringside.store import Store
from ringside.store.plans import PLAN_VERSION, read_plan
from tests.support import TESTS
from tests.support.command_line import in_process

STORES = TESTS / "stores"
EXPECTED: dict[str, Any] = json.loads((STORES / "format1.json").read_text(encoding="utf-8"))
RUNS: dict[str, Any] = EXPECTED["runs"]
ITSELF: dict[str, Any] = EXPECTED["compared_with_itself"]
SUITE = "20261122-132258-showdown"
TRIALS = {"ring": 60, "batch": 48, "jobs": 60, "fib": 31, "fanout": 30, "feed": 24}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "format1.sqlite"
    path.write_bytes(lzma.decompress((STORES / "format1.sqlite.xz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def analyses(path: Path) -> dict[str, RunAnalysis]:
    store = Store(path, create=False)
    return {run.id: analysis_of(store, run) for run in store.runs()}


def close(values: Sequence[float | None]) -> Any:
    return [None if value is None else pytest.approx(value, rel=1e-9) for value in values]


def values(interval: Interval) -> list[float | None]:
    return [interval.estimate, interval.low, interval.high, interval.n]


def test_every_run_of_it_is_there(path: Path) -> None:
    store = Store(path, create=False)
    assert [run.id for run in store.runs()] == list(RUNS)
    for run in store.runs():
        plan = read_plan(run)
        assert "version" not in run.plan
        assert [point.as_dict() for point in plan.points] == RUNS[run.id]["points"]
        trials = store.trials(run, samples=True)
        assert len(trials) == TRIALS[plan.experiment.workload]
        assert {trial.cell.contender for trial in trials} == set(plan.experiment.contenders)
        assert all(trial.report for trial in trials if trial.block)
        named = {digest for contender in plan.contenders.values() for digest in contender.files.values()}
        assert store.sources(list(named)).keys() == named


def test_reports_of_it_are_complete(path: Path) -> None:
    """Each kind of message that a store has."""
    store = Store(path, create=False)
    trials = [trial for run in store.runs() for trial in store.trials(run, samples=True)]
    reports = [trial.report for trial in trials if trial.report]
    assert any(report.cpus and report.pressure and report.reference_ns for report in reports)
    assert any(trial.loads and trial.loads[0].histograms for trial in trials)
    assert any(load.streams and trial.seconds(load) for trial in trials for load in trial.loads)
    assert any(load.upstreams for trial in trials for load in trial.loads)
    assert any(trial.marks and trial.phases for trial in trials)
    assert sum(bool(trial.samples) for trial in trials) == 251
    assert any(trial.input_bytes for trial in trials)
    assert any(sample.cpu_by_thread for trial in trials for sample in trial.samples)
    assert all(trial.memory_limit_bytes for trial in trials if trial.block)


@pytest.mark.parametrize("run", RUNS)
def test_its_figures_are_what_they_were(analyses: Mapping[str, RunAnalysis], run: str) -> None:
    analysis, expected = analyses[run], RUNS[run]
    assert analysis.blocks_done == expected["blocks"]
    assert len(analysis.cells) == len(expected["cells"])
    for cell in expected["cells"]:
        now = analysis.cell(cell["contender"], analysis.points[cell["point"]])
        assert {str(outcome): count for outcome, count in now.outcomes.items()} == cell["outcomes"]
        assert now.reason == cell["reason"]
        assert now.metrics.keys() == cell["metrics"].keys()
        for name, interval in now.metrics.items():
            assert values(interval) == close(cell["metrics"][name]), (cell["contender"], name)
    slopes = [
        {"contender": row.contender, "metric": row.slope.name, "value": values(row.value)}
        for row in analysis.slopes
    ]
    assert slopes == [{**slope, "value": close(slope["value"])} for slope in expected["slopes"]]


@pytest.mark.parametrize("run", RUNS)
def test_its_comparisons_are_what_they_were(analyses: Mapping[str, RunAnalysis], run: str) -> None:
    analysis = analyses[run]
    comparisons = [
        {
            "metric": comparison.metric,
            "contender": comparison.contender,
            "baseline": comparison.baseline,
            "point": analysis.points.index(comparison.point),
            "ratio": values(comparison.ratio),
            "p": comparison.p,
            "verdict": str(comparison.verdict),
        }
        for comparison in analysis.shown_comparisons()
    ]
    assert comparisons == [
        {**comparison, "ratio": close(comparison["ratio"]), "p": pytest.approx(comparison["p"], rel=1e-9)}
        for comparison in RUNS[run]["comparisons"]
    ]


@pytest.mark.parametrize("run", RUNS)
def test_its_runs_had_all_their_blocks(analyses: Mapping[str, RunAnalysis], run: str) -> None:
    """They ended at none of the looks of today, so verdicts are those of one look at the end."""
    analysis = analyses[run]
    assert not analysis.experiment.until_decided
    assert {comparison.ratio.n for comparison in analysis.shown_comparisons()} == {6}
    # A p-value of 6 blocks is a multiple of 1 in 32 sign vectors.
    assert all(float(32 * comparison.p).is_integer() for comparison in analysis.shown_comparisons())


def test_a_run_of_it_is_compared_with_itself(analyses: Mapping[str, RunAnalysis]) -> None:
    analysis = analyses[ITSELF["run"]]
    difference = diff(analysis, analysis)
    assert {name: values(shift) for name, shift in difference.machine.items()} == {
        name: close(shift) for name, shift in ITSELF["machine"].items()
    }
    assert [
        {
            "metric": change.metric.name,
            "contender": change.cell.contender,
            "point": analysis.points.index(change.cell.point),
            "ratio": values(change.ratio),
            "verdict": str(change.verdict),
        }
        for change in difference.changes
    ] == [{**change, "ratio": close(change["ratio"])} for change in ITSELF["comparisons"]]


def test_new_runs_go_into_it(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "s.sqlite"
    copy.write_bytes(path.read_bytes())
    store = Store(copy)
    old = store.run(next(iter(RUNS)))
    before = store.trials(old)
    new = store.begin_run("x", 2**63 - 1, {"version": PLAN_VERSION}, {}, {})
    store.add_trial(new, before[0])
    assert len(store.runs()) == len(RUNS) + 1
    assert store.trials(new) == before[:1]
    assert store.trials(old) == before
    with sqlite3.connect(copy) as connection:
        indices = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
    connection.close()
    assert ("trial_once",) in indices


def test_nothing_of_it_names_a_machine(path: Path) -> None:
    data = path.read_bytes()
    for words in (b"/root", b"/home/", b"/work"):
        assert words not in data


# --- the command line ---


def test_its_suite_is_shown_as_text(path: Path) -> None:
    text = in_process("show", SUITE, "--store", str(path), status=1).stdout
    for run in RUNS.values():
        assert all(cell["contender"] in text for cell in run["cells"])


def test_its_suite_makes_a_report(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    page = tmp_path / "page.html"
    in_process("report", SUITE, "-o", str(page), "--store", str(path))
    text = page.read_text(encoding="utf-8")
    assert all(run in text for run in RUNS)
