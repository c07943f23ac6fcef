import base64
import dataclasses
import gzip
import importlib.metadata
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.model.results import Diagnostic, Run
from ringside.probe.protocol import TrialOutcome
from ringside.render.html import page, templates
from ringside.render.plots import charts
from ringside.render.plots.spec import Chart, Panel
from ringside.render.site.site import render_page
from ringside.store import Store
from ringside.store.plans import PlannedContender, SuiteSelection
from tests.render.plots.test_plots import everything
from tests.support.analyses import HOST, HOSTILE, Exact, analysis, medians, point, scaled, with_figures
from tests.support.browsers import chromium
from tests.support.cases import cases
from tests.support.runs import experiment, make_run

PLOTS = charts.missing() is None
# Vega is bundled once in a while and slowly; what is made of it is tested in a browser alone.
STUB = "window.vegaEmbed = null;"
P, Q = point(nodes=10), point(nodes=20)
SOURCES = {
    "hash-readme": "# go\n\nWritten as *its community* would.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "hash-source": "def main(nodes: int) -> None:\n    print(nodes)\n",
}
FILES = {"README.md": "hash-readme", "ring.py": "hash-source", "contender.toml": "hash-lost"}


class Proved(Exact):
    evidence_note = "Every trial had to print a checksum."


@pytest.fixture
def without_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    # The library is kept once made, so what makes it is not the place.
    monkeypatch.setattr(page, "_library", lambda: (templates.script(STUB), templates.packed(STUB)))


class Reader(HTMLParser):
    """Elements with their attributes, texts, and the contents of scripts by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: tuple[str, dict[str, str | None]] = ("", {})
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def unpacked(self, name: str) -> Any:
        """The content that the page unpacks when it is needed."""
        text = "".join(data for attributes, data in self.scripts if attributes.get("id") == name)
        return json.loads(gzip.decompress(base64.b64decode(text)))

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


def planned(text: str = "") -> dict[str, PlannedContender]:
    """Two contenders, one of them unavailable, with `text` in all that is not ours."""
    return {
        "erlang": PlannedContender(
            f"Erlang {text}",
            model=f"actors {text}",
            language="Erlang",
            runtime="otp",
            runs_on="Erlang",
            command=("{runtime}", f"ring {text}"),
            files=FILES,
            version=f"27 {text}",
            receipt=f"OTP {text}",
            executable="/usr/bin/erl",
        ),
        "go": PlannedContender(
            f"Go {text}",
            files=FILES,
            unavailable=f"go: not found {text}",
            remedy="apt-get install go",
            log=f"make: cc: No such file {text}",
        ),
    }


def example(**options: Any) -> RunAnalysis:
    return analysis(medians(P, Q, erlang=100.0, go=163.0), measurement=Proved(), **options)


def read(*runs: RunAnalysis, sources: dict[str, str] | None = None) -> Reader:
    texts = SOURCES if sources is None else sources
    return Reader(render_page([with_figures(run, sources=texts) for run in runs]))


def test_the_verdict_can_be_quoted(without_vega: None) -> None:
    text = read(example()).text()
    assert "erlang is fastest at nodes=20: time per hop 100 ns (97–104)." in text
    assert "go takes 1.63 times as long as erlang (1.63–1.63). At both points erlang is first." in text
    # The picture has each figure once, the tables below have the verdicts.
    assert "Time per hop: nodes=20 (left is better)" in text
    assert "Nodes=10: all figures" in text
    assert re.search(r"go 163 ns \(\S+\) 1.63 \(1.63–1.63\) slower", text)
    assert "Run run-1 · 2030-01-02 03:04 UTC · 7 blocks, 28 trials · 2 points × 2 contenders" in text
    assert "Example CPU 3000, 4 CPUs, 16 GiB, Linux 6.1.0" in text
    assert "Every trial had to print a checksum. Memory is PSS" in text


def test_diagnostics_have_a_title_and_a_remedy(without_vega: None) -> None:
    few = {(name, P): {"hop_ns": [1.0, 1.0]} for name in ("erlang", "go")}
    text = read(analysis(few, ended=False, blocks=7)).text()
    assert "2 of 7 blocks" in text
    assert "Unfinished. The run stopped after 2 of 7 blocks" in text
    assert "What to do: continue it with ringside run --resume run-1 ." in text


def test_ratios_without_a_column_of_verdicts_have_their_word(without_vega: None) -> None:
    """In the metric's own words, whatever the colour says."""
    places = [point(nodes=number) for number in range(5)]
    values = medians(*places, metric="rate", erlang=100.0, go=50.0, pony=300.0)
    for place in places[2:]:
        values["go", place] = {"rate": values["erlang", place]["rate"]}
    made = render_page([with_figures(analysis(values, metrics=["rate"]), sources=SOURCES)])
    assert made.count("<small>lower</small>") == 2
    assert made.count("<small>higher</small>") == 5
    assert made.count("<small>no verdict possible</small>") == 3
    # The same value in every block is not equivalence.
    assert "<small>equal" not in made
    text = Reader(made).text()
    assert "Where the interval includes 1" not in text
    assert "ratios within the margin are equal; all else is too close to call" in text


def test_hostile_texts_stay_texts(without_vega: None) -> None:
    report = TrialOutcome(outcome="ok", stderr_tail=HOSTILE)
    run = analysis(
        medians(P, erlang=1.0),
        title=HOSTILE,
        note=HOSTILE,
        failed=[("go", P)],
        contenders=planned(HOSTILE),
        reports={"go": report, "erlang": report},
        host={**HOST, "cpu_model": HOSTILE, "notes": {HOSTILE: HOSTILE}},
    )
    script = "\n[click](javascript:alert(1)) ![x](https://example.org/x.png)\n"
    sources = {"hash-readme": HOSTILE + "\n" + script, "hash-source": f"a \u202e b \ud800 {HOSTILE}"}
    made = render_page([with_figures(run, sources=sources)])
    parsed = Reader(made)
    tags = {tag for tag, _ in parsed.elements}
    assert "img" not in tags
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert not [a for _, a in parsed.elements if (a.get("href") or "").lower().startswith("javascript:")]
    assert "\x1b" not in made
    # Characters that turn the direction are visible, and all can be encoded.
    assert "\u202e" not in made
    made.encode("utf-8")
    assert "alert(1)" in parsed.text()
    assert "{{ 7 * 7 }}" in parsed.text()
    # Nothing inside a script element begins a tag or a comment.
    assert len([tag for tag, _ in parsed.elements if tag == "script"]) == len(re.findall("</script", made))
    assert parsed.json("data")["runs"][0]["title"] == HOSTILE


def test_the_data_hold_the_figures_of_every_block(without_vega: None) -> None:
    cells = read(example()).json("data")["runs"][0]["cells"]
    assert len(cells) == 4
    go = next(cell for cell in cells if (cell["contender"], cell["point"]) == ("go", {"nodes": 20}))
    assert go["by_block"]["hop_ns"] == {
        str(block): pytest.approx(value) for block, value in enumerate(scaled(163.0), 1)
    }
    assert go["metrics"]["hop_ns"]["median"] == pytest.approx(163.0)


def test_nothing_is_fetched_and_no_script_is_added(without_vega: None) -> None:
    parsed = read(example())
    assert not [a for _, a in parsed.elements if "src" in a or ("link" in a)]
    policy = next(str(a["content"]) for _, a in parsed.elements if "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("sha256-") == (2 if PLOTS else 1)


def test_a_page_without_the_package_for_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    parsed = read(example())
    assert "pip install vl-convert-python" in parsed.text()
    assert [a.get("id") for a, _ in parsed.scripts] == ["data", None]


def test_contenders_show_readme_source_and_build_log(without_vega: None) -> None:
    made = render_page([with_figures(example(contenders=planned()), sources=SOURCES)])
    assert "<em>its community</em>" in made
    assert "<td>1</td>" in made
    assert "<b>def</b>" in Reader(made).unpacked("texts")["hash-source"]
    text = Reader(made).text()
    assert "make: cc: No such file" in text
    assert "go: not found ; apt-get install go" in text
    assert "27 (/usr/bin/erl)" in text
    # Programs come before manifests; a source that is lost is named.
    assert text.index("ring.py 2 lines") < text.index("contender.toml 1 line")
    lost = re.sub("<[^>]+>", "", Reader(made).unpacked("texts")["hash-lost"])
    assert lost.strip() == "(not kept)"


def test_two_runs_make_two_sections(without_vega: None) -> None:
    parsed = read(example(), example())
    # Contenders and their sources stand once, behind the sections.
    of_two = render_page([with_figures(example(contenders=planned()), sources=SOURCES)] * 2)
    assert len(Reader(of_two).unpacked("texts")) == 2
    anchors = [a["id"] for tag, a in Reader(of_two).elements if tag == "details" and "id" in a]
    assert anchors == ["contender-1", "contender-2"]
    assert {"run-1", "run-2"} <= {a["id"] for _, a in parsed.elements if a.get("id")}
    assert len(parsed.json("data")["runs"]) == 2
    plots = [a["data-chart"] for _, a in parsed.elements if "data-chart" in a]
    assert len(plots) == len(parsed.unpacked("charts")["specs"]) > 0


def test_facts_of_the_machine(without_vega: None) -> None:
    host = {**HOST, "turbo": None, "limits": {"descriptors_soft": 1024}, "cpus_usable": [0, 1]}
    text = read(example(host=host)).text()
    assert "4 CPUs, 2 usable" in text
    assert "turbo unknown" in text
    # Facts that change from run to run stand separately, rounded.
    busy = {**HOST, "load_average": [1.28564453125, 1, 2.5], "pressure_cpu": 24.81, "revision": "abc"}
    quiet = {**busy, "load_average": [0.1, 0.1, 0.1], "pressure_cpu": 0.4, "revision": "abd"}
    text = read(example(host=busy), example(host=quiet)).text()
    assert text.count("cpu model Example CPU 3000") == 1
    assert "When each run began" in text
    assert "1.29, 1, 2.50 24.8 %" in text
    text = read(example(host=host)).text()
    assert "limits descriptors soft 1,024" in text
    assert "memory 16.0 GiB" in text
    engines = {"east": {**HOST, "kernel": "9.9"}}
    two_sided = {**HOST, "engines": 1, "machines": {"west ← east": {**HOST, "engines": engines}}}
    text = read(example(host=two_sided)).text()
    assert "load from east: Example CPU 3000" in text
    assert "west ← east: engine east: kernel 9.9" in text


@pytest.mark.skipif(not PLOTS, reason="the `report` extra is not installed")
def test_vega_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version("vl-convert-python")
    cached = tmp_path / "ringside" / f"vega-{version}.js"
    calls: list[int] = []

    def bundle() -> str:
        calls.append(1)
        return "window.vegaEmbed = 1;"

    import vl_convert

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = templates.vega()
    assert templates.vega() == first == cached.read_text(encoding="utf-8")
    assert len(calls) == 1
    assert [file.name for file in cached.parent.iterdir()] == [cached.name]
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert templates.vega() == first


def drawn_page(run: RunAnalysis, panels: tuple[Panel, ...]) -> str:
    """The page of a run with these panels instead of its own, all parts open."""
    chart = Chart("All", "All kinds.", tuple(dataclasses.replace(each, point=None) for each in panels))
    with mock.patch.object(page, "charts_of", return_value=[[chart]]):
        return render_page([run]).replace('<details class="figures">', '<details class="figures" open>')


@pytest.mark.skipif(not PLOTS, reason="the `report` extra is not installed")
def test_a_browser_draws_every_plot_without_an_error(tmp_path: Path) -> None:
    program = chromium()
    panels = tuple(everything())
    run = analysis({("go", P): {"hop_ns": scaled(1.0)}}, contenders={"go": planned(HOSTILE)["erlang"]})
    (tmp_path / "report.html").write_text(drawn_page(run, panels), encoding="utf-8")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += ["--disable-background-networking", "--disable-component-update"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=60000", "--dump-dom"]
    command += [(tmp_path / "report.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    root = dict(Reader(done.stdout).elements)["html"]
    assert "data-errors" not in root, root["data-errors"]
    assert int(root["data-charts"] or 0) == len(panels) > 15
    assert root["data-drawn"] == root["data-charts"]
    drawn = re.findall(r'<div data-chart="[^>]*>(?:(?!data-chart).)*?<svg', done.stdout, re.DOTALL)
    assert len(drawn) == len(panels)


def of_suite(name: str, **suite: Any) -> RunAnalysis:
    run = example(name=name)
    kept = SuiteSelection("./both.toml", settings={}, id="1-both", **suite)
    return with_figures(run, plan=dataclasses.replace(run.plan, suite=kept))


def test_a_suite_has_its_own_title_and_question(without_vega: None) -> None:
    note = "Which is it\non one CPU?\n\nAnd on two?\n"
    named = [of_suite(name, title="Both of them", note=note) for name in ("one", "two")]
    made = render_page([with_figures(run, sources=SOURCES) for run in named])
    assert '<h1 dir="auto">Both of them</h1>' in made
    # Lines of a paragraph are those of the screen.
    questions = re.findall(r'<p class="question" dir="auto">([^<]*)</p>', made)
    assert questions == ["Which is it\non one CPU?", "And on two?"]
    # Runs of earlier versions have only its name.
    text = read(of_suite("one"), of_suite("two")).text()
    assert f"{example().experiment.title}, 2 runs What does each of 2 contenders cost in" in text


def test_a_warning_stands_beside_its_chart(without_vega: None) -> None:
    noise = [Diagnostic("noisy-neighbour", values={"io_pressure": io}, subjects=()) for io in (0.3, 0.5)]
    runs = [
        with_figures(example(name=name), diagnostics=(each,))
        for name, each in zip(("one", "two"), noise, strict=True)
    ]
    text = read(*runs).text()
    # Folded away in a suite, beside its chart; of one run in full.
    assert text.count("Warning: noisy neighbour") == text.count("Noisy neighbour.") == 2
    assert text.index("30 % of the time: ratios hold") < text.index("50 % of the time: ratios hold")
    text = read(runs[0]).text()
    assert (text.count("Noisy neighbour."), text.count("Warning:")) == (1, 0)


def test_the_overview_ranks_and_tints_inside_the_class_of_the_baseline(without_vega: None) -> None:
    """No difference within the margin has a tint."""
    values = medians(P, go=100.0, rust=103.0, erlang=2.0, python=300.0, c=150.0)
    run = analysis(values, baseline="go", kinds={"erlang": "bare", "python": "bare"})
    made = render_page([run, run])
    rows = re.findall(r'<th scope="row"[^>]*>(\w+)</th><td class="number ([^"]*)"[^>]*>(.*?)</td>', made)
    assert rows == [
        ("go", "tint-0", "1 <small>1</small>"),
        ("rust", "tint-none", "1.03 <small>2</small>"),
        ("erlang", "tint-none", "0.0200 <small>bare</small>"),
        ("python", "tint-none", "3.00 <small>bare</small>"),
        ("c", "tint-3", "1.50 <small>3</small>"),
    ]


# --- Runs that nobody plans: without a trial, without a figure, with a hundred contenders ---


SMALL = experiment(contenders=("erlang", "go"), factors={"nodes": 100, "messages": 100}, blocks=7)


def html(store: Store, *runs: Run) -> str:
    return render_page([analysis_of(store, run) for run in runs])


def plots(reader: Reader) -> int:
    return len([1 for _, attributes in reader.elements if "data-chart" in attributes])


@pytest.mark.parametrize(("blocks", "crashed", "ended", "why"), cases(__file__, "a_run_without_figures"))
def test_a_run_without_figures(
    store: Store, without_vega: None, blocks: int, crashed: int, ended: bool, why: str
) -> None:
    run = make_run(store, SMALL, blocks=blocks, crashed={"erlang": crashed, "go": crashed}, ended=ended)
    reader = Reader(html(store, run))
    text = reader.text()
    assert why in text
    assert f"{blocks}{'' if ended else ' of 7'} blocks, {2 * blocks} trials" in text
    assert ("What it wrote to stderr at" in text) == (crashed > 0)
    assert plots(reader) == 0
    assert "Machine and method" in text


def test_a_run_in_progress_is_interim_and_not_interrupted(store: Store, without_vega: None) -> None:
    run = make_run(store, SMALL, blocks=2, ended=False)
    with store.hold(run.id):
        text = Reader(html(store, run)).text()
    assert "Interim. This run has not ended." in text
    assert "interrupted" not in text
    text = Reader(html(store, run)).text()
    assert "Unfinished. The run stopped after" in text
    assert "Interim." not in text


def test_a_suite_in_which_one_part_has_nothing(store: Store, without_vega: None) -> None:
    runs = [make_run(store, SMALL), make_run(store, SMALL, crashed={"erlang": 7, "go": 7})]
    made = html(store, *runs, make_run(store, SMALL, blocks=0))
    assert {"run-1", "run-2", "run-3"} <= {attributes.get("id") for _, attributes in Reader(made).elements}
    rows = re.findall(r'<th scope="row"[^>]*>(\w+)</th>(.*?)</tr>', made)
    assert [name for name, _ in rows] == ["erlang", "go"]
    assert all(cells.count("<td") == 3 and "crashed" in cells for _, cells in rows)


def test_a_hundred_contenders(store: Store, without_vega: None) -> None:
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
