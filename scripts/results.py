"""Makes docs/RESULTS.md, docs/TODAY.md, docs/SLEEPERS.md, docs/POSTS.md, and README's pictures and findings
from the records in records/: no figure in them is written by hand.

    .venv/bin/python scripts/results.py            write them
    .venv/bin/python scripts/results.py --check    exit status 1 if they differ from what the record says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import vl_convert

from ringside import units
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.suite import ExaminedClaim, analyse_suite, examine, overview
from ringside.cli import context
from ringside.model.catalogue import Published
from ringside.model.design import Point
from ringside.render.heading import heading, machine
from ringside.render.markdown import escape, table_markdown, warning
from ringside.render.plots.charts import standing_alone
from ringside.render.plots.scatters import overview_panel
from ringside.render.tables import part_tables
from ringside.render.tables.contenders import claim_summary as claims_summary
from ringside.render.tables.contenders import claim_table as claims_table
from ringside.render.tables.contenders import contender_table, overview_table
from ringside.render.tables.points import published_tables
from ringside.store import record

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "records"
SUITE = "posts"
# What has a record and a page of its own: the machine and the day differ from the suite's.
TODAY = "today"
SLEEPERS = "sleepers-million"
# By the name of what was run: the page, and its title.
PAGES = {
    SUITE: ("RESULTS.md", "Results"),
    TODAY: ("TODAY.md", "Today's runtimes"),
    SLEEPERS: ("SLEEPERS.md", "A million sleepers"),
}
# By the name of a suite: its overview as a picture.
PICTURES = {TODAY: "today.png"}
MADE = "Made by `scripts/results.py` from [the record](../records/README.md); do not edit it by hand."
FINDINGS = 3
BEGIN, END = "<!-- findings of {}: made by scripts/results.py -->", "<!-- end of findings -->"


def analyses_of(name: str) -> list[RunAnalysis]:
    """The analyses of the record of a suite or an experiment, in the order of the suite."""
    store, suite = record.read(RECORDS / f"{name}{record.SUFFIX}"), context.catalogue().suite(name)
    order = suite.experiments if suite else (name,)
    runs = sorted(store.runs(), key=lambda run: order.index(run.experiment))
    return [analysis_of(store, run) for run in runs]


def results(analyses: Sequence[RunAnalysis], name: str = SUITE) -> str:
    """The page of the record of a suite or an experiment."""
    suite = analyse_suite(analyses)
    begun = min(analysis.run.started_at for analysis in analyses)
    ended = max(analysis.run.ended_at or "?" for analysis in analyses)
    parts = [
        f"# {PAGES[name][1]}",
        MADE
        if name == TODAY
        else f"{MADE} [POSTS](POSTS.md) sets the posts' figures and claims beside them.",
        f"`ringside run {name}`, {begun[:10]}, {begun[11:16]} to {ended[11:16]} UTC, on one machine. "
        f"{escape(machine(analyses[0].run.host))}",
        "Results on other machines will differ; run the commands there. Ratios are from pairs inside blocks, "
        "with 95 % intervals in brackets ([METHODOLOGY](METHODOLOGY.md)). Whom our choices favour is in "
        "[BIAS](BIAS.md).",
        *([table_markdown(overview_table(suite.overview))] if len(analyses) > 1 else []),
    ]
    for analysis in analyses:
        note = " ".join(map(escape, analysis.experiment.note.strip().splitlines()))
        parts += [
            f"## {escape(analysis.experiment.title)}",
            f"`ringside run {analysis.experiment.name}`: {escape(heading(analysis))}",
            *([note] if note else []),
            *(table_markdown(table, 3) for table in part_tables(analysis)),
            *map(warning, analysis.own_diagnostics),
        ]
    parts += [table_markdown(contender_table(*analyses)), *map(warning, suite.machine_diagnostics)]
    return "\n\n".join(parts) + "\n"


def posts(analyses: Sequence[RunAnalysis], sources: Sequence[Published]) -> str:
    """docs/POSTS.md: for each source its experiments, its figures beside today's, its claims and answers."""
    examined = examine(sources, analyses)
    parts = [
        "# The posts, then and now",
        MADE,
        f"Claims of all sources: {claims_summary(examined)}. `ringside claims` tests them with your own "
        "runs; [METHODOLOGY](METHODOLOGY.md#claims) has the rules.",
    ]
    for source in sorted(sources, key=lambda source: source.date):
        own = [each for each in examined if each.source.name == source.name]
        runs = [each for each in analyses if _belongs(each, source)]
        if own or runs:
            parts += _post(source, own, runs)
    return "\n\n".join(parts) + "\n"


def _belongs(analysis: RunAnalysis, source: Published) -> bool:
    return analysis.plan.published is not None and analysis.plan.published.name == source.name


def _post(source: Published, claims: Sequence[ExaminedClaim], runs: Sequence[RunAnalysis]) -> Iterator[str]:
    yield f"## {escape(source.title)} ({escape(source.date)})"
    facts = [fact for fact in (source.hardware, source.metric_note) if fact]
    if facts:
        yield escape(f"Then: {'; '.join(facts)}.")
    if runs:
        names = ", ".join(f"`ringside run {run.experiment.name}`" for run in runs)
        page = PAGES.get(runs[0].experiment.name, PAGES[SUITE])[0]
        yield f"Now: {names} ([{page.removesuffix('.md')}]({page}))."
    if claims:
        yield table_markdown(claims_table(claims), 3)
    for run in runs:
        for table in published_tables(run):
            yield f"`ringside run {run.experiment.name}`"
            yield table_markdown(table, 3)


def findings(analyses: Sequence[RunAnalysis]) -> str:
    """README's strongest findings: of each problem the widest gap between two contenders that no other rank
    explains, the widest of all first."""
    widest: dict[str, tuple[float, str]] = {}
    for analysis in analyses:
        for gap in _gaps(analysis):
            problem = analysis.measurement.name
            widest[problem] = max(widest.get(problem, gap), gap)
    strongest = sorted(widest.values(), reverse=True)[:FINDINGS]
    return "\n".join(f"- {text}" for _, text in strongest)


def _gaps(analysis: RunAnalysis) -> Iterator[tuple[float, str]]:
    for point in analysis.points:
        ranking = analysis.rankings[analysis.headline.name, point]
        # Ranks are inside a class; what is tuned by hand is no choice that anybody has.
        kind = analysis.kind(ranking.order[0])
        own = [name for name in ranking.order if analysis.kind(name) == kind]
        names = [name for name in own if name in ranking.ranks and name != analysis.floor]
        if len(names) > 1 and ranking.ranks[names[0]][1] < ranking.ranks[names[-1]][0]:
            yield _gap(analysis, point, names[0], names[-1])


def _gap(analysis: RunAnalysis, point: Point, best: str, worst: str) -> tuple[float, str]:
    metric = analysis.headline
    values = {name: analysis.cell(name, point).metrics[metric.name] for name in (best, worst)}
    ratio = values[worst].estimate / values[best].estimate
    times = ratio if metric.smaller_is_better else 1 / ratio
    where = f" at {analysis.label(point)}" if len(analysis.points) > 1 else ""
    best_text, worst_text = (units.with_interval(values[name], metric.unit) for name in (best, worst))
    apart = analysis.behind_best[point].get(worst)
    size = f", {' ('.join(units.times(apart))})" if apart and apart.low else ""
    text = (
        f"**{analysis.measurement.title}**, {metric.noun}{where}: {best} {best_text}, {worst} {worst_text}"
        f"{size}. `ringside run {analysis.experiment.name}`"
    )
    return times, text


def picture(analyses: Sequence[RunAnalysis]) -> bytes:
    """The overview as a PNG."""
    panel = overview_panel(overview(analyses))
    svg = vl_convert.vegalite_to_svg(standing_alone(panel, panel.title))
    return vl_convert.svg_to_png(svg, scale=2)


def readme(text: str, analyses: Sequence[RunAnalysis], name: str = TODAY) -> str:
    """README with its findings of a suite replaced."""
    begin = BEGIN.format(name)
    block = f"{begin}\n{findings(analyses)}\n{END}"
    replaced, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"README.md must have one `{begin}` and one `{END}` behind it")
    return replaced


def documents(records: Mapping[str, Sequence[RunAnalysis]]) -> dict[Path, str]:
    """What each document should say, by what was run."""
    catalogue = context.catalogue()
    sources = [catalogue.published(name) for name in catalogue.published_names()]
    own = ROOT / "README.md"
    text = own.read_text(encoding="utf-8")
    for name in PICTURES:
        text = readme(text, records[name], name)
    return {
        **{ROOT / "docs" / page: results(records[name], name) for name, (page, _) in PAGES.items()},
        ROOT / "docs" / "POSTS.md": posts([*records[SUITE], *records[SLEEPERS]], sources),
        own: text,
    }


def main(arguments: Sequence[str]) -> int:
    records = {name: analyses_of(name) for name in PAGES}
    made = documents(records)
    differing = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in differing:
            print(
                f"{path.relative_to(ROOT)} is not what the record says: run scripts/results.py",
                file=sys.stderr,
            )
        return 1 if differing else 0
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    for name, file in PICTURES.items():
        (ROOT / "docs" / "images" / file).write_bytes(picture(records[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
