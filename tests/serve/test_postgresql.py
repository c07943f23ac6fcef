"""The live page of a store in PostgreSQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from ringside.store import Store
from tests.support.live_pages import SMALL, serving
from tests.support.postgresql import Server
from tests.support.runs import make_run


@pytest.fixture
def url(postgresql: Server) -> Iterator[str]:
    with postgresql.database() as name:
        yield postgresql.url(name)


def test_a_run_its_report_and_its_data(url: str) -> None:
    store = Store(url)
    run, other = make_run(store, SMALL), make_run(store, SMALL, seed=2)
    store.close()
    with serving(url) as client:
        assert client.page("/").count('class="state done"') == 2
        for page in (f"/runs/{run.id}", f"/runs/{run.id}/report"):
            text = client.page(page)
            assert run.id in text
            assert "<h2>" in text
        assert json.loads(client.page(f"/runs/{run.id}/document.json"))["run"] == run.id
        assert client.page(f"/runs/{run.id}/figures.csv").startswith("contender,nodes,messages")
        assert f"{other.id} over {run.id}" in client.page(f"/compare?one={run.id}&other={other.id}")
        assert "<h2>Per hop over time</h2>" in client.page(f"/history/{SMALL.name}")
        assert "there is no run" in client.page("/runs/nothing", 404).lower()


def test_who_watches_a_run_sees_it_go_on_and_end(url: str) -> None:
    store = Store(url)
    whole = make_run(store, SMALL)
    trials = store.trials(whole)
    run = store.begin_run("live", 1, whole.plan, whole.host, {})
    with store.hold(run), serving(url) as client, client.events(run.id) as events:
        assert next(events) == ("progress", {"trials": 0, "state": "in progress"})
        for trial in trials:
            store.add_trial(run, trial)
        store.end_run(run)
        last = dict(events)
    store.close()
    assert last["progress"] == {"trials": len(trials), "state": "done"}
    assert "go takes 1." in json.dumps(last["content"])
    assert "end" in last


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
        # The one that was open is lost, or a new one fails.
        assert re.search("connection (failed|is bad)|closed the connection", str(trouble["text"]))
        progress = next(values for name, values in events if name == "progress")
        assert progress == {"trials": 2, "state": "cut off"}
        assert run.id in client.page("/")


def test_an_empty_database_is_said(url: str) -> None:
    with serving(url) as client:
        assert "holds no run yet" in client.page("/", 503)
        store = Store(url)
        run = make_run(store, SMALL, blocks=1)
        store.close()
        assert run.id in client.page("/")
