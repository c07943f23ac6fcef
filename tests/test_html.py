from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.summary import summarise
from ringside.model.design import Experiment
from ringside.render.html import page as html
from ringside.render.plots import charts
from ringside.store import Store
from tests import runs

Pages = Callable[..., html.Page]
PLOTS = charts.missing() is None
# Vega is bundled once in a while and slowly; what is made of it is tested in a browser alone.
STUB = "window.vegaEmbed = null;"


@pytest.fixture
def page_of(tmp_path: Path) -> Pages:
    """Makes a run, and its page's part."""

    def make(of: Experiment, **options: Any) -> html.Page:
        store = Store(tmp_path / "store.sqlite")
        run = runs.make_run(store, of, **options)
        hashes = {digest for one in run.plan["contenders"].values() for digest in one["files"].values()}
        return html.Page(summarise(run, store.trials(run)), store.sources(sorted(hashes)))

    return make


@pytest.fixture
def without_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_vega", lambda: STUB)


class Reader(HTMLParser):
    """Elements with their attributes, texts, and the contents of scripts by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: tuple[str, dict[str, str | None]] = ("", {})
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = (tag, dict(attrs))
        self.elements.append(self.inside)

    def handle_endtag(self, tag: str) -> None:
        self.inside = ("", {})

    def handle_data(self, data: str) -> None:
        tag, attributes = self.inside
        if tag == "script":
            self.scripts.append((attributes, data))
        elif tag != "style":
            self.texts.append(data)

    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def json(self, name: str) -> Any:
        return json.loads("".join(data for attributes, data in self.scripts if attributes.get("id") == name))


def test_the_verdict_can_be_quoted(page_of: Pages, without_vega: None) -> None:
    text = Reader(html.render([page_of(runs.experiment())])).text()
    quoted = r"go takes 1\.\d\d \(1\.\d\d–1\.\d\d\) times erlang's time per hop: slower"
    assert re.search(rf"At nodes=100 messages=1000 .*{quoted}", text)
    assert re.search(r"limit is faster than erlang at all 4 points: 0\.0\d+ to 0\.0\d+ times", text)
    assert "Example CPU 3000" in text
    assert "7 blocks, 224 trials" in text


def test_few_blocks_give_no_verdict_and_a_warning(page_of: Pages, without_vega: None) -> None:
    text = Reader(html.render([page_of(runs.experiment(blocks=7), blocks=3, ended=False)])).text()
    assert "no verdict from 3 blocks" in text
    assert "Too few blocks." in text
    assert "Unfinished." in text
    assert "ringside run --resume" in text


def test_hostile_texts_stay_texts(page_of: Pages, without_vega: None) -> None:
    page = page_of(
        runs.experiment(blocks=2), hostile=True, crashed={"go": 2, "erlang": 1}, unavailable=["limit"]
    )
    made = html.render([page])
    read = Reader(made)
    tags = {tag for tag, _ in read.elements}
    assert "img" not in tags
    assert not [name for _, attributes in read.elements for name in attributes if name.startswith("on")]
    assert not [a for _, a in read.elements if (a.get("href") or "").lower().startswith("javascript:")]
    assert "\x1b" not in made
    assert "alert(1)" in read.text()
    assert "{{ 7 * 7 }}" in read.text()
    # Nothing inside a script element begins a tag or a comment.
    assert len([tag for tag, _ in read.elements if tag == "script"]) == len(re.findall("</script", made))
    assert read.json("data")["runs"][0]["title"].endswith("'quotes\"")


def test_the_data_hold_the_figures_of_every_block(page_of: Pages, without_vega: None) -> None:
    page = page_of(runs.experiment(blocks=6))
    cells = Reader(html.render([page])).json("data")["runs"][0]["cells"]
    assert len(cells) == 4 * 8
    assert len(cells[0]["by_block"]["hop_ns"]) == 6
    assert cells[0]["metrics"]["hop_ns"]["low"] in cells[0]["by_block"]["hop_ns"].values()


def test_nothing_is_fetched_and_no_script_is_added(page_of: Pages, without_vega: None) -> None:
    read = Reader(html.render([page_of(runs.experiment(blocks=1))]))
    assert not [a for _, a in read.elements if "src" in a or ("link" in a)]
    policy = next(
        a["content"] for tag, a in read.elements if tag == "meta" and "content" in a and "http-equiv" in a
    )
    assert policy
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("sha256-") == (2 if PLOTS else 0)


def test_a_page_without_the_packages_for_plots(page_of: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "missing", lambda: "altair")
    read = Reader(html.render([page_of(runs.experiment(blocks=1))]))
    assert "pip install 'ringside[report]'" in read.text()
    assert not [a for _, a in read.elements if "data-chart" in a]
    assert [a.get("id") for a, _ in read.scripts] == ["data"]


def test_contenders_show_readme_source_and_build_log(page_of: Pages, without_vega: None) -> None:
    made = html.render([page_of(runs.experiment(blocks=1), unavailable=["go"])])
    assert "<em>its community</em>" in made
    assert '<span class="k">def</span>' in made
    assert "make: cc: No such file or directory" in made
    assert "apt-get install erlang" in made


def test_a_source_that_was_not_kept_is_said_so(page_of: Pages, without_vega: None) -> None:
    page = page_of(runs.experiment(blocks=1))
    assert "(not kept)" in html.render([html.Page(page.summary, {})])


def test_two_runs_make_two_sections(page_of: Pages, without_vega: None) -> None:
    one = page_of(runs.experiment(blocks=1))
    read = Reader(html.render([one, page_of(runs.experiment("ring-cores", blocks=1))]))
    assert {"run-1", "run-2"} <= {a["id"] for _, a in read.elements if a.get("id")}
    assert len(read.json("data")["runs"]) == 2
    numbers = [int(a["data-chart"] or -1) for _, a in read.elements if "data-chart" in a]
    assert numbers == list(range(len(numbers)))


def test_direction_characters_of_a_source_are_visible(page_of: Pages, without_vega: None) -> None:
    page = page_of(runs.experiment(blocks=1, contenders=("go",), baseline="go", published=None))
    sources = {digest: f"a \u202e b \ud800 {text}" for digest, text in page.sources.items()}
    made = html.render([html.Page(page.summary, sources)])
    assert "\u202e" not in made
    made.encode("utf-8")


def test_vega_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not PLOTS:
        pytest.skip("the `report` extra is not installed")
    version = importlib.metadata.version("vl-convert-python")
    kept = tmp_path / "ringside" / f"vega-{version}.js"
    calls: list[int] = []

    def bundle() -> str:
        calls.append(1)
        return "window.vegaEmbed = 1;"

    import vl_convert

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = html._vega()
    assert html._vega() == first == kept.read_text(encoding="utf-8")
    assert len(calls) == 1
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert html._vega() == first


def browser() -> str:
    """A browser's path. Where there is none the test is skipped; in CI there must be one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium to look at the page")
        pytest.skip("there is no chromium to look at the page with")
    return found


@pytest.mark.skipif(not PLOTS, reason="the `report` extra is not installed")
def test_a_browser_draws_every_plot_without_an_error(page_of: Pages, tmp_path: Path) -> None:
    program = browser()
    dots = page_of(runs.experiment(blocks=6), hostile=True, crashed={"go": 6})
    small = {"nodes": (10, 20, 40), "messages": 100}
    sweep = page_of(runs.experiment("ring-fixed-messages", factors=small, blocks=6, published=None))
    file = tmp_path / "report.html"
    file.write_text(html.render([dots, sweep]), encoding="utf-8")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += ["--disable-background-networking", "--disable-component-update"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=60000", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=600, check=True)
    read = Reader(done.stdout)
    root = dict(read.elements)["html"]
    assert "data-errors" not in root, root["data-errors"]
    assert int(root["data-charts"] or 0) > 10
    assert root["data-drawn"] == root["data-charts"]
    drawn = re.findall(r'<div data-chart="\d+"[^>]*>(?:(?!data-chart).)*?<svg', done.stdout, re.DOTALL)
    assert len(drawn) == int(root["data-charts"] or 0)
