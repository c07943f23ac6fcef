"""A post: a folder with `post.md`, and the plots, data and badges of its runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import analyse_suite
from ringside.model.results import Answer
from ringside.render.html.page import commands, title
from ringside.render.plots.charts import figures, missing
from ringside.render.site.folder import Folder
from ringside.render.site.site import TEMPLATES, badge, data_files, file_name
from ringside.render.text import words
from ringside.render.text.contenders import claim_table, contender_table
from ringside.render.text.markdown import rendered

# A post of one run shows each chart by its first panel; one of several runs shows this many charts of each
# run. Links lead to the other panels.
_CHARTS_OF_SEVERAL = 2


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write or rewrite the folder; its paths. Raises ReportError before it would touch files of others."""
    folder, several = Folder(path, "post"), len(analyses) > 1
    files: dict[str, bytes] = {}
    parts = []
    for number, analysis in enumerate(analyses, 1):
        plots = [] if missing() else list(figures([analysis]))
        place = f"plots/{number:02}" if several else "plots"
        files |= {f"{place}/{name}": data for plot in plots for name, data in plot.files.items()}
        files |= data_files(analysis)
        files[f"badges/{file_name(analysis.experiment.name)}.svg"] = badge(analysis)
        charts = [list(panels) for _, panels in itertools.groupby(plots, lambda plot: id(plot.chart))]
        parts.append({"analysis": analysis, "place": place, "charts": charts})
    suite = analyse_suite(analyses) if several else None
    tested = [
        each for each in (suite.claims if suite else ()) if each.finding.answer is not Answer.NOT_TESTED
    ]
    text = rendered(
        TEMPLATES / "post.md.j2",
        title=title(analyses),
        suite=suite,
        claims=claim_table(tested),
        parts=parts,
        most_charts=_CHARTS_OF_SEVERAL,
        contenders=contender_table(*analyses),
        machines=dict.fromkeys(words.machine(analysis.run.host) for analysis in analyses),
        commands=commands(analyses),
    )
    return folder.write({**files, "post.md": text.encode()})
