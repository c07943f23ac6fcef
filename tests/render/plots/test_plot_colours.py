"""The colours of the page: as different as they must be, for the colour-blind too."""

import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ringside.cli import context
from ringside.render.plots.spec import BUNDLED, FLOOR, colour
from tests.support import ROOT

# numpy comes without types here.
Numbers = Any

CSS = (ROOT / "src" / "ringside" / "render" / "html" / "page.css").read_text(encoding="utf-8")
THEMES = {"light": 0, "dark": 1}
PAPERS = re.findall(r"--paper: (#[0-9a-f]{6})", CSS)
DISTINCT = 8
# Differences of CIE 1976: 2.3 is just noticeable side by side, 20 between dots on a page.
MIN_DIFFERENCE = 20.0

# What protanopes and deuteranopes see of linear RGB: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes,
# IEEE Trans. Visualization and Computer Graphics 15 (2009) 1291-1298, severity 1.
SIGHTS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour: str) -> Numbers:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: Numbers) -> Numbers:
    xyz = (_TO_XYZ @ np.clip(rgb, 0, 1)) / _TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def colours(theme: str) -> list[str]:
    return [re.findall(rf"--c{n}: (#[0-9a-f]{{6}})", CSS)[THEMES[theme]] for n in range(len(BUNDLED))]


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_those_that_are_most_often_compared_look_different(theme: str, sight: str) -> None:
    seen = {colour: lab(SIGHTS[sight] @ linear(colour)) for colour in colours(theme)[:DISTINCT]}
    assert len(seen) == DISTINCT
    close = [
        (one, other)
        for one, other in combinations(seen, 2)
        if np.linalg.norm(seen[one] - seen[other]) < MIN_DIFFERENCE
    ]
    assert close == []


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_stands_out_from_the_paper(theme: str) -> None:
    """Three to one, as WCAG 2.1 asks for graphics (1.4.11)."""
    paper = float(_TO_XYZ[1] @ linear(PAPERS[THEMES[theme]]))
    assert len(set(colours(theme))) == len(BUNDLED)
    for each in colours(theme):
        low, high = sorted((paper, float(_TO_XYZ[1] @ linear(each))))
        assert (high + 0.05) / (low + 0.05) >= 3, each


def test_a_contender_has_the_same_colour_in_every_run() -> None:
    assert len({colour(name) for name in BUNDLED}) == len(BUNDLED)
    contenders, _ = context.catalogue().contenders()
    assert {*BUNDLED} <= {one.name for one in contenders}
    assert [colour(name, floor="limit") for name in ("go", "erlang", "limit")] == [
        *("var(--c0)", "var(--c1)", FLOOR),
    ]
    assert colour("go@1.27") == colour("go")
    # Others share the colours.
    assert {colour(f"mine-{number}") for number in range(500)} == {colour(name) for name in BUNDLED}
