"""Fills docs/TOUR.md: source from the tree, and figures from the record in records/.

    .venv/bin/python scripts/tour.py            write it
    .venv/bin/python scripts/tour.py --check    exit status 1 if it differs from the tree or the record

A place for source is `<!-- source: PATH: TEXT -->`: the lines from the first one that contains TEXT up to the
next blank line, or, with `: TEXT ... END`, up to the first line that contains END, or is END where it begins
with `^`. A place for figures is `<!-- figures: EXPERIMENT METRIC: CONTENDER, … at LEVELS; LEVELS -->`, or
without `at` for slopes such as the memory of a unit. What stands between a place and `<!-- end -->` is
replaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ringside import units
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.cli import context
from ringside.model.design import Cell
from ringside.store import record

ROOT = Path(__file__).resolve().parents[1]
TOUR = ROOT / "docs" / "TOUR.md"
RECORD = ROOT / "records" / f"posts{record.SUFFIX}"
PLACE = re.compile(r"(<!-- (source|figures): (.*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LANGUAGES = {"erl": "erlang", "go": "go", "py": "python", "js": "javascript", "c": "c"}


def matches(wanted: str, line: str) -> bool:
    return line == wanted[1:] if wanted.startswith("^") else wanted in line


def source(place: str) -> str:
    """A fenced block of lines of a file. Raises SystemExit where they are not there."""
    path, _, wanted = place.partition(": ")
    first, _, last = wanted.partition(" ... ")
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    begin = next((number for number, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise SystemExit(f"docs/TOUR.md: {path} has no line with `{first}`")
    ends = (
        number
        for number in range(begin, len(lines))
        if (matches(last, lines[number]) if last else not lines[number])
    )
    end = next(ends, len(lines))
    block = "\n".join(lines[begin : end + bool(last)])
    return f"```{LANGUAGES[path.rpartition('.')[2]]}\n{block}\n```\n"


def figures(place: str, analyses: Mapping[str, RunAnalysis]) -> str:
    """A table of medians with 95 % intervals. Raises SystemExit where the record has none."""
    match = re.fullmatch(r"(\S+) (\S+): (.*?)(?: at (.*))?", place)
    if not match:
        raise SystemExit(f"docs/TOUR.md: what is `{place}`?")
    experiment, figure, contenders, levels = match.groups()
    analysis = analyses[experiment]
    names = contenders.split(", ")
    if levels is None:
        slopes = {each.contender: each for each in analysis.slopes if each.slope.name == figure}
        rows = [[units.with_interval(slopes[name].value, slopes[name].slope.unit)] for name in names]
        heads = [slopes[names[0]].slope.title]
    else:
        metric = analysis.metric(figure)
        heads = levels.split("; ")
        points = {analysis.label(point): point for point in analysis.points}
        cells = [[analysis.cells[Cell(name, points[head])] for head in heads] for name in names]
        rows = [[units.with_interval(cell.metrics[figure], metric.unit) for cell in row] for row in cells]
        heads = [f"{metric.title}, {head}" for head in heads]
    table = [f"| contender | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    table += [f"| {name} | {' | '.join(row)} |" for name, row in zip(names, rows, strict=True)]
    link = "[the record](../records/README.md)"
    note = f"*`ringside run {experiment}`, from {link}: medians, with 95 % intervals.*"
    return "\n".join(["", *table, "", note, ""])


def filled(text: str, analyses: Mapping[str, RunAnalysis]) -> str:
    """The text with what each place should have."""

    def fill(match: re.Match[str]) -> str:
        made = source(match[3]) if match[2] == "source" else figures(match[3], analyses)
        return match[1] + made + match[5]

    return PLACE.sub(fill, text)


def analyses_of(text: str) -> dict[str, RunAnalysis]:
    """The analyses of the record's runs that the text names."""
    store = record.read(RECORD)
    wanted = {match[3].split()[0] for match in PLACE.finditer(text) if match[2] == "figures"}
    context.catalogue()
    return {run.experiment: analysis_of(store, run) for run in store.runs() if run.experiment in wanted}


def main(arguments: Sequence[str]) -> int:
    text = TOUR.read_text(encoding="utf-8")
    made = filled(text, analyses_of(text))
    if "--check" in arguments:
        if made != text:
            print(
                "docs/TOUR.md is not what the tree and the record say: run scripts/tour.py", file=sys.stderr
            )
        return int(made != text)
    TOUR.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
