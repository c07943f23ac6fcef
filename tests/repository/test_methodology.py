"""The worked example of docs/METHODOLOGY.md: every number in it is recomputed."""

import itertools
import math
import re

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


def test_its_numbers() -> None:
    logs = list(LOGS["B over A"].values())
    averages = sorted((x + y) / 2 for x, y in itertools.combinations_with_replacement(logs, 2))
    middle = (averages[13] + averages[14]) / 2
    p_values = adjusted_p_values(LOGS, range(1, 8))
    family: ComparisonTests[str] = ComparisonTests(0.05)
    (look,) = planned_looks(7)
    family.examine(LOGS, look)
    found = {name: family.decision(name, logs, SEQUENTIAL_CONFIDENCE) for name, logs in LOGS.items()}
    assert [found[name].direction for name in PAIRS] == [1, 0, -1]
    assert [found[name].equivalent for name in PAIRS] == [False, True, False]
    assert p_values["B over A"] == p_values["C over B"] == 1 / 64
    assert rank_intervals("ABC", {("A", "B"): True, ("C", "B"): True}) == {
        "A": (1, 2),
        "B": (3, 3),
        "C": (1, 2),
    }
    ratio = found["C over A"].ratio
    numbers = [
        *(
            f"{value:.4f}".replace("-", "−")
            for name in ("B over A", "C over A")
            for value in LOGS[name].values()
        ),
        *(f"{abs(sum(each.values())) / math.hypot(*each.values()):.3f}" for each in LOGS.values()),
        f"from {averages[0]:.4f} to {averages[-1]:.4f}",
        f"exp({middle:.4f}) = {math.exp(middle):.3f}",
        f"{math.exp(averages[0]):.3f} to {math.exp(averages[-1]):.3f}",
        f"p = 1/64 = {1 / 64:.4f}",
        f"{p_values['C over A'] * 64:.0f} of 64",
        f"p = {p_values['C over A']:.3f}",
        f"may spend {look.level:.0%}".replace("%", " %"),
        f"{ratio.estimate:.3f} ({ratio.low:.3f}–{ratio.high:.3f})",
        f"log(1.05) = {math.log(1.05):.4f}",
        "Ranks: A 1–2, C 1–2, B 3.",
    ]
    assert [number for number in numbers if number not in EXAMPLE] == []
