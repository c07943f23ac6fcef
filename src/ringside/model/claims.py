"""How a claim of a source is tested, as a row of its file in `published/`. Plans keep it, too."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ringside.model.design import Level


class LevelRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Levels of a factor that are meant, if they are not named themselves. A pick looks at what is left of a
    run's points when all other rules have been applied."""

    least: int | None = None
    """Numbers from this one on."""
    other_than: Level | None = None
    """All levels but this one."""
    pick: Literal["most", "fewest"] | None = None
    """The highest number, or the lowest."""
    prefer: int | None = None
    """This number where it is there; else the pick."""


# One level, several, or a rule. `nodes*messages` is the product of two factors.
Where = dict[str, Level | tuple[Level, ...] | LevelRule]


class Quantity(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The geometric mean of a metric of a contender over points. What is left out is that of the claim."""

    contender: str
    """The contender; `*`: each of the claim's."""
    metric: str = ""
    """The metric."""
    at: Where = {}
    """The points, besides those of the claim."""
    workload: str = ""
    """Another workload; then `at` has all of its points."""
    experiment: str = ""
    """The experiment of that one."""


# A contender's name stands for its quantity; several are multiplied.
Product = str | Quantity | tuple[str | Quantity, ...]


class Place(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Points at which a claim is judged by itself, and their words in a sentence."""

    at: Where
    """The points, besides those of the claim."""
    where: str
    """The points in words."""
    experiment: str
    """The experiment that has them."""


class Lines(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Lines of code that a program has and the one before has not: a contender and the path of each."""

    before: tuple[str, str]
    """The program that has fewer."""
    after: tuple[str, str]
    """The program that has more."""


class ClaimRow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The test of a claim: a ratio of two quantities, or a quantity, lies inside a band."""

    never: str = ""
    """Why nothing can test the claim; then there is no other key."""
    experiment: str = ""
    """The experiment that tests it."""
    metric: str = ""
    """The metric that is compared."""
    over: Product = ()
    """The numerator; `*` stands for each contender of `each`."""
    under: Product = ()
    """The denominator; a quantity by itself where there is none."""
    at: Where = {}
    """The points."""
    where: str = ""
    """The points in words: `with one client`."""
    missing: str = ""
    """What no run has, where it cannot be tested."""
    sentence: str = ""
    """What was measured, with `{name}`, `{ratio}`, `{value}`, and levels as `{at[cores]:core}`."""
    note: str = ""
    """What else is to be known."""

    about: float | None = None
    """The claim holds from two thirds of this number to one and a half times it."""
    low: float | None = None
    """The least value for which it holds."""
    high: float | None = None
    """The most."""
    gain_over: str = ""
    """Then `low` and `high` are shares of the levels of this factor that the numerator has more."""
    direction: Literal["less", "more"] | None = None
    """It holds below 1, or above."""
    words: str = ""
    """The band in words, where they are not its numbers."""
    why: str = ""
    """Why a band that is ours is what it is."""

    beside: tuple[str, ...] = ()
    """Contenders whose ratio to the denominator is named as well, without deciding anything."""
    each: tuple[str, ...] = ()
    """Contenders that all have to lie inside the band."""
    if_present: bool = False
    """Those of `each`, and their variants, that a run has."""
    needs: tuple[str, ...] = ()
    """Contenders that the run must have too."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of numerator and denominator that all have to."""
    levels_of: str = ""
    """A factor: all of its levels over the lowest have to."""
    apart: tuple[Place, ...] = ()
    """Places at which each contender of `each` is judged by itself; all answers have to agree."""

    per: str = ""
    """The median of the metric at the last point, over the level of this factor there; 1: not over any."""
    growth_over: str = ""
    """The growth of the metric from the lowest level of this factor to the highest, for each unit of it."""
    budget: float | None = None
    """`{budget}` in the sentence is this number over the value, which tests nothing by itself."""
    lines: Lines | None = None
    """Counts lines of code."""
    builds: tuple[str, ...] = ()
    """How long the builds of these contenders took, over that of the first; without an interval."""

    stand_in: str = ""
    """What is missing of the original, and what stands in for it."""
    only_refutes: str = ""
    """Why the figure is a bound that cannot confirm the claim."""
    known_by: str = ""
    """The variant beside which alone the plain name is known to meet the source's condition."""
    condition: str = ""
    """That condition."""
    unknown: str = ""
    """What is said where that variant did not run."""
    own: Where = {}
    """The levels that the source had; on others the claim holds under other conditions at most."""
    elsewhere: str = ""
    """The source's levels in words."""
    between: tuple[Place, ...] = ()
    """Two ends, where the claim is of something between them."""
    along: str = ""
    """The factor of points between the two ends, each level of which is judged."""
