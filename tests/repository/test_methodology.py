"""The worked example of docs/METHODOLOGY.md: every number in it is recomputed."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from ringside.stats.decisions import ComparisonTests, rank_intervals
from ringside.stats.paired import log_ratios
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE, planned_looks
from tests.support import ROOT
from tests.support.p_values import adjusted_p_values

TEXT = (ROOT / "docs" / "METHODOLOGY.md").read_text(encoding="utf-8")
EXAMPLE = TEXT.partition("### A worked example")[2].partition("\n## ")[0]
PAIRS = {"B over A": ("B", "A"), "C over A": ("C", "A"), "C over B": ("C", "B")}


def times() -> dict[str, dict[int, float]]:
    rows = re.findall(r"^\| (\d) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", EXAMPLE, re.MULTILINE)
    assert len(rows) == 7
    return {
        name: {int(row[0]): float(row[column]) for row in rows} for column, name in enumerate("ABC", start=1)
    }


LOGS = {name: log_ratios(times()[one], times()[other]) for name, (one, other) in PAIRS.items()}


def says(text: str) -> None:
    assert text in EXAMPLE, text


def numbers(values: list[float], form: str = ".4f") -> str:
    return ", ".join(f"{value:{form}}".replace("-", "−") for value in values)


def test_log_ratios() -> None:
    says(f"log(11.0) − log(10.2) = {LOGS['B over A'][1]:.4f}")
    says(f"All seven are {numbers(list(LOGS['B over A'].values()))}.")
    says(f"Those of C over A are {numbers(list(LOGS['C over A'].values()))}.")


def test_the_ratio() -> None:
    values = list(LOGS["B over A"].values())
    averages = sorted((x + y) / 2 for x, y in itertools.combinations_with_replacement(values, 2))
    middle = (averages[13] + averages[14]) / 2
    says(f"The {len(averages)} averages of pairs of log ratios of B over A go from {averages[0]:.4f} to")
    says(f"to {averages[-1]:.4f}; the median, the mean of the two in the middle, is {middle:.4f}")
    says(f"exp({middle:.4f}) = {math.exp(middle):.3f}")
    says(f"{math.exp(averages[0]):.3f} to {math.exp(averages[-1]):.3f}")


def test_statistics_and_p_values() -> None:
    statistics = {}
    for name, logs in LOGS.items():
        total, norm = abs(sum(logs.values())), math.hypot(*logs.values())
        statistics[name] = total / norm
        if name != "C over B":
            says(f"{name}: {total:.4f} / {norm:.4f} = {statistics[name]:.3f}")
    says(f"C over B: {statistics['C over B']:.3f}")
    says(f"√7 = {math.sqrt(7):.3f}")
    p_values = adjusted_p_values(LOGS, range(1, 8))
    assert p_values["B over A"] == p_values["C over B"] == 1 / 64
    says(f"p = 1/64 = {1 / 64:.4f} for B over A")
    says(f"{p_values['C over A'] * 64:.0f} of 64 reach {statistics['C over A']:.3f}")
    says(f"p = {p_values['C over A']:.3f}")


def test_verdicts_and_ranks() -> None:
    family: ComparisonTests[str] = ComparisonTests(0.05)
    (look,) = planned_looks(7)
    assert look.level == pytest.approx(0.02)
    says("The first look, after seven blocks, may spend 2 %")
    family.examine(LOGS, look)
    assert max(map(abs, LOGS["C over A"].values())) < math.log(1.05)
    says(f"log(1.05) = {math.log(1.05):.4f}")
    found = {name: family.decision(name, logs, SEQUENTIAL_CONFIDENCE) for name, logs in LOGS.items()}
    assert [found[name].direction for name in PAIRS] == [1, 0, -1]
    assert [found[name].equivalent for name in PAIRS] == [False, True, False]
    ratio = found["C over A"].ratio
    says(f"C over A is {ratio.estimate:.3f} ({ratio.low:.3f}–{ratio.high:.3f})")
    is_better = {("A", "B"): True, ("C", "B"): True}
    assert rank_intervals("ABC", is_better) == {"A": (1, 2), "B": (3, 3), "C": (1, 2)}
    says("Ranks: A 1–2, C 1–2, B 3.")
