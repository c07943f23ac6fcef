from __future__ import annotations

import csv
import io

import pytest

from ringside.errors import ReportError
from ringside.render.plots import charts
from tests.render.test_plots import everything
from tests.support.analyses import analysis, point, scaled

pytestmark = pytest.mark.skipif(charts.missing() is not None, reason="the `report` extra is not installed")
P, Q = point(nodes=10), point(nodes=20)
RUN = analysis({("go", place): {"hop_ns": scaled(1.0)} for place in (P, Q)}, name="ring")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_each_plot_as_svg_png_and_csv() -> None:
    figures = list(charts.figures([RUN]))
    assert [figure.stem for figure in figures] == [
        "01-per-hop-nodes-10",
        "02-per-hop-nodes-20",
        "03-per-hop-of-every-trial-nodes-10",
        "04-per-hop-of-every-trial-nodes-20",
    ]
    for figure in figures:
        svg, png, table = (figure.files[f"{figure.stem}.{suffix}"] for suffix in ("svg", "png", "csv"))
        assert png.startswith(b"\x89PNG")
        # Nothing of the page is left, on which it could not look as it does there.
        assert svg.startswith(b"<svg")
        assert b"var(--" not in svg
        assert {row["contender"] for row in read(table.decode())} == {"go"}


def test_files_of_several_runs_have_the_experiment_in_their_names() -> None:
    assert next(charts.figures([RUN, RUN])).stem == "ring-01-per-hop-nodes-10"


def test_a_table_has_all_series_and_not_what_only_draws() -> None:
    panels = list(everything())
    for panel in panels:
        series = {name: rows for name, rows in panel.spec["datasets"].items() if name not in charts.MARKS}
        rows = read(charts.figures_as_csv(panel.spec))
        assert len(rows) == sum(map(len, series.values()))
        assert ("series" in rows[0]) == (len([name for name, each in series.items() if each]) > 1)
    [feed, *_] = [panel for panel in panels if "cpu" in panel.spec["datasets"]]
    assert {row["series"] for row in read(charts.figures_as_csv(feed.spec))} == {"open", "cpu", "memory"}


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "missing", lambda: "vl-convert-python")
    with pytest.raises(ReportError, match="need vl-convert-python: .* extra `report`"):
        list(charts.figures([RUN]))
