"""The live page's routes, over HTTP, from a server in a thread."""

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from ringside.model.results import Run, Trial
from ringside.render.plots.charts import missing
from ringside.serve import live, views
from ringside.store import Store, record
from tests.support.cases import cases
from tests.support.live_pages import SMALL, Client, serving
from tests.support.postgresql import Server
from tests.support.runs import HOSTILE, make_run
from tests.support.stores import sql


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watchers are told of a change at once, whatever that costs."""
    for name in ("LOOK_S", "ASK_S", "MIN_PAUSE_S", "PAUSE_PER_COST"):
        monkeypatch.setattr(live, name, 0.1)


def copied(store: Store, run: Run, trials: list[Trial]) -> None:
    for trial in trials:
        store.add_trial(run, trial)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store with two runs of one experiment, a hostile one and a run that was cut off."""
    path = tmp_path_factory.mktemp("serve") / "runs.sqlite"
    store = Store(path)
    other = dataclasses.replace(SMALL, name="other")
    runs = [
        make_run(store, SMALL),
        make_run(store, SMALL, seed=2),
        make_run(store, other, hostile=True, crashed={"go": 7}),
        make_run(store, other, blocks=2, ended=False, hostile=True),
    ]
    store.close()
    return path, [run.id for run in runs]


@pytest.fixture(scope="module")
def client(stored: tuple[Path, list[str]]) -> Iterator[Client]:
    with serving(stored[0]) as served:
        yield served


def test_the_list_has_every_run_and_its_state(
    client: Client, stored: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_PATIENCE_S", 60.0)
    page = client.page("/")
    assert all(f'href="/runs/{run}"' in page for run in stored[1])
    assert page.count('class="state done"') == 3
    # The result of each run stands beside it.
    assert len(re.findall("<strong>[^<]+</strong>", page)) == 4
    assert page.count('class="state cut-off"') == 1


def test_filters_leave_out_the_others(client: Client, stored: tuple[Path, list[str]]) -> None:
    first, _, hostile, cut = stored[1]
    page = client.page("/?state=cut+off")
    assert f"/runs/{cut}" in page
    assert f"/runs/{first}" not in page
    assert f"/runs/{hostile}" in client.page("/?experiment=other&text=" + quote(hostile[:15].upper()))
    assert "No run is like that" in client.page("/?text=nothing-has-this-name")


def test_each_answer_has_headers_and_no_inline_script(client: Client, stored: tuple[Path, list[str]]) -> None:
    for path in ("/", "/compare", f"/runs/{stored[1][3]}", "/nothing"):
        _, body, headers = client.get(path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert "<script>" not in body
        assert " style=" not in body
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"


def test_a_report_has_its_own_policy(client: Client, stored: tuple[Path, list[str]]) -> None:
    for path in (f"/runs/{stored[1][0]}", f"/runs/{stored[1][3]}/report"):
        _, body, headers = client.get(path)
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert re.search(
            r'<meta http-equiv="Content-Security-Policy" content="[^"]*script-src &#39;sha256-', body
        )
        assert '<a href="/">All runs</a>' in body


@pytest.mark.parametrize(("host", "status"), cases(__file__, "only_names_of_this_machine_are_answered"))
def test_only_names_of_this_machine_are_answered(client: Client, host: str, status: int) -> None:
    assert client.get("/", Host=host)[0] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_sent(client: Client, method: str) -> None:
    status, _, headers = client.get("/", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_contenders_text_is_escaped_and_made_visible(client: Client, stored: tuple[Path, list[str]]) -> None:
    for path in ("/", f"/runs/{stored[1][3]}", f"/compare?one={stored[1][2]}&other={stored[1][3]}"):
        page = client.page(path)
        assert HOSTILE not in page
        assert "<img" not in page
        assert "\x1b" not in page
        assert "·[31mred·[0m" in page


def test_a_run_in_progress_is_marked_as_interim(client: Client, stored: tuple[Path, list[str]]) -> None:
    page = client.page(f"/runs/{stored[1][3]}")
    assert "<h2>So far</h2>" in page
    first, folded = page.partition("Tables, so far")[2].split('<details id="more-tables">')
    assert (first.count("<table"), f"{folded.count('<table')} more</summary>" in folded) == (1, True)
    assert "Figures, intervals and verdicts are those of the trials so far" in page


def test_two_runs_side_by_side(client: Client, stored: tuple[Path, list[str]]) -> None:
    first, second, other, _ = stored[1]
    page = client.page(f"/compare?one={first}&other={second}")
    assert f"<h2>{second} over {first}</h2>" in page
    assert f"No change is shown from {first} to {second}" in page
    # The plot needs no script.
    if missing() is None:
        assert '<figure class="history" tabindex="0"><figcaption>Per hop</figcaption><svg' in page
    assert "Too few reference computations show" in page
    assert "there is no run <code>nothing</code>" in client.page(f"/compare?one={first}&other=nothing")
    assert "share no cell" not in client.page(f"/compare?one={first}&other={other}&metric=cpu_s")
    assert "has no metric" in client.page(f"/compare?one={first}&other={second}&metric=nothing")


def test_the_history_of_an_experiment(client: Client, stored: tuple[Path, list[str]]) -> None:
    _, runs = stored
    assert f'href="/history/{SMALL.name}"' in client.page("/")
    body = client.page(f"/history/{SMALL.name}")
    assert "<h2>Per hop over time</h2>" in body
    # Its links lead to the reports here; the plot is drawn, and needs no script.
    assert all(f'href="/runs/{run}"' in body for run in runs[:2])
    assert body.count("<figure") == body.count("<svg xmlns") == 1
    assert "<script" not in body
    assert "<figcaption>100 units, 100 messages</figcaption>" in body
    # A run that was cut off counts as well, and a single one has a table alone.
    assert client.page("/history/other").count("&lt;/script&gt;") > 0
    assert "there is no" not in client.page("/history/other")
    text = client.page("/history/%3Cb%3E", 404)
    assert "The store has no run of the experiment <code>&lt;b&gt;</code>" in text


def test_a_history_is_of_runs_that_have_ended_and_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = Store(path)
    whole, broken, live = (make_run(store, SMALL, seed=seed, ended=seed < 3) for seed in (1, 2, 3))
    sql(path, "UPDATE run SET plan = '{}' WHERE id = ?", broken.id)
    with serving(path) as served, store.hold(live.id):
        body = served.page(f"/history/{SMALL.name}")
        # A plan that cannot be read spoils only its own page.
        assert all(run.id in served.page("/") for run in (whole, broken, live))
        assert f"The plan of run {broken.id} cannot be read" in served.page(f"/runs/{broken.id}", 503)
    store.close()
    assert f'href="/runs/{whole.id}"' in body
    assert "Left out: 1 run that cannot be read." in body
    assert "Left out: 1 run in progress." in body
    assert "A history begins with the second run." in body


@pytest.mark.parametrize("is_record", [False, True])
def test_data_of_a_run(stored: tuple[Path, list[str]], tmp_path: Path, is_record: bool) -> None:
    """From a store, or from a record."""
    path, (_, latest, *_) = stored
    if is_record:
        with contextlib.closing(Store(path, read_only=True)) as store:
            record.write(store, [store.run(latest)], path := tmp_path / "runs.json.xz")
    with serving(path) as client:
        assert latest in client.page("/")
        assert json.loads(client.page(f"/runs/{latest}/document.json"))["run"] == latest
        assert client.page(f"/runs/{latest}/figures.csv").startswith("contender,nodes,messages")
        # The name of an experiment leads to its latest run.
        status, _, headers = client.get(f"/runs/{SMALL.name}")
        assert (status, headers["Location"]) == (307, f"/runs/{latest}")


def test_what_is_not_there(client: Client) -> None:
    assert "There is no such page" in client.page("/nothing", 404)
    for place in ("", "/events", "/report", "/document.json", "/figures.csv"):
        assert "there is no run" in client.page(f"/runs/nothing{place}", 404).lower()
    assert client.get("/static/..%2fapp.py")[0] == 404
    assert client.get("/static/app.py")[0] == 404


def test_watchers_share_one_analysis_and_see_the_end(where: str) -> None:
    """Three watchers of a run that goes on, ends, and is over: the same bytes for each."""
    store = Store(where)
    whole = make_run(store, SMALL)
    trials = store.trials(whole)
    run = store.begin_run("live", 1, whole.plan, whole.host, {})
    with store.hold(run.id), serving(where) as client, contextlib.ExitStack() as stack:
        assert "left</strong>" not in client.page("/")
        assert "No trial of this run has ended yet" in client.page(f"/runs/{run.id}")
        watchers = [stack.enter_context(client.events(run.id)) for _ in range(3)]
        name, progress = next(watchers[0])
        assert (name, progress) == ("progress", {"trials": 0, "state": "in progress"})
        copied(store, run, trials[:4])
        assert re.search(rf"<strong>4 of {len(trials)} trials, .+ left</strong>", client.page("/"))
        copied(store, run, trials[4:])
        store.end_run(run)
        seen = [list(watcher) for watcher in watchers]
    store.close()
    last = [dict(events) for events in seen]
    assert [events["progress"] for events in last] == [{"trials": len(trials), "state": "done"}] * 3
    assert all("end" in events for events in last)
    contents = {json.dumps(events["content"]) for events in last}
    assert len(contents) == 1
    assert "go takes 1." in contents.pop()


def test_a_store_that_disappears_or_is_damaged_is_said_and_comes_back(tmp_path: Path) -> None:
    path, kept = tmp_path / "runs.sqlite", tmp_path / "kept"
    with serving(path) as client:
        assert "holds no run yet" in client.page("/", 503)
        store = Store(path)
        run = make_run(store, SMALL, blocks=1, ended=False)
        store.close()
        assert run.id in client.page("/")
        with client.events(run.id) as events:
            assert next(events)[0] == "progress"
            path.rename(kept)
            assert "holds no run yet" in client.page("/", 503)
            said = next(values for name, values in events if name == "trouble")
            assert "holds no run yet" in str(said["text"])
            path.write_bytes(os.urandom(20_000))
            assert "file is not a database" in client.page("/", 503)
            assert "not a database" in client.page(f"/runs/{run.id}", 503)
            kept.rename(path)
            assert next(values for name, values in events if name == "progress")["trials"] == 2
        assert run.id in client.page("/")


def test_a_server_that_is_lost_is_said_and_comes_back(postgresql: Server, url: str) -> None:
    store = Store(url)
    run = make_run(store, SMALL, blocks=1, ended=False)
    store.close()
    with serving(url) as client, client.events(run.id) as events:
        assert next(events)[0] == "progress"
        postgresql.stop()
        try:
            for page in ("/", f"/runs/{run.id}", f"/runs/{run.id}/report"):
                assert "check what --store names" in client.page(page, 503)
            trouble = next(values for name, values in events if name == "trouble")
        finally:
            postgresql.start()
        # The open connection is lost, or a new one fails.
        assert re.search("connection (failed|is bad)|closed the connection", str(trouble["text"]))
        progress = next(values for name, values in events if name == "progress")
        assert progress == {"trials": 2, "state": "cut off"}
        assert run.id in client.page("/")


def test_the_store_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    store = Store(path)
    run = make_run(store, SMALL)
    store.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with serving(path) as client:
            for page in ("/", f"/runs/{run.id}", f"/runs/{run.id}/document.json"):
                client.page(page)
    finally:
        tmp_path.chmod(0o755)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    reader = Store(path, read_only=True)
    with pytest.raises(Exception, match="readonly"):
        reader.end_run(run)
