"""The sentences of a record: as they were printed before, and with the figures of its blocks.
`.venv/bin/python -m tests.render.text.test_answers_of_records` writes the expected ones anew."""

from __future__ import annotations

import importlib
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement
from statistics import median
from typing import Any

import pytest
from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point
from ringside.render.text import terminal
from ringside.render.text.answers import answers, pair_sentence
from tests.support import TESTS

FILE = TESTS / "golden" / "answers.txt"
NAME, NUMBER = r"[\w@+.-]*[\w@+-]", r"[\d,]+(?:\.\d+)?"
NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
SHOWN = {**NS, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
AMOUNT = rf"({NUMBER})(?: ([nµm]?s|[KMG]i?B|B)\b)?"
# Who leads, and by which amount; NOUN is that of the headline.
LEADS = (
    rf"; ({NAME}) has the best median.*?, NOUN {AMOUNT}",
    rf"equal within .+?: ({NAME}?)'s? NOUN {AMOUNT}",
    rf"^(?:So far )?({NAME}) has the best .+?, {AMOUNT}(?: \(|;|$)",
    rf"^({NAME})\b.*?: NOUN {AMOUNT}",
    rf"^({NAME}) (?:needs|has) the (?:least|lowest|highest) NOUN.*?: {AMOUNT}",
)
BEHIND = re.compile(
    rf"({NAME}) (?:takes |needs |has )?({NUMBER}) (times|%)"
    rf"(?: (?:as (?:long|much)|longer|more))?(?: (?:as|than) ({NAME}))? \(({NUMBER})–({NUMBER})(?: %)?\)"
)
PAIR = re.compile(
    rf"({NAME}) (?:took|has) ({NUMBER})× ({NAME}?)'s? (?!mean).+? \(({NUMBER})–({NUMBER})\): "
    rf"(faster|less|lower|slower|more|higher|equal within|too close|no verdict)?"
)


MORE = re.compile(rf"({NUMBER}) (times|%)(?: more than)? ({NAME}?)'s? \(")
DIFFERENCE = re.compile(
    rf"({NAME}) was ({NUMBER}) (times|%) (faster|slower) than ({NAME}) in (?!mean).+? \(({NUMBER})–({NUMBER})"
)


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


def number(digits: str) -> float:
    return float(digits.replace(",", ""))


def is_shown(digits: str, value: float) -> bool:
    """Whether a value is these digits when it is rounded to as many."""
    plain = digits.replace(",", "")
    zeros = -len(plain.partition(".")[2]) if "." in plain else len(plain) - len(plain.rstrip("0"))
    return abs(number(digits) - value) <= max(0.51 * 10.0**zeros, 0.0051 * abs(value))


class Blocks:
    """Medians and ratios, computed from the blocks of the headline."""

    def __init__(self, of: RunAnalysis, point: Point) -> None:
        cells = {name: of.cell(name, point).by_block.get(of.headline.name, {}) for name in of.names}
        self.values = {name: dict(blocks) for name, blocks in cells.items() if blocks}

    def median(self, name: str) -> float:
        return median(self.values[name].values())

    def ratio(self, name: str, base: str) -> float:
        """The median of the averages of all pairs of log ratios (Hodges and Lehmann)."""
        one, other = self.values[name], self.values[base]
        logs = [math.log(one[block] / other[block]) for block in one.keys() & other.keys()]
        return math.exp(median((a + b) / 2 for a, b in combinations_with_replacement(logs, 2)))


def check_answer(of: RunAnalysis) -> int:
    """Checks the amounts and ratios of an answer, and returns how many there were."""
    sentences = [sentence.text for sentence in answers(of)]
    blocks = Blocks(of, of.conclusion.here.point)
    checked, leader = 0, ""
    for sentence in sentences:
        forms = (form.replace("NOUN", re.escape(of.headline.noun)) for form in LEADS)
        lead = next(filter(None, (re.search(form, sentence) for form in forms)), None)
        if lead and not leader:
            leader, value = lead[1], blocks.median(lead[1])
            value *= NS.get(of.headline.unit, 1.0) / SHOWN[lead[3]] if lead[3] else 1.0
            assert is_shown(lead[2], value), (sentence, value)
            checked += 1
        for name, size, how, base, low, high in BEHIND.findall(sentence):
            if name not in blocks.values:
                continue
            ratio = blocks.ratio(name, base or leader)
            assert is_shown(size, (ratio - 1) * 100 if how == "%" else ratio), (sentence, ratio)
            assert not low or number(low) <= number(size) <= number(high), sentence
            checked += 1
    return checked


def check_pairs(of: RunAnalysis) -> int:
    """Checks the ratios of pairs at each point and their verdicts, and returns how many there were."""
    checked = 0
    for point in of.points:
        blocks = Blocks(of, point)
        baseline = of.experiment.baseline
        others = (name for name in of.names if of.comparison(of.headline, name, baseline, point))
        for sentence in (pair_sentence(of, of.headline, name, baseline, point) for name in others):
            for name, size, base, low, high, verdict in PAIR.findall(sentence.text):
                ratio = blocks.ratio(name, base)
                assert math.isclose(number(size), ratio, rel_tol=0.006), (sentence.text, ratio)
                assert number(low) <= number(size) <= number(high), sentence.text
                if verdict in ("faster", "less", "lower"):
                    assert number(high) < 1, sentence.text
                if verdict in ("slower", "more", "higher"):
                    assert number(low) > 1, sentence.text
                checked += 1
            for name, _, unit, word, base, *ends in DIFFERENCE.findall(sentence.text):
                low, high = (number(end) if unit == "times" else 1 + number(end) / 100 for end in ends)
                ratio = blocks.ratio(name, base) if word == "slower" else blocks.ratio(base, name)
                assert low > 1, sentence.text
                assert low / 1.006 <= ratio <= high * 1.006, (sentence.text, ratio)
                checked += 1
    return checked


def first_look(of: RunAnalysis, width: int) -> str:
    """What `ringside show RUN` prints of a run, on a screen of so many columns."""
    terminal.show(of, Console(file=(out := io.StringIO()), width=width, highlight=False, markup=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_first_look_fits_the_screen(width: int) -> None:
    for of in analyses():
        shown = first_look(of, width)
        assert max(map(len, shown.splitlines())) <= width, of.run.id
        # Nobody reads the names of factors: levels stand in words.
        assert not re.search(rf"\b({'|'.join(of.points[0].as_dict())})=", shown), of.run.id
        assert shown.count("warning: ") <= 2 * len(of.points), of.run.id


def looks() -> Iterator[tuple[RunAnalysis, dict[str, str], list[str]]]:
    """Of each table of a first look its run, its last column by the name of the row, and its sentences."""
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
    """What the sentences of a point say against the table's distances from the baseline."""
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
    hint = f"read the difference; if it is meant: .venv/bin/python -m {__name__}"
    assert "\n".join(text()).splitlines() == FILE.read_text(encoding="utf-8").splitlines(), hint


@pytest.mark.parametrize(("check", "least"), [(check_answer, 80), (check_pairs, 690)])
def test_their_figures_are_those_of_the_blocks(check: Callable[[RunAnalysis], int], least: int) -> None:
    # Percentiles of few requests are of all blocks together.
    of_blocks = (each for each in analyses() if each.headline.name not in each.measurement.percentiles)
    assert sum(map(check, of_blocks)) >= least


if __name__ == "__main__":
    FILE.write_text("\n".join(text()) + "\n", encoding="utf-8")
