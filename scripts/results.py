"""Makes docs/site/, docs/POSTS.md with its pictures, docs/CLAIMS.md, README's table, and the findings and
picture of docs/RUNTIMES.md from the records in records/: no figure in them is written by hand. A new
record needs nothing else.

    .venv/bin/python scripts/results.py            write them
    .venv/bin/python scripts/results.py --check    exit status 1 if they differ from what the records say
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import vl_convert

from ringside import units
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.suite import judge_claims, overview
from ringside.cli import context
from ringside.model.catalogue import Published
from ringside.model.design import Cell
from ringside.model.results import Interval
from ringside.render.plots.charts import standing_alone
from ringside.render.text.contenders import claim_summary as claims_summary
from ringside.render.text.markdown import escape
from ringside.render.text.words import verdict_text
from ringside.store import record
from ringside.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts import blocks, post_pictures, posts  # noqa: E402
from scripts.records_site import Record, Site  # noqa: E402

RECORDS = ROOT / "records"
# Records of the same experiments on older runtimes: they show what depends on a version.
OLDER = RECORDS / "older"
SUITE = "posts"
TODAY = "today"
SLEEPERS = "sleepers-million"
# Records of a part of the suite on another host, with further programs, and of one block of its longest hold.
ELSEWHERE = ("posts-fib", "feed-long")
DOCS = ROOT / "docs"
SITE = DOCS / "site"
# The picture of a suite's overview, by the suite's name.
PICTURES = {TODAY: "today.png"}
MADE = "Made by `scripts/results.py` from [the records](../records/README.md); do not edit it by hand."


@cache
def read_records(folder: Path = RECORDS) -> dict[str, Record]:
    """All records of a folder, by the name of their suite or experiment."""
    catalogue, questions, records = context.catalogue(), context.questions(), {}
    for path in sorted(folder.glob(f"*{record.SUFFIX}")):
        name = path.name.removesuffix(record.SUFFIX)
        store, suite = record.read(path), catalogue.suite(name)
        # An experiment at the size of its post can replace a part of the suite, or be added to it.
        order = (*suite.experiments, *suite.full) if suite else (name,)
        runs = sorted(store.runs(), key=lambda run: order.index(run.experiment))
        records[name] = Record.of(name, [analysis_of(store, run) for run in runs], questions)
    return records


def contracts() -> dict[str, str]:
    """The contract of each workload by name: its sections of docs/PROTOCOL.md, each after the terms that it
    uses."""
    page = re.sub(r"<a id=.*?></a>", "", (DOCS / "PROTOCOL.md").read_text("utf-8"))
    sections = re.split(r"^(#{2,3}) (.+)$", page, flags=re.MULTILINE)
    of_title = dict(zip(sections[2::3], sections[3::3], strict=True))
    terms, servers = of_title["The workloads"], of_title["Servers: fib, fanout, feed"]
    return {
        name: ((servers if name in ("fib", "fanout", "feed") else terms) + of_title[name]).strip()
        for name in WORKLOADS
        if name in of_title
    }


def claims(analyses: Sequence[RunAnalysis], sources: Sequence[Published]) -> str:
    """docs/CLAIMS.md: for each source with runs, the number of its claims by answer, and a link to each
    claim."""
    examined = judge_claims(sources, analyses)
    of_posts = [each for each in examined if each.source.name in posts.POSTS]
    others = [each for each in examined if each not in of_posts]
    rows = ["| source | answers | details |", "|---|---|---|"]
    for source in sorted(sources, key=lambda source: source.date):
        runs = [run for run in analyses if run.plan.published and run.plan.published.name == source.name]
        if not runs:
            continue
        page = SLEEPERS if runs[0].experiment.name == SLEEPERS else SUITE
        own = claims_summary([each for each in examined if each.source.name == source.name])
        title = f"[{escape(f'{source.title} ({source.date})')}](../published/{source.name}.toml)"
        rows.append(f"| {title} | {own} | [site](site/{page}.html#claims) |")
    return (
        "\n\n".join(
            [
                "# Claims of the sources, tested",
                MADE,
                f"Claims of the posts: {claims_summary(of_posts)}. "
                f"Of other sources: {claims_summary(others)}.",
                "The site shows each claim with its answer, figure and experiment; so does `ringside claims "
                "--store records/posts.json.xz` (for the million tasks: `records/sleepers-million.json.xz`). "
                "After `ringside run EXPERIMENT`, `ringside claims` tests the claims with your own runs. "
                "[RULES](RULES.md#claims) explains the answers.",
                "\n".join(rows),
            ]
        )
        + "\n"
    )


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of one contender at a point to another contender, or to itself at another point: `CONTENDER
    at LABEL`, or `CONTENDER` if there is only one point. Unless the whole interval lies between `least` and
    `most`, the sentence that uses the ratio no longer holds."""

    one: str
    other: str
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of docs/RUNTIMES.md. `{NAME}` in it stands for the ratio with this name, from pairs in
    blocks."""

    record: str
    experiment: str
    metric: str
    ratios: Mapping[str, Ratio]
    text: str

    def sentence(self, analysis: RunAnalysis) -> str:
        values = {name: self.value(analysis, name) for name in self.ratios}
        written = {name: shown(value) for name, value in values.items()}
        return f"- {self.text.format_map(written)} `ringside run {self.experiment}`"

    def value(self, analysis: RunAnalysis, name: str) -> Interval:
        return ratio_in(analysis, self.metric, self.ratios[name])


def ratio_in(analysis: RunAnalysis, metric: str, of: Ratio) -> Interval:
    """Raises SystemExit if the record does not show what the sentence says."""
    points = {point.label(analysis.varying): point for point in analysis.points}
    one, other = (
        (contender, points[label] if label else analysis.points[0])
        for contender, _, label in (side.partition(" at ") for side in (of.one, of.other))
    )
    ratio = posts.ratio_of(analysis, metric, one, other)
    whole = ratio is not None and ratio.low is not None and ratio.high is not None
    if ratio is None or not whole or not of.least <= (ratio.low or 0) <= (ratio.high or 0) <= of.most:
        raise SystemExit(
            f"docs/RUNTIMES.md: {analysis.experiment.name} does not show {of.one} over {of.other} "
            f"between {of.least} and {of.most}"
        )
    return ratio


def shown(ratio: Interval) -> str:
    # If both ends look the same as the estimate, they are left out.
    return re.sub(r"^(\S+) \(\1–\1\)$", r"\1", units.ratio(ratio))


_SHARED = "accounts=1000 every=1000 hot=0 cores=2"
FINDINGS = (
    Finding(
        "posts",
        "posts-batch",
        "wall_s",
        {
            name: Ratio(f"{name} at cases=20000 cores=1", f"{name} at cases=20000 cores=2", least, most)
            for name, least, most in [
                ("python-sync", 0.9, 1.1),
                ("python-processes", 1.3, 2.2),
                ("go", 1.3, 2.1),
                ("erlang", 1.1, 2.1),
            ]
        },
        "**A second core** does nothing for a single Python loop ({python-sync} times the speed) "
        "and nearly doubles a pool of processes ({python-processes}), goroutines ({go}) and "
        "Erlang's processes ({erlang}). *Caveat:* one thread reads the whole file.",
    ),
    Finding(
        "questions",
        "questions-waiting",
        "held_bytes",
        {
            name: Ratio(name, "go", least, most)
            for name, least, most in [
                ("c-pthreads", 5.0, math.inf),
                ("java-virtual-threads", 1.5, math.inf),
                ("python-asyncio", 0.8, 1.25),
                ("rust-tokio", 0.0, 0.5),
            ]
        },
        "**A waiting task**: a C thread costs {c-pthreads} times the memory of a goroutine, a virtual "
        "thread of Java {java-virtual-threads} times, a Python coroutine {python-asyncio} times, a Tokio "
        "task {rust-tokio} times, kernel included. *Caveat:* the tasks hold little data, and the runtimes "
        "themselves count.",
    ),
    Finding(
        "questions",
        "questions-delay",
        "short_p99_s",
        {
            name: Ratio(name, "go", least)
            for name, least in [("node", 2.0), ("python-asyncio", 4.0), ("gevent", 4.0)]
        },
        "**A long computation** delays everything else on its thread. While another connection requests "
        "fib(30), short requests have {node} times Go's p99 in Node, {python-asyncio} times in asyncio and "
        "{gevent} times in gevent. Go and Erlang pre-empt the computation. *Caveat:* one core, without a "
        "pool of workers.",
    ),
    Finding(
        "questions",
        "questions-message",
        "hop_ns",
        {
            name: Ratio(
                f"{name} at mode=pipelined capacity=own", f"{name} at mode=pipelined capacity=1000", least
            )
            for name, least in [("go", 2.0), ("c-pthreads", 2.0)]
        },
        "**A queue's bound** changes the cost of a message severalfold. Go passes messages {go} times "
        "slower through an unbuffered channel, its default, than through one with 1,000 slots; C's threads "
        "are {c-pthreads} times slower with 30 slots than with 1,000. *Caveat:* where one message is under "
        "way at a time, the bound does not matter.",
    ),
    Finding(
        "questions",
        "questions-sharing",
        "transfer_ns",
        {
            name: Ratio(f"{name}@owner at {_SHARED}", f"{name} at {_SHARED}", least)
            for name, least in [("go", 3.0), ("rust-tokio", 2.0)]
        },
        "**Shared state**: if one goroutine owns a thousand accounts, a transfer takes {go} times as long as "
        "with a lock for each account; if one Tokio task owns them, {rust-tokio} times. *Caveat:* the sum of "
        "all thousand accounts comes sooner from the owner.",
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of docs/RUNTIMES.md: a ratio that several experiments of the records give, and the reason why
    they differ. Each figure is a record, an experiment, a metric and the ratio."""

    what: str
    figures: Sequence[tuple[str, str, str, Ratio]]
    why: str

    def row(self, runs: Mapping[tuple[str, str], RunAnalysis]) -> str:
        figures = (
            f"{shown(ratio_in(runs[record, experiment], metric, of))} in `{experiment}`"
            for record, experiment, metric, of in self.figures
        )
        return f"| {self.what} | {', '.join(figures)} | {self.why} |"


PAIRS = (
    Pair(
        "time of Go on one core over that on two",
        [
            (
                "posts",
                "posts-batch",
                "wall_s",
                Ratio("go at cases=20000 cores=1", "go at cases=20000 cores=2"),
            ),
            (
                "posts",
                "batch-cores",
                "wall_s",
                Ratio("go at cases=200000 cores=1", "go at cases=200000 cores=2"),
            ),
            ("questions", "questions-cores", "work_s", Ratio("go at cores=1", "go at cores=2")),
        ],
        "20,000 calculations; 200,000, as in POSTS; 2,000 without the program's start",
    ),
    Pair(
        "p99 of short requests, asyncio over Go",
        [
            ("questions", "questions-delay", "short_p99_s", Ratio("python-asyncio", "go")),
            ("posts", "fib-mixed", "short_p99_s", Ratio("python-asyncio", "go")),
        ],
        "two hosts; POSTS has the second",
    ),
    Pair(
        "memory per connection, Java's virtual threads over Go",
        [
            (
                "questions",
                "questions-connections",
                "bytes_per_connection",
                Ratio("java-virtual-threads", "go"),
            ),
            ("today", "today-feed", "bytes_per_connection", Ratio("java-virtual-threads", "go")),
        ],
        "the second includes what a thousand closed connections left behind",
    ),
)


def unexplained(quoted: Iterable[posts.Quoted]) -> list[str]:
    """A line for each ratio in a finding that docs/POSTS.md also quotes, but from another experiment, unless
    `PAIRS` says why the two differ."""
    explained = {
        (experiment, metric, sides(of.one, of.other))
        for pair in PAIRS
        for _, experiment, metric, of in pair.figures
    }
    catalogue, lines = context.catalogue(), []
    for finding in FINDINGS:
        workload = catalogue.experiment(finding.experiment).workload
        for of in finding.ratios.values():
            same = (finding.metric, sides(of.one, of.other))
            lines += [
                f"docs/RUNTIMES.md has {of.one} over {of.other} ({finding.metric}) from "
                f"{finding.experiment}, docs/POSTS.md from {each.experiment}: add them to PAIRS"
                for each in quoted
                if (each.workload, each.metric, sides(each.above, each.below)) == (workload, *same)
                and each.experiment != finding.experiment
                and not {(each.experiment, *same), (finding.experiment, *same)} <= explained
            ]
    return lines


def sides(one: str, other: str) -> tuple[str, ...]:
    """The two contenders of a ratio, in either order."""
    return tuple(sorted(side.partition(" at ")[0] for side in (one, other)))


# The rows of README's table: contenders of `questions-waiting`, with names for readers.
WAITING = {
    "rust-tokio": "Rust (Tokio tasks)",
    "go": "Go (goroutines)",
    "python-asyncio": "Python (asyncio)",
    "java-virtual-threads": "Java (virtual threads)",
    "c-pthreads": "C (threads)",
}


def waiting(records: Mapping[str, Record]) -> str:
    """README's table: the memory of waiting tasks."""
    (run,) = (part for part in records["questions"].suite.runs if part.experiment.name == "questions-waiting")
    (point,) = run.points
    compared = run.comparisons[run.headline.name, point]
    rows = ["| runtime | memory | vs Go | verdict |", "|---|---:|---:|---|"]
    for name, shown in WAITING.items():
        cell = run.cells[Cell(name, point)].metrics[run.headline.name]
        memory = units.with_interval(cell, run.headline.unit)
        each = compared.get((name, "go"))
        ratio = (
            f"{units.ratio(each.ratio)} | {verdict_text(each, run.headline, run.experiment.margin)}"
            if each
            else "1 | baseline"
        )
        rows.append(f"| {shown} | {memory} | {ratio} |")
    return "\n".join(rows)


def findings(records: Mapping[str, Record]) -> str:
    """The findings of docs/RUNTIMES.md about models, and the ratios that other experiments give too."""
    runs = {(name, run.experiment.name): run for name, record in records.items() for run in record.suite.runs}
    sentences = [each.sentence(runs[each.record, each.experiment]) for each in FINDINGS]
    rows = ["| the same ratio elsewhere | figures | why they differ |", "|---|---|---|"]
    return "\n".join([*sentences, "", *rows, *(pair.row(runs) for pair in PAIRS)])


def picture(analyses: Sequence[RunAnalysis]) -> bytes:
    """The overview as a PNG."""
    panel = post_pictures.overview_panel(overview(analyses))
    svg = vl_convert.vegalite_to_svg(standing_alone(panel, panel.title))
    return vl_convert.svg_to_png(svg, scale=2)


def published() -> list[Published]:
    """All sources of the catalogue."""
    catalogue = context.catalogue()
    return [catalogue.published(name) for name in catalogue.published_names()]


def strangers(records: Mapping[str, Record], sources: Sequence[Published]) -> list[str]:
    """A line for each run that was planned with other figures of a source than the catalogue has now. Its
    tables would differ from the prose."""
    figures = {source.name: source.figures for source in sources}
    return [
        f"records/{name}{record.SUFFIX}: {run.run.id} ({run.experiment.name}) was planned with other figures "
        f"of published/{kept.name}.toml than it has: measure it again, or restore the file"
        for name, each in records.items()
        for run in each.suite.runs
        if (kept := run.plan.published) is not None and figures.get(kept.name) != kept.figures
    ]


def documents(records: Mapping[str, Record], own_posts: Mapping[str, posts.Post]) -> dict[Path, bytes]:
    """The content of each document by path. `records`: by name."""
    catalogue, sources = context.catalogue(), published()
    made = {ROOT / "README.md": waiting(records), DOCS / "RUNTIMES.md": findings(records)}
    own = {
        path: blocks.replaced(path.read_text(encoding="utf-8"), "results.py", text).encode()
        for path, text in made.items()
    }
    tested = [*records[SUITE].suite.runs, *records[SLEEPERS].suite.runs]
    site = Site(records.values(), contracts(), catalogue.contenders()[0]).files()
    titles = {name: drawn.title for name, drawn in post_pictures.pictures(own_posts).items()}
    page = posts.document(own_posts, MADE, titles)
    if lines := unexplained([each for post in own_posts.values() for each in post.quoted]):
        raise SystemExit("\n".join(lines))
    return {
        **{SITE / place: content for place, content in site.items()},
        DOCS / "POSTS.md": page.encode(),
        DOCS / "CLAIMS.md": claims(tested, sources).encode(),
        **own,
    }


def posts_of(records: Mapping[str, Record]) -> dict[str, posts.Post]:
    older = read_records(OLDER)[SUITE].suite.runs
    elsewhere = [run for name in ELSEWHERE for run in records[name].suite.runs]
    return posts.posts_of(published(), records[SUITE].suite.runs, older, elsewhere)


def main(arguments: Sequence[str]) -> int:
    records = read_records()
    if lines := strangers(records, published()):
        print(*lines, sep="\n", file=sys.stderr)
        return 1
    own_posts = posts_of(records)
    made = documents(records, own_posts)
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
    for name, drawn in post_pictures.pictures(own_posts).items():
        svg = vl_convert.vegalite_to_svg(drawn.specification())
        (DOCS / "images" / f"post-{name}.svg").write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
