"""The sentences of a record: as they were printed before, and none against its table."""

import importlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.render.text import terminal
from ringside.render.text.answers import answers
from tests.support import golden

NAME, NUMBER = r"[\w@+.-]*[\w@+-]", r"[\d,]+(?:\.\d+)?"
BEHIND = re.compile(
    rf"({NAME}) (?:takes |needs |has )?({NUMBER}) (times|%)"
    rf"(?: (?:as (?:long|much)|longer|more))?(?: (?:as|than) ({NAME}))? \(({NUMBER})–({NUMBER})(?: %)?\)"
)
MORE = re.compile(rf"({NUMBER}) (times|%)(?: more than)? ({NAME}?)'s? \(")


@cache
def analyses() -> list[RunAnalysis]:
    records: Any = importlib.import_module("scripts.results")
    return [
        run
        for kept in records.read_records().values()
        for run in sorted(kept.suite.runs, key=lambda run: run.run.id)
    ]


def text() -> Iterator[str]:
    for of in analyses():
        yield f"\n{of.run.id}"
        yield from (f"  {sentence.text}" for sentence in answers(of))


def first_look(of: RunAnalysis, width: int) -> str:
    """The output of `ringside show RUN` for a run, on a screen of so many columns."""
    terminal.show(of, Console(file=(out := io.StringIO()), width=width, highlight=False, markup=False))
    return out.getvalue()


def test_a_first_look_fits_the_narrowest_screen() -> None:
    """tests/render/test_golden.py has wider ones, and what is made up."""
    for of in analyses():
        shown = first_look(of, 60)
        assert max(map(len, shown.splitlines())) <= 60, of.run.id
        # Nobody reads the names of factors: levels stand in words.
        assert not re.search(rf"\b({'|'.join(of.points[0].as_dict())})=", shown), of.run.id
        assert shown.count("warning: ") <= 2 * len(of.points), of.run.id


def looks() -> Iterator[tuple[RunAnalysis, dict[str, str], list[str]]]:
    """For each table of a first look its run, its last column by the name of the row, and its sentences."""
    for of in analyses():
        # So wide that nothing is wrapped: a heading, one table, a paragraph; after the last one warnings.
        for part in re.split(r"\n(?=warning: )", first_look(of, 2000))[0].split("\n\n"):
            _, header, *rows, paragraph = part.splitlines()
            assert re.match(r"program |point ", header), part
            assert len(rows) <= max(len(of.names), len(of.points)), part
            cells = [re.split(r"\s{2,}", row.strip()) for row in rows]
            table = {re.sub(r" \((!|bare)\)", "", cell[0]): cell[-1] for cell in cells}
            yield of, table, re.findall(r"(?:[^.]|\.(?=\S))+\.", paragraph)


def contradictions(of: RunAnalysis, table: dict[str, str], sentences: list[str]) -> Iterator[str]:
    """The contradictions between the sentences of a point and the table's distances from the baseline."""
    base, small = of.experiment.baseline, of.headline.smaller_is_better
    low, high = ("lower", "higher") if small else ("higher", "lower")
    better = {name for name in table if re.search(rf"\b(faster|less|{low})\b", table[name])}
    worse = {name for name in table if re.search(rf"\b(slower|more|as much|{high})\b", table[name])}
    head, rest = re.split(r" (?:is|needs|has|share) |; ", sentences[0])[0], " ".join(sentences[1:])
    said = [name for name in re.findall(NAME, head) if name in table]
    unranked = {*re.findall(NAME, sentences[-1])} if "not ranked" in sentences[-1] else set()
    yield from (f"{name} is worse" for name in said if name in worse)
    for name in better - unranked if base in said else ():
        if of.kind(name) == of.kind(base):
            yield f"{name} is better"
    behind = [(name, size, how, other or said[0]) for name, size, how, other, *_ in BEHIND.findall(rest)]
    behind += [(name, size, how, said[0]) for size, how, name in MORE.findall(rest)]
    for name, size, how, best in behind:
        row = name if best == base else best if name == base else ""
        if row and not table[row].startswith(f"{size}{'×' if how == 'times' else ' %'} "):
            yield f"{row} is {table[row]}"


def test_a_first_look_says_one_to_three_things_once_and_as_its_table() -> None:
    said = Counter[tuple[str, str]]()
    for of, table, sentences in looks():
        said.update((of.run.id, sentence) for sentence in sentences)
        assert 1 <= len(sentences) <= 3, sentences
        if of.names[0] in table and len(of.names) > 1:
            assert list(contradictions(of, table, sentences)) == [], (of.run.id, sentences)
    assert len(said) >= 100
    assert max(said.values()) == 1, said.most_common(1)


def test_the_sentences_read_as_they_did() -> None:
    golden.check("answers.txt", "\n".join(text()) + "\n")
