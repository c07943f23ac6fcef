"""The plots of runs as a folder of files, with a list of what is Ringside's in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.publish.folder import Folder
from ringside.render.plots.files import figures


def write_figures(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write each plot as SVG, PNG and CSV into a folder, which is made; the names of the files. Files of
    others may be in the folder. Raises ReportError, before anything is written where one of them has a name
    of ours."""
    folder = Folder.open(path, "figures", beside_others=True)
    files = {name: data for figure in figures(analyses) for name, data in figure.files.items()}
    folder.write(files, {})
    return sorted(files)
