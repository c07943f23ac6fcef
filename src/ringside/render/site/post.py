"""A post: a folder with `post.md`, and the plots, data and badges of its runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis, analyse_suite
from ringside.model.results import Answer
from ringside.render.html.page import commands, title
from ringside.render.plots.charts import PanelFiles, figures, missing
from ringside.render.site.folder import Folder
from ringside.render.site.site import badge, data_files, file_name
from ringside.render.text import words
from ringside.render.text.answers import answer_text
from ringside.render.text.contenders import claim_table, contender_table, overview_table
from ringside.render.text.markdown import escape, table_markdown, warning
from ringside.render.text.tables import tables

# Of one run each chart is shown by its first panel, of several runs only so many charts of each; the other
# panels are links.
_CHARTS_OF_SEVERAL = 2


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write the folder, or write it again; the paths of what was written. Raises ReportError, before anything
    is written where the folder holds files of others."""
    folder, several = Folder(path, "post"), len(analyses) > 1
    files: dict[str, bytes] = {}
    parts = [f"# {escape(title(analyses))}", *(_front(analyse_suite(analyses)) if several else ())]
    for number, analysis in enumerate(analyses, 1):
        plots = [] if missing() else list(figures([analysis]))
        place = f"plots/{number:02}" if several else "plots"
        files |= {f"{place}/{name}": data for plot in plots for name, data in plot.files.items()}
        files |= data_files(analysis)
        files[f"badges/{file_name(analysis.experiment.name)}.svg"] = badge(analysis)
        parts += _section(analysis, plots, place, several=several)
    machines = dict.fromkeys(words.machine(analysis.run.host) for analysis in analyses)
    parts += [
        table_markdown(contender_table(*analyses)),
        "## How it was measured",
        *(f"On {escape(machine)}." for machine in machines),
        "The same again:",
        "\n".join(["```", *commands(analyses), "```"]),
        "The figures are in the folder `data`.",
    ]
    files["post.md"] = ("\n\n".join(parts) + "\n").encode()
    return folder.write(files)


def _front(suite: SuiteAnalysis) -> list[str]:
    """Of several runs the answers, the overview, and the claims that they test."""
    runs = [column.analysis for column in suite.overview.columns]
    tested = [each for each in suite.claims if each.finding.answer is not Answer.NOT_TESTED]
    return [
        "\n".join(f"- **{escape(run.experiment.title)}:** {escape(answer_text(run))}" for run in runs),
        table_markdown(overview_table(suite.overview)),
        *([table_markdown(claim_table(tested))] if tested else []),
    ]


def _section(analysis: RunAnalysis, plots: Sequence[PanelFiles], place: str, *, several: bool) -> list[str]:
    """`place`: the folder of the plots, as the post refers to it."""
    by_chart = [list(panels) for _, panels in itertools.groupby(plots, lambda plot: id(plot.chart))]
    shown, rest = by_chart, []
    parts = []
    if several:
        shown, rest = by_chart[:_CHARTS_OF_SEVERAL], by_chart[_CHARTS_OF_SEVERAL:]
        parts.append(f"## {escape(analysis.experiment.title)} ({analysis.run.started_at[:10]})")
    if note := analysis.experiment.note.strip():
        parts.append(escape(" ".join(note.split())))
    parts.append(escape(answer_text(analysis)))
    if analysis.run.ended_at is None:
        parts.append("**Interim:** the run has not ended.")
    for first, *others in shown:
        chart, panel = first.chart, first.panel.title
        parts.append(f"### {escape(f'{chart.title}, {panel}' if others else chart.title)}")
        parts.append(escape(chart.caption))
        parts.append(f"![{escape(chart.title)}: {escape(panel)}]({place}/{first.stem}.svg)")
        if others:
            parts.append(f"The same for {_links(place, {each.stem: each.panel.title for each in others})}.")
    if rest:
        parts.append(f"More plots: {_links(place, {each.stem: each.chart.title for each, *_ in rest})}.")
    return [
        *parts,
        *(table_markdown(table, 3) for table in tables(analysis, is_part=True)),
        *map(warning, analysis.diagnostics),
        f"{escape(words.heading(analysis))}.",
    ]


def _links(place: str, titles: dict[str, str]) -> str:
    """Links to plots, whose titles are given by the stems of their files."""
    return ", ".join(f"[{escape(text)}]({place}/{stem}.svg)" for stem, text in titles.items())
