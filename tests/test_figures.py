from __future__ import annotations

from pathlib import Path

import pytest

from ringside.analysis.summary import of_run
from ringside.errors import ReportError
from ringside.render.plots import charts
from ringside.render.plots import files as figures
from ringside.store import Store
from tests import runs

pytestmark = pytest.mark.skipif(charts.missing() is not None, reason="the `report` extra is not installed")


def test_each_plot_as_svg_and_png(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    summary = of_run(store, runs.make_run(store, runs.experiment("feed-quick", blocks=1)))
    written = figures.write([summary], tmp_path / "made" / "here")
    panels = sum(len(chart.panels) for chart in charts.charts(summary))
    assert len(written) == len(set(written)) == 2 * panels
    for path in written:
        data = path.read_bytes()
        if path.suffix == ".png":
            assert data.startswith(b"\x89PNG")
        else:
            # Nothing of the page is left, on which it could not look as it does there.
            assert data.startswith(b"<svg")
            assert b"var(--" not in data
    assert any(path.name.endswith("time-line-go.svg") for path in written)


def test_a_folder_that_cannot_be_made_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    store = Store(tmp_path / "store.sqlite")
    summary = of_run(store, runs.make_run(store, runs.experiment(blocks=0)))
    with pytest.raises(ReportError, match="taken cannot be written: .*; choose another"):
        figures.write([summary], tmp_path / "taken")
