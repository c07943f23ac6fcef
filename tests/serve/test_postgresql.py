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
