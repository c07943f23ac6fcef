"""What the plots of a showdown are made of: the specification of one plot of each kind, from the made-up
trials of `tests/render/test_golden.py`. Of each table of data the first and the last row stand here.
`.venv/bin/python -m tests.render.test_golden_figures` writes it anew."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.render.plots.charts import charts
from tests.render import test_golden
from tests.support import TESTS

FILE = TESTS / "golden" / "figures.json"
# More than a machine's own arithmetic changes.
DIGITS = 6


def text(parts: list[RunAnalysis]) -> str:
    """The first panel of the first plot of each kind, as JSON."""
    figures: dict[str, Any] = {}
    kinds = set()
    for part in parts:
        for chart in charts(part):
            panel = chart.panels[0]
            kind = json.dumps([layer["mark"] for layer in panel.spec.get("layer", [])], sort_keys=True)
            if kind in kinds:
                continue
            kinds.add(kind)
            figure = {
                "experiment": part.experiment.name,
                "caption": chart.caption,
                "panels": [each.title for each in chart.panels],
                "spec": plain(panel.spec),
            }
            figures[f"{part.experiment.name}: {chart.title}"] = figure
    return json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def plain(value: Any, key: str = "") -> Any:
    """The same with rounded numbers and short tables of data."""
    if key == "datasets":
        return {name: plain(ends(rows)) for name, rows in value.items()}
    if isinstance(value, dict):
        return {name: plain(each, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def ends(rows: list[Any]) -> list[Any]:
    return rows if len(rows) <= 2 else [rows[0], rows[-1]]


def test_the_figures_of_the_showdown_are_what_they_were(tmp_path: Path) -> None:
    made = text(test_golden.analyses(tmp_path)).splitlines()
    kept = FILE.read_text(encoding="utf-8").splitlines()
    hint = "read the difference; if it is meant: .venv/bin/python -m tests.render.test_golden_figures"
    assert made == kept, hint


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(text(test_golden.analyses(Path(folder))), encoding="utf-8")
