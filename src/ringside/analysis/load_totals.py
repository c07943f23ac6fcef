"""What the loads at each contender counted, over all of its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.model.results import Trial


@dataclass(frozen=True, slots=True)
class LoadTotals:
    """Sums over the loads of a contender's measured trials: right answers in time, messages of streams,
    requests without an answer, errors of all kinds."""

    answered: int
    messages: int
    unfinished: int
    errors: int


def load_totals(trials: Sequence[Trial]) -> dict[str, LoadTotals]:
    """The totals by contender; warm-ups do not count."""
    loads = {
        name: [
            load
            for trial in trials
            if trial.cell.contender == name and trial.block > 0
            for load in trial.loads
        ]
        for name in dict.fromkeys(trial.cell.contender for trial in trials)
    }
    return {
        name: LoadTotals(
            answered=sum(load.requests for load in each),
            messages=sum(load.messages for load in each),
            unfinished=sum(load.unfinished for load in each),
            errors=sum(sum(load.errors.values()) for load in each),
        )
        for name, each in loads.items()
    }
