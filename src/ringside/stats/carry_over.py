"""The effect of a contender on the trials after it, estimated from the order of trials."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ringside.arrays import np

Cell = TypeVar("Cell", bound=Hashable)

# The share of an effect that lasts until the next trial. If two contenders alternate (AB, BA, …), their ratio
# moves by nearly this share of the difference between trials after themselves and trials after the other. A
# large share claims few false differences where less lasts.
MEMORY = 0.9
# Residuals of steps are cut at this many times their median: three standard deviations of normal noise.
_CLIPPED, _ROUNDS = 4.4, 3
# With fewer steps for each contender and cell, the remaining noise is chance.
_MIN_STEPS = 2.5


@dataclass(frozen=True, slots=True)
class CarryOver(Generic[Cell]):
    """The effect of each contender on the logarithm of the next trial, relative to the mean of all, with the
    covariance; and by trial (block and cell) how much of each effect it contains."""

    names: tuple[str, ...]
    effects: np.ndarray
    covariance: np.ndarray
    burdens: Mapping[tuple[int, Cell], np.ndarray]

    def bias(self, numerator: Cell, denominator: Cell, blocks: Iterable[int]) -> tuple[float, float]:
        """How much two cells differ in these blocks by the trials before them, and the standard error."""
        by_block = [self.burdens[block, numerator] - self.burdens[block, denominator] for block in blocks]
        more: np.ndarray = np.mean(by_block, axis=0)
        return float(more @ self.effects), float(max(0.0, more @ self.covariance @ more)) ** 0.5


def carry_over(
    sequences: Iterable[Sequence[tuple[str, tuple[int, Cell], float | None]]], memory: float = MEMORY
) -> CarryOver[Cell] | None:
    """Estimate it from sequences of trials, each of one machine: contender, block and cell, and the logarithm
    relative to the cell's median, None if the trial has no value. None if there are too few.

    The steps from each value to the next, which drift hardly moves, are explained by the cells and the steps
    of the burden (least squares): each trial adds its contender to it, and `memory` of it is left at the
    next. Neighbouring steps share a trial; their covariance is a part of the errors."""
    sequences = list(sequences)
    names = tuple(sorted({name for sequence in sequences for name, _, _ in sequence}))
    cells = dict.fromkeys(cell for sequence in sequences for _, (_, cell), _ in sequence)
    unit = dict(zip(names, np.eye(len(names)) - 1 / max(1, len(names)), strict=True))
    level = dict(zip(cells, np.eye(len(cells)), strict=True))
    burdens: dict[tuple[int, Cell], np.ndarray] = {}
    causes, steps = [], []
    for sequence in sequences:
        burden: np.ndarray = np.zeros(len(names))
        before: tuple[np.ndarray, float] | None = None
        for name, (block, cell), value in sequence:
            burdens[block, cell] = burden
            if value is not None:
                cause: np.ndarray = np.concatenate([burden, level[cell]])
                if before:
                    causes.append(cause - before[0])
                    steps.append(value - before[1])
                before = cause, value
            burden = memory * burden + unit[name]
    if len(names) < 2 or len(steps) < _MIN_STEPS * (len(names) + len(cells)):
        return None
    x, step = np.array(causes), np.array(steps)
    squares = x.T @ x
    inverse: np.ndarray = np.linalg.pinv(squares)
    effects: np.ndarray = np.zeros(len(squares))
    for _ in range(_ROUNDS):
        rest = step - x @ effects
        bound = _CLIPPED * float(np.median(np.abs(rest)))
        rest = np.clip(rest, -bound, bound)
        effects = effects + inverse @ x.T @ rest
    freedom = len(step) - len(names) - len(cells) + 2
    neighbours = x[1:].T @ x[:-1] * float(rest[1:] @ rest[:-1])
    middle = (squares * float(rest @ rest) + neighbours + neighbours.T) / freedom
    own = slice(len(names))
    return CarryOver(names, effects[own], (inverse @ middle @ inverse)[own, own], burdens)
