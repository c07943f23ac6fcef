"""What a run says of scaling: tables, sentences and pictures, from runs with planted laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringside.analysis import laws
from ringside.analysis.summary import Summary, of_run
from ringside.model.design import Point
from ringside.render.plots.charts import charts
from ringside.render.table import TableData
from ringside.render.tables import tables
from ringside.stats.scaling import best_cores
from ringside.store import Store
from tests.computed import LAWS
from tests.runs import experiment, make_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite")


def cores_run(store: Store, *levels: int, blocks: int = 8) -> Summary:
    # Start-up, which no law of scaling knows, weighs nothing in so many cases.
    changed = experiment("batch-cores", factors={"cases": 5_000_000, "cores": levels}, blocks=blocks)
    return of_run(store, make_run(store, changed, noise=0.01))


def named(summary: Summary, start: str) -> TableData:
    return next(table for table in tables(summary) if table.title.startswith(start))


def test_the_table_over_cores_recovers_the_planted_laws(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("tests.runs", fromlist=["HOST"]).HOST, "cpus", 32)
    summary = cores_run(store, 1, 2, 4, 8, 16, 32)
    law = laws.laws(summary, over_cores=True)[0]
    rows = {one.contender: one for one in laws.scaled(summary, law, laws.settings(summary, law)[0])}
    for name in ("go", "limit", "erlang"):
        _, contention, coherency = LAWS[name]
        fit = rows[name].law
        assert fit is not None
        assert fit.contention.estimate == pytest.approx(contention, abs=0.03)
        assert fit.coherency.estimate == pytest.approx(coherency, abs=0.0015)
    words = {name: laws.verdict(one) for name, one in rows.items()}
    best = best_cores(*LAWS["go"][1:])
    assert words["go"].startswith("gets slower beyond 1")
    assert best == pytest.approx(15.4, abs=0.1)
    assert words["python-sync"] == "gains next to nothing from more cores"
    assert words["limit"].startswith("still gains at 32")
    table = named(summary, "Scaling over cores")
    assert table.columns[:3] == ("contender", "speed-up on 2", "speed-up on 4")
    assert table.columns[-1] == "by the law"
    assert table.rows[0][0].text == "limit"
    assert not table.notes


def test_two_cores_say_plainly_what_cannot_be_known(store: Store) -> None:
    table = named(cores_run(store, 1, 2), "Scaling over cores")
    assert table.columns == ("contender", "speed-up on 2", "efficiency")
    assert "cannot be known from this run" in table.notes[0]
    assert "--cores all" in table.notes[0]


def test_three_numbers_of_cores_are_fitted_with_a_word_of_caution(store: Store) -> None:
    table = named(cores_run(store, 1, 2, 4), "Scaling over cores")
    assert table.columns[-1] == "by the law"
    assert table.notes[0].startswith("Three numbers of cores for a law with three parameters")


def test_where_the_time_went_is_told_in_words(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("tests.runs", fromlist=["HOST"]).HOST, "cpus", 8)
    table = named(cores_run(store, 1, 8), "Where the time went")
    assert len(table.rows) == 9
    pool = next(note for note in table.notes if note.startswith("python-processes: "))
    assert "reading by one unit takes 85% of the wall time, writing 2%" in pool
    assert "its 8 cores are busy for 5" in pool
    assert pool.endswith("reading holds back the rest, and more cores cannot help.")
    # Its cores are busy for four fifths of the time: that comes first.
    limit = next(note for note in table.notes if note.startswith("limit: "))
    assert limit.endswith("the cores are what it lacks.")


def test_growth_has_an_exponent_for_each_factor(store: Store) -> None:
    summary = of_run(store, make_run(store, experiment("batch-growth", blocks=7), noise=0.01))
    cases, size = named(summary, "Wall: growth with cases"), named(summary, "Wall: growth with size")
    erlang = next(row for row in cases.rows if row[0].text == "erlang")
    # 0.02 s of start-up beside 0.1 s and more of work.
    assert 0.8 < float(erlang[1].text.split()[0]) <= 1.02
    # Size moves nothing in the made-up trials.
    assert all(abs(float(row[1].text.split()[0])) < 0.1 for row in size.rows)
    assert len(cases.columns) == len(size.columns) == 2


def test_pictures_of_speed_up_and_of_jobs(store: Store) -> None:
    found = charts(cores_run(store, 1, 2, 4))
    speed_up = next(chart for chart in found if chart.title == "Speed-up over cores")
    data = speed_up.panels[0].spec["datasets"]
    assert data["ideal"] == [
        {"cores": 1, "value": 1},
        {"cores": pytest.approx(3.9, abs=0.3), "value": pytest.approx(3.9, abs=0.3)},
    ]
    assert {row["contender"] for row in data["curves"]} == set(experiment("batch-cores").contenders)
    jobs = of_run(
        store,
        make_run(
            store,
            experiment(
                "jobs-cpu",
                factors={"jobs": 6, "kind": "cpu", "workers": "cores", "cores": (1, 2), "trace": 1},
            ),
        ),
    )
    drawn = [chart for chart in charts(jobs) if chart.title.startswith("Who did what when")]
    assert [chart.title for chart in drawn] == ["Who did what when: cores=1", "Who did what when: cores=2"]
    rows = drawn[1].panels[0].spec["datasets"]["rows"]
    assert len(rows) == 6
    assert {row["unit"] for row in rows} == {1, 2}
    assert all(row["begin"] < row["end"] for row in rows)


def test_no_laws_where_nothing_varies(store: Store) -> None:
    changed = experiment("batch-cores", factors={"cases": 100, "cores": 1}, blocks=2)
    summary = of_run(store, make_run(store, changed))
    assert laws.tables(summary) == []
    assert isinstance(summary.points[0], Point)
    assert named(summary, "Where the time went").rows
