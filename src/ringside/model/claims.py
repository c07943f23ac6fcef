"""What runs say of the conclusions of sources. Frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ringside.model.results import Interval


class Answer(StrEnum):
    """What runs say of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTED = "not tested here"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a claim. `sentence`: what was measured, and what the claim requires; or why it could not
    be tested. `experiment`: the one that tests it. `runs`: the ids of those that did. `figure`: of several,
    the first; in `unit`, a ratio where that is empty."""

    answer: Answer
    sentence: str
    experiment: str = ""
    runs: tuple[str, ...] = ()
    figure: Interval | None = None
    unit: str = ""
