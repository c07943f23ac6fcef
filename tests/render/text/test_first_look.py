"""What a first look prints of made-up showdowns: few lines, none twice, at any width."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import analyse_suite
from ringside.render.text import terminal
from tests.render.test_golden import analyses


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[RunAnalysis]:
    return analyses(tmp_path_factory.mktemp("showdown"))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_showdown_is_short_and_says_nothing_twice(parts: list[RunAnalysis], width: int) -> None:
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
    assert not re.search(r"\b(trace|repeats|capacity|mode)=", out.getvalue())
