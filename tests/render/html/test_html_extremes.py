"""Pages of runs that nobody plans: without a trial, without a figure, with a hundred contenders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringside.analysis.run import analysis_of
from ringside.model.results import Run
from ringside.render.html import page, templates
from ringside.render.site.site import render_pages
from ringside.store import Store
from tests.render.html.test_html import STUB, Reader
from tests.support.runs import experiment, make_run

SMALL = experiment(contenders=("erlang", "go"), factors={"nodes": 100, "messages": 100}, blocks=7)


@pytest.fixture(autouse=True)
def without_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_library", lambda: (templates.script(STUB), templates.packed(STUB)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs.sqlite")


def html(store: Store, *runs: Run) -> str:
    return render_pages([analysis_of(store, run) for run in runs])


def plots(reader: Reader) -> int:
    return len([1 for _, attributes in reader.elements if "data-chart" in attributes])


@pytest.mark.parametrize("ended", [False, True])
def test_a_run_without_a_trial(store: Store, ended: bool) -> None:
    reader = Reader(html(store, make_run(store, SMALL, blocks=0, ended=ended)))
    text = reader.text()
    why = "No contender has a figure" if ended else "No trial of this run has ended yet"
    assert why in text
    assert "0 blocks, 0 trials" in text or "0 of 7 blocks, 0 trials" in text
    assert plots(reader) == 0
    assert "Machine and method" in text


def test_a_run_in_progress_is_interim_and_not_interrupted(store: Store) -> None:
    run = make_run(store, SMALL, blocks=2, ended=False)
    with store.hold(run):
        text = Reader(html(store, run)).text()
    assert "Interim. This run has not ended." in text
    assert "interrupted" not in text
    text = Reader(html(store, run)).text()
    assert "Unfinished. The run was interrupted" in text
    assert "Interim." not in text


def test_a_run_of_failures_alone(store: Store) -> None:
    reader = Reader(html(store, make_run(store, SMALL, crashed={"erlang": 7, "go": 7})))
    text = reader.text()
    assert "No contender has a figure (time per hop): the table of failures says why." in text
    assert "Without figures" in text
    assert "What it wrote to stderr at" in text
    assert plots(reader) == 0


def test_a_suite_in_which_one_part_has_nothing(store: Store) -> None:
    runs = [make_run(store, SMALL), make_run(store, SMALL, crashed={"erlang": 7, "go": 7})]
    made = html(store, *runs, make_run(store, SMALL, blocks=0))
    assert {"run-1", "run-2", "run-3"} <= {attributes.get("id") for _, attributes in Reader(made).elements}
    rows = re.findall(r'<th scope="row"[^>]*>(\w+)</th>(.*?)</tr>', made)
    assert [name for name, _ in rows] == ["erlang", "go"]
    assert all(cells.count("<td") == 3 and "crashed" in cells for _, cells in rows)


def test_a_hundred_contenders(store: Store) -> None:
    names = tuple(f"contender-{number:03}" for number in range(100))
    of = experiment(contenders=names, baseline=names[0], factors={"nodes": 100, "messages": 100}, blocks=2)
    made = html(store, make_run(store, of))
    reader = Reader(made)
    text = reader.text()
    assert len([1 for tag, each in reader.elements if tag == "details" and each.get("id")]) == 100
    assert all(name in text for name in names)
    assert plots(reader) > 0
    swatches = [each["style"] for _, each in reader.elements if each.get("class") == "swatch"]
    assert len(swatches) == 100
    assert len(made) < 2_000_000
