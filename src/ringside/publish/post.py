"""A post: a folder with `post.md`, the plots, the data and a badge."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.publish.badge import badge
from ringside.publish.data import as_bytes, file_name, published
from ringside.publish.folder import Folder
from ringside.render import csv, heading
from ringside.render.answers import answers
from ringside.render.command import command
from ringside.render.markdown import escape, table_markdown, warning
from ringside.render.plots import files as plot_files
from ringside.render.plots.charts import missing
from ringside.render.tables import part_tables
from ringside.render.tables.contenders import contender_table


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write the folder, or write it again; the paths of what was written. Raises ReportError, before anything
    is written where the folder holds files of others."""
    folder = Folder.open(path, "post")
    files: dict[str, bytes] = {}
    parts = [f"# {escape(_title(analyses))}", ""]
    for number, analysis in enumerate(analyses, 1):
        plots = _plots(analysis, number if len(analyses) > 1 else None)
        files |= plots
        parts += _section(analysis, [name for name in plots if name.endswith(".svg")], len(analyses) > 1)
        name = file_name(analysis.run.id)
        files[f"data/{name}.json"] = as_bytes(published(analysis))
        files[f"data/{name}.csv"] = csv.render(analysis).encode()
        files[f"badges/{file_name(analysis.experiment.name)}.svg"] = badge(analysis).encode()
    parts += [table_markdown(contender_table(*analyses)), ""]
    parts += ["## How it was measured", ""]
    for machine in dict.fromkeys(heading.machine(analysis.run.host) for analysis in analyses):
        parts += [f"On {escape(machine)}.", ""]
    parts += ["The same again:", "", "```"]
    parts += list(dict.fromkeys(command(analysis) for analysis in analyses))
    parts += ["```", "", "The figures are in the folder `data`.", ""]
    files["post.md"] = "\n".join(parts).encode()
    folder.write(files, {"runs": [analysis.run.id for analysis in analyses]})
    return sorted(files)


def _title(analyses: Sequence[RunAnalysis]) -> str:
    return " · ".join(dict.fromkeys(analysis.experiment.title for analysis in analyses))


def _section(analysis: RunAnalysis, plots: Sequence[str], several: bool) -> list[str]:
    parts = (
        [f"## {escape(analysis.experiment.title)} ({analysis.run.started_at[:10]})", ""] if several else []
    )
    if note := analysis.experiment.note.strip():
        parts += [escape(" ".join(note.split())), ""]
    parts += [" ".join(f"{escape(sentence.text)}." for sentence in answers(analysis)), ""]
    if analysis.run.ended_at is None:
        parts += ["**Interim:** the run has not ended.", ""]
    for plot in plots:
        title = Path(plot).stem.split("-", 1)[1].replace("-", " ")
        parts += [f"![{escape(title)}]({plot})", ""]
    for table in part_tables(analysis):
        parts += [table_markdown(table, 3), ""]
    for weak_point in analysis.diagnostics:
        parts += [warning(weak_point), ""]
    parts += [escape(heading.heading(analysis)) + ".", ""]
    return parts


def _plots(analysis: RunAnalysis, number: int | None) -> dict[str, bytes]:
    """The plots as SVG and PNG, by path; none where the package that draws them is missing."""
    if missing():
        return {}
    folder = "plots" if number is None else f"plots/{number:02}"
    with tempfile.TemporaryDirectory() as temporary:
        written = plot_files.write([analysis], Path(temporary))
        return {f"{folder}/{path.name}": path.read_bytes() for path in written}
