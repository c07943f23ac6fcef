from __future__ import annotations

from pathlib import Path

import pytest

from ringside.errors import ReportError
from ringside.render.plots import charts, files
from tests.analyses import analysis, point, scaled

pytestmark = pytest.mark.skipif(charts.missing() is not None, reason="the `report` extra is not installed")
P, Q = point(nodes=10), point(nodes=20)
RUN = analysis({("go", place): {"hop_ns": scaled(1.0)} for place in (P, Q)}, name="ring")


def test_each_plot_as_svg_and_png(tmp_path: Path) -> None:
    written = files.write([RUN], tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        *("01-per-hop-nodes-10.svg", "01-per-hop-nodes-10.png"),
        *("02-per-hop-nodes-20.svg", "02-per-hop-nodes-20.png"),
        *("03-per-hop-of-every-trial-nodes-10.svg", "03-per-hop-of-every-trial-nodes-10.png"),
        *("04-per-hop-of-every-trial-nodes-20.svg", "04-per-hop-of-every-trial-nodes-20.png"),
    ]
    for path in written:
        content = path.read_bytes()
        if path.suffix == ".png":
            assert content.startswith(b"\x89PNG")
        else:
            # Nothing of the page is left, on which it could not look as it does there.
            assert content.startswith(b"<svg")
            assert b"var(--" not in content


def test_files_of_several_runs_have_the_experiment_in_their_names(tmp_path: Path) -> None:
    names = {path.name for path in files.write([RUN, RUN], tmp_path)}
    assert "ring-01-per-hop-nodes-10.svg" in names


def test_a_folder_that_cannot_be_made_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ReportError, match="taken cannot be written: .*; choose another"):
        files.write([RUN], tmp_path / "taken")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "missing", lambda: "vl-convert-python")
    with pytest.raises(ReportError, match="need vl-convert-python: .* extra `report`"):
        files.write([RUN], tmp_path)
