"""What a showdown prints, word by word, and what its plots are made of, of made-up trials of a known seed:
whoever changes a sentence, a table, a verdict or a plot reads here what comes of it. Of the plots there is
one of each kind: a line for each layer and the first row of each table of data."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import analyse_suite
from ringside.render.plots.charts import charts
from ringside.render.text import markdown, terminal
from ringside.store import Store
from tests.render.plots.test_plots import of_each_kind
from tests.support import golden
from tests.support.runs import experiment, make_run

# More than a machine's own arithmetic changes.
DIGITS = 6
SEED = 20070918
PARTS = ("ring", "batch", "jobs", "fib", "fanout", "feed", "sleepers")


@pytest.fixture(scope="module")
def parts() -> list[RunAnalysis]:
    """Seven parts like the showdown's, nine blocks each; of two, a contender is missing or fails."""
    store, found = Store(None), []
    for number, name in enumerate(f"showdown-{part}" for part in PARTS):
        part = experiment(name, blocks=9)
        missing = ("erlang",) if name == "showdown-fanout" else ()
        crashed = {"python-threads": 3} if name == "showdown-fib" else {}
        run = make_run(store, part, seed=SEED + number, unavailable=missing, crashed=crashed)
        found.append(RunAnalysis(run, store.trials(run)))
    return found


def text(parts: list[RunAnalysis]) -> str:
    """Tables and warnings as they are printed."""
    # The ids of runs begin with the time.
    return re.sub(r"\b\d{8}-\d{6}-", "", markdown.render(analyse_suite(parts)) + "\n")


def figures(parts: list[RunAnalysis]) -> str:
    """The first panel of the first plot of each kind."""
    lines: list[str] = []
    kinds = set()
    for part in (*parts, *of_each_kind()):
        for chart in charts(part):
            spec = chart.panels[0].spec
            kind = json.dumps([layer["mark"] for layer in spec["layer"]], sort_keys=True)
            if kind not in kinds:
                kinds.add(kind)
                panels = " | ".join(panel.title for panel in chart.panels)
                lines += [
                    f"{part.experiment.name}: {chart.title}",
                    f"  {chart.caption}",
                    f"  panels: {panels}",
                ]
                lines += [f"  {spec['height']} pixels", *map(layer_line, spec["layer"])]
                lines += [f"  {name}: {compact(rows[0])}" for name, rows in spec["datasets"].items() if rows]
                lines.append("")
    return "\n".join(lines)


def layer_line(layer: dict[str, Any]) -> str:
    """`rule of rows, x: low "Per hop (ns)" log [1, 100]`: what is drawn, and what by."""
    channels = ", ".join(
        f"{channel}: {' '.join(encoded(encoding))}"
        for channel, encoding in layer["encoding"].items()
        if isinstance(encoding, dict)
    )
    return f"  {layer['mark']['type']} of {layer['data']['name']}, {channels}"


def encoded(encoding: dict[str, Any]) -> Iterator[str]:
    """The field or value of a channel, its title, and the kind and the ends of its scale."""
    yield str(encoding.get("field", compact(encoding.get("value"))))
    if encoding.get("title"):
        yield json.dumps(encoding["title"], ensure_ascii=False)
    scale = encoding.get("scale") or {}
    yield from (compact(scale[key]) for key in ("type", "domain", "range") if key in scale)


def compact(value: Any) -> str:
    """JSON on one line, numbers rounded."""
    return json.dumps(rounded(value), ensure_ascii=False)


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


FILES = {"showdown.md": text, "figures.txt": figures}


@pytest.mark.parametrize("name", FILES)
def test_the_showdown_reads_as_it_did(parts: list[RunAnalysis], name: str) -> None:
    golden.check(name, FILES[name](parts))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_first_look_is_short_and_says_nothing_twice(parts: list[RunAnalysis], width: int) -> None:
    out, printed = io.StringIO(), set[str]()
    console = Console(file=out, width=width, highlight=False, markup=False)
    for part in parts:
        terminal.show(part, console, printed)
    tables = len(re.findall(r"^program ", out.getvalue(), re.MULTILINE))
    terminal.show_overview(analyse_suite(parts), console)
    lines = out.getvalue().splitlines()
    points = sum(len(part.points) for part in parts)
    assert max(map(len, lines)) <= width
    # On the narrowest a wide column follows in a grid of its own.
    assert tables == points or width < 80
    sentences = re.findall(r"(?:[^.]|\.\d)+\.(?:\s|$)", " ".join(printed))
    assert len(sentences) == len({*sentences})
    assert len(printed) <= 3 * points
    assert sum(line.startswith("warning: ") for line in lines) <= 2 * points
    assert not re.search(r"\b(trace|repeats|capacity|mode)=|apt-get", out.getvalue())
