"""Fills the pages that show the tree and the records: source, figures, and the output of commands.

    .venv/bin/python scripts/tour.py              write them
    .venv/bin/python scripts/tour.py --examples   measure the examples anew, too
    .venv/bin/python scripts/tour.py --check      exit status 1 if one differs from the tree or a record

It replaces the text between a place and `<!-- end -->`. The places are

    <!-- source: PATH: TEXT -->      lines of a file, from the first that contains TEXT to the next blank one;
                                     ` without ` and words may follow, as `if trace, log`: lines with one of
                                     them are left out, with the block that begins there
    <!-- figures: EXPERIMENT METRIC: CONTENDER, … at HEAD: LEVELS; HEAD: LEVELS -->
    <!-- output: COMMAND: TEXT -->   the output of `ringside COMMAND` at 120 columns, from a line as above;
                                     further parts after ` | `
    <!-- example: COMMAND: TEXT -->  the same at 100 columns for a measurement; kept until --examples. A
                                     server answers on port 8077 meanwhile

TEXT may be `TEXT ... END`: up to the first line that contains END, or for `^END` up to the line END."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts import results  # noqa: E402

TOUR = ROOT / "docs" / "TOUR.md"
PAGES = (TOUR, ROOT / "docs" / "READING.md", ROOT / "README.md")
RECORDS = ("posts", "today")
COLUMNS = 120
PORT = 8077
PLACE = re.compile(r"(<!-- (source|figures|output|example): (.*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LANGUAGES = {"erl": "erlang", "go": "go", "py": "python", "js": "javascript", "c": "c"}


def matches(wanted: str, line: str) -> bool:
    return line == wanted[1:] if wanted.startswith("^") else wanted in line


def excerpt(lines: Sequence[str], wanted: str, where: str) -> str:
    """The lines of a place, from `TEXT` or `TEXT ... END`. Raises SystemExit if the lines do not contain
    it."""
    first, _, last = wanted.partition(" ... ")
    begin = next((number for number, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise SystemExit(f"docs: {where} has no line with `{first}`")
    ends = (
        number
        for number in range(begin, len(lines))
        if (matches(last, lines[number]) if last else not lines[number])
    )
    end = next(ends, len(lines))
    return "\n".join(line.rstrip() for line in lines[begin : end + bool(last)])


def without(lines: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """The lines without those that contain one of the words, and without the block that such a line
    begins."""
    depth = sys.maxsize
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if indent > depth or (indent == depth and line.strip() == "}"):
            continue
        depth = indent if any(word in line for word in words) else sys.maxsize
        if depth == sys.maxsize:
            yield line


def source(place: str) -> str:
    """A fenced block of lines of a file."""
    path, _, wanted = place.partition(": ")
    wanted, _, words = wanted.partition(" without ")
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    shown = excerpt(lines, wanted, path).splitlines()
    text = "\n".join(without(shown, words.split(", ") if words else ()))
    return f"```{LANGUAGES[path.rpartition('.')[2]]}\n{text}\n```\n"


def output(place: str, columns: int = COLUMNS) -> str:
    """A fenced block of a command and lines of what it prints."""
    command, _, wanted = place.partition(": ")
    program = str(Path(sys.executable).with_name("ringside"))
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    done = subprocess.run(
        [program, *shlex.split(command)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    shown = "\n…\n".join(excerpt(lines, part, command) for part in wanted.split(" | "))
    return f"```\n$ ringside {command}\n{shown}\n```\n"


def example(place: str) -> str:
    """The text that `output` makes. The command sees a server of an empty folder on PORT and has its own
    store and lock."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty").mkdir()
        os.environ |= {"RINGSIDE_STORE": f"{folder}/store.sqlite", "RINGSIDE_LOCK": f"{folder}/lock"}
        words = ["-m", "http.server", str(PORT), "--bind", "127.0.0.1", "--directory", f"{folder}/empty"]
        with subprocess.Popen(
            [sys.executable, *words], stderr=subprocess.STDOUT, stdout=subprocess.DEVNULL
        ) as server:
            try:
                return output(place, 100)
            finally:
                server.kill()


def figures(place: str, analyses: Mapping[str, RunAnalysis]) -> str:
    """A table of medians with 95 % intervals. Raises SystemExit if the record lacks one."""
    match = re.fullmatch(r"(\S+) (\S+): (.*?) at (.*)", place)
    if not match:
        raise SystemExit(f"docs: what is `{place}`?")
    experiment, name, contenders, heads = match.groups()
    analysis = analyses[experiment]
    metric = analysis.measurement.metric(name)
    points = {point.label(analysis.varying): point for point in analysis.points}
    levels = dict(head.split(": ") for head in heads.split("; "))
    table = [
        f"| contender | {' | '.join(f'{metric.title}, {head}' for head in levels)} |",
        f"|---|{'---:|' * len(levels)}",
    ]
    for contender in contenders.split(", "):
        cells = (analysis.cells[Cell(contender, points[of])] for of in levels.values())
        row = (units.with_interval(cell.metrics[metric.name], metric.unit) for cell in cells)
        table.append(f"| {contender} | {' | '.join(row)} |")
    return "\n".join(["", *table, "", f"*`ringside run {experiment}`*", ""])


def filled(text: str, analyses: Mapping[str, RunAnalysis], with_examples: bool = False) -> str:
    """The text with the current content of each place."""

    def fill(match: re.Match[str]) -> str:
        if match[2] == "example" and not with_examples:
            return match[0]
        made = {
            "source": source,
            "figures": lambda place: figures(place, analyses),
            "output": output,
            "example": example,
        }[str(match[2])](str(match[3]))
        return f"{match[1]}{made}{match[5]}"

    return PLACE.sub(fill, text)


@cache
def analyses_of_records() -> dict[str, RunAnalysis]:
    """The analyses of the records' runs by experiment."""
    records = results.read_records()
    return {run.run.experiment: run for name in RECORDS for run in records[name].suite.runs}


def main(arguments: Sequence[str]) -> int:
    differ = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        made = filled(text, analyses_of_records(), "--examples" in arguments)
        if "--check" not in arguments:
            page.write_text(made, encoding="utf-8")
        elif made != text:
            differ = 1
            print(
                f"{page.name} is not what the tree and the records say: run scripts/tour.py",
                file=sys.stderr,
            )
    return differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
