"""Makes docs/site/, docs/POSTS.md with its pictures, docs/CLAIMS.md, and README's pictures and findings from
the records in records/: no figure in them is written by hand. A record that is new there needs nothing else.

    .venv/bin/python scripts/results.py            write them
    .venv/bin/python scripts/results.py --check    exit status 1 if they differ from what the records say
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import vl_convert

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import ExaminedClaim, examine, overview, page_of
from ringside.cli import context
from ringside.model.catalogue import Published
from ringside.model.design import Point
from ringside.render import posts
from ringside.render.markdown import escape, table_markdown
from ringside.render.plots.charts import standing_alone
from ringside.render.plots.scatters import overview_panel
from ringside.render.posts.picture import specification
from ringside.render.site.records import Record, record_site
from ringside.render.tables.contenders import claim_summary as claims_summary
from ringside.render.tables.contenders import claim_table as claims_table
from ringside.render.tables.points import published_tables
from ringside.store import record
from ringside.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "records"
SUITE = "posts"
TODAY = "today"
SLEEPERS = "sleepers-million"
DOCS = ROOT / "docs"
SITE = DOCS / "site"
# By the name of a suite: its overview as a picture.
PICTURES = {TODAY: "today.png"}
MADE = "Made by `scripts/results.py` from [the records](../records/README.md); do not edit it by hand."
FINDINGS = 3
BEGIN, END = "<!-- findings of {}: made by scripts/results.py -->", "<!-- end of findings -->"


def read_records(folder: Path = RECORDS) -> dict[str, Record]:
    """All records of a folder, by what was run."""
    catalogue, questions, records = context.catalogue(), context.questions(), {}
    for path in sorted(folder.glob(f"*{record.SUFFIX}")):
        name = path.name.removesuffix(record.SUFFIX)
        store, suite = record.read(path), catalogue.suite(name)
        order = suite.experiments if suite else (name,)
        runs = sorted(store.runs(), key=lambda run: order.index(run.experiment))
        records[name] = Record.of(name, [page_of(store, run) for run in runs], questions)
    return records


def contracts() -> dict[str, str]:
    """The contract of each workload, by its name: the sections of docs/PROTOCOL.md that bear them."""
    sections = re.split(r"^(#{2,3}) (.+)$", (DOCS / "PROTOCOL.md").read_text("utf-8"), flags=re.MULTILINE)
    of_title = dict(zip(sections[2::3], sections[3::3], strict=True))
    return {name: of_title[name].strip() for name in WORKLOADS if name in of_title}


def claims(analyses: Sequence[RunAnalysis], sources: Sequence[Published]) -> str:
    """docs/CLAIMS.md: for each source its experiments, its figures beside today's, its claims and answers."""
    examined = examine(sources, analyses)
    of_posts = [each for each in examined if each.source.name in posts.WRITERS]
    others = [each for each in examined if each not in of_posts]
    parts = [
        "# Claims and figures, then and now",
        MADE,
        f"Claims of the posts: {claims_summary(of_posts)}. Of other sources: {claims_summary(others)}. "
        "[POSTS](POSTS.md) has the posts in prose. `ringside claims` tests the claims with your own runs; "
        "[METHODOLOGY](METHODOLOGY.md#claims) has the rules.",
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
        page = SLEEPERS if runs[0].experiment.name == SLEEPERS else SUITE
        yield f"Now: {names} ([tables and pictures](site/{page}.html))."
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


def published() -> list[Published]:
    """All sources of the catalogue."""
    catalogue = context.catalogue()
    return [catalogue.published(name) for name in catalogue.published_names()]


def documents(records: Mapping[str, Record]) -> dict[Path, bytes]:
    """What each document should say, by the record's names."""
    catalogue, sources = context.catalogue(), published()
    own = ROOT / "README.md"
    text = own.read_text(encoding="utf-8")
    for name in PICTURES:
        text = readme(text, records[name].suite.runs, name)
    tested = [*records[SUITE].suite.runs, *records[SLEEPERS].suite.runs]
    site = record_site(list(records.values()), contracts(), catalogue.contenders()[0])
    return {
        **{SITE / place: content for place, content in site.items()},
        DOCS / "POSTS.md": posts.document(sources, records[SUITE].suite.runs, MADE).encode(),
        DOCS / "CLAIMS.md": claims(tested, sources).encode(),
        own: text.encode(),
    }


def main(arguments: Sequence[str]) -> int:
    records = read_records()
    made = documents(records)
    differing = [path for path, text in made.items() if not path.exists() or path.read_bytes() != text]
    stale = [path for path in SITE.rglob("*") if path.is_file() and path not in made]
    if "--check" in arguments:
        for path in [*differing, *stale]:
            print(
                f"{path.relative_to(ROOT)} is not what the records say: run scripts/results.py",
                file=sys.stderr,
            )
        return 1 if differing or stale else 0
    for path in stale:
        path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    for name, file in PICTURES.items():
        (DOCS / "images" / file).write_bytes(picture(records[name].suite.runs))
    for file, post in posts.pictures(published(), records[SUITE].suite.runs).items():
        svg = vl_convert.vegalite_to_svg(specification(post))
        (DOCS / "images" / file).write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
