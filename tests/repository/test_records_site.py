"""The site of the records: of runs that are made up here all files, and docs/site/ itself, as it is kept."""

import base64
import dataclasses
import gzip
import json
import re
from urllib.parse import unquote

import msgspec
import pytest
from scripts.records_site import Record, Site

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.cli import context
from ringside.store import Store
from tests.render.site.test_site import Links
from tests.support import ROOT
from tests.support.analyses import with_figures
from tests.support.runs import HOSTILE, experiment, make_run

SITE = ROOT / "docs" / "site"
# A ninth of it for each problem; some have 35 programs.
MOST_BYTES = 4_100_000
RING = experiment(
    contenders=("erlang", "go", "limit"), factors={"nodes": 100, "messages": (10, 100)}, blocks=7
)
FIB = experiment("showdown-fib", blocks=7)


@pytest.fixture(scope="module")
def pages() -> dict[str, RunAnalysis]:
    store, found = Store(None), {}
    runs = {
        "ring": make_run(store, RING),
        "fib": make_run(store, FIB, seed=2, crashed={"python-threads": 7}),
        "again": make_run(store, RING, seed=3, hostile=True),
    }
    for name, run in runs.items():
        of = analysis_of(store, run)
        path = {"main.go": "digest"}
        contenders = {name: dataclasses.replace(plan, files=path) for name, plan in of.contenders.items()}
        sources = {"digest": 'package main // "a" < b\nfunc main() {}\n'}
        found[name] = with_figures(of, contenders=contenders, sources=sources)
    return found


@pytest.fixture(scope="module")
def files(pages: dict[str, RunAnalysis]) -> dict[str, bytes]:
    questions = context.questions()
    records = [
        Record.of("suite", [pages["ring"], pages["fib"]], questions),
        Record.of("again", [pages["again"]], questions),
    ]
    return Site(records, {"ring": "A *ring* of units. [More](GONE.md)."}, []).files()


def unpacked(text: str) -> dict[str, str]:
    """The sources of a contender's page, as HTML."""
    (packed,) = re.findall(r'<script type="text/plain" id="texts">([^<]*)</script>', text)
    sources: dict[str, str] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return sources


def test_a_contender_has_its_sources_and_its_figures(files: dict[str, bytes]) -> None:
    text = files["contenders/go.html"].decode()
    assert "<summary><code>main.go</code>" in text
    sources = unpacked(text)["main.go"]
    assert "<b>package</b>" in sources
    assert "&lt; b" in sources
    assert '<a href="../suite/showdown-fib.html">showdown-fib</a>' in text
    # A row for each run, and the newest of them in the summary.
    links = text.count('<a href="../again/showdown-ring.html">') + text.count("../suite/showdown-ring.html")
    assert links == 3
    assert text.index('class="summary"') < text.index("<h2>Figures</h2>")


def test_a_workload_has_its_contract_without_links_that_lead_nowhere(files: dict[str, bytes]) -> None:
    text = files["workloads/ring.html"].decode()
    assert "A <em>ring</em> of units. More." in text
    assert "GONE" not in text


def test_a_history_has_the_runs_of_several_records(files: dict[str, bytes]) -> None:
    text = files["history/showdown-ring.html"].decode()
    assert "2 runs of the experiment showdown-ring" in text
    assert "../suite/showdown-ring.html" in text
    assert "../again/showdown-ring.html" in text


def test_the_index_has_charts_of_problems(pages: dict[str, RunAnalysis], files: dict[str, bytes]) -> None:
    assert b'id="questions"' not in files["index.html"]
    ring = pages["ring"]
    figure = msgspec.structs.replace(
        context.questions()[0].figures[0], experiment=ring.experiment.name, metric=ring.headline.name, at={}
    )
    asked = msgspec.structs.replace(context.questions()[0], text="What then?", figures=(figure,))
    index = Site([Record.of("suite", [pages["ring"]], [asked])], {}, []).files()["index.html"].decode()
    assert index.index('id="install"') < index.index('id="parts"') < index.index("What then?")
    assert '<a href="suite/showdown-ring.html">The message ring</a>' in index
    assert f'<a href="suite.html#question-{asked.name}">What then?</a>' in index


def test_the_point_that_stands_for_a_run_leads_its_page(files: dict[str, bytes]) -> None:
    made, kept = (
        files["suite/showdown-ring.html"],
        (SITE / "sleepers-million/sleepers-million.html").read_bytes(),
    )
    assert re.findall(rb"<h3>At (\d+) messages", made) == [b"100", b"10"]
    assert re.findall(rb"<h3>At ([\d,]+) tasks", kept) == [b"1,000,000", b"10,000"]


def test_hostile_text_stays_text(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        assert HOSTILE.encode() not in data, name
        assert b"<img src=x" not in data, name
        if name.startswith("contenders/"):
            for source in unpacked(data.decode()).values():
                assert HOSTILE not in source, name


def test_all_links_of_the_kept_site_lead_somewhere() -> None:
    found = {path: Links(path.read_text("utf-8")) for path in SITE.rglob("*.html")}
    assert len(found) > 50
    for path, places in found.items():
        assert len({*places.ids}) == len(places.ids), path
        for target in places.targets:
            if target.startswith("https://"):
                continue
            file, _, place = unquote(target).partition("#")
            there = (path.parent / file).resolve() if file else path
            assert there.is_file(), f"{path}: {target}"
            assert not place or place in found[there].ids, f"{path}: {target}"


def test_the_kept_site_is_small() -> None:
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) <= MOST_BYTES
