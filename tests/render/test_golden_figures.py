"""What the plots of a showdown are made of: one plot of each kind, from the made-up trials of
`tests/render/test_golden.py`, a line for each layer and the first row of each table of data.
`.venv/bin/python -m tests.render.test_golden_figures` writes it anew."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.render.plots.charts import charts
from tests.render import test_golden
from tests.support import TESTS

FILE = TESTS / "golden" / "figures.txt"
# More than a machine's own arithmetic changes.
DIGITS = 6


def text(parts: list[RunAnalysis]) -> str:
    """The first panel of the first plot of each kind."""
    lines: list[str] = []
    kinds = set()
    for part in parts:
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


def test_the_figures_of_the_showdown_are_what_they_were(tmp_path: Path) -> None:
    made = text(test_golden.analyses(tmp_path)).splitlines()
    kept = FILE.read_text(encoding="utf-8").splitlines()
    hint = "read the difference; if it is meant: .venv/bin/python -m tests.render.test_golden_figures"
    assert made == kept, hint


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(text(test_golden.analyses(Path(folder))), encoding="utf-8")
