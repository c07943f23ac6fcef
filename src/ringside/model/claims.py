"""How a claim of a source is tested, as a row of its file in `published/`. docs/KEYS.md has the meanings."""

from typing import Literal

from msgspec import Struct

from ringside.model.design import Level


class LevelRule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule that picks levels of a factor, among the points that all other rules leave."""

    least: int | None = None
    other_than: Level | None = None
    pick: Literal["most", "fewest"] | None = None
    prefer: int | None = None


# One level, several, or a rule. `nodes*messages` is the product of two factors.
Where = dict[str, Level | tuple[Level, ...] | LevelRule]


class Quantity(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The geometric mean of a contender's metric over points. Keys left out are the claim's."""

    contender: str
    metric: str = ""
    at: Where = {}
    workload: str = ""
    experiment: str = ""


# A contender's name stands for its quantity; several are multiplied.
Product = str | Quantity | tuple[str | Quantity, ...]


class Place(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Points at which a claim is judged by itself, and their words in a sentence."""

    at: Where
    where: str
    experiment: str


class Lines(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Lines of code that each program has and the one before has not. Each is a contender and its paths."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    others: tuple[tuple[str, ...], ...] = ()


class ClaimRow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The test of a claim: a ratio of two quantities, or a quantity, lies inside a band."""

    # The quantities, the points, and the wording.
    never: str = ""
    experiment: str = ""
    metric: str = ""
    over: Product = ()
    under: Product = ()
    at: Where = {}
    where: str = ""
    missing: str = ""
    sentence: str = ""
    note: str = ""

    # The band.
    about: float | None = None
    low: float | None = None
    high: float | None = None
    gain_over: str = ""
    direction: Literal["less", "more"] | None = None
    words: str = ""
    why: str = ""

    # Further contenders, pairs and places.
    beside: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    if_present: bool = False
    needs: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    levels_of: str = ""
    apart: tuple[Place, ...] = ()

    # Other quantities than a ratio.
    per: str = ""
    growth_over: str = ""
    budget: float | None = None
    lines: Lines | None = None

    # Conditions under which the claim holds.
    stand_in: str = ""
    only_refutes: str = ""
    known_by: str = ""
    condition: str = ""
    unknown: str = ""
    own: Where = {}
    elsewhere: str = ""
    between: tuple[Place, ...] = ()
    along: str = ""
