"""Families of contenders in words, tables and pictures: what a question's answer says, and of whom."""

from __future__ import annotations

from ringside import units
from ringside.analysis.families import FamilyStanding, ModelFamily
from ringside.model.catalogue import Question
from ringside.render.text.answers import Sentence, best_median, listed, no_better
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.command import with_store
from ringside.text import capitalised

FAMILIES = {
    "actors": "actors",
    "channels": "channels",
    "green-threads": "green threads",
    "tasks": "tasks on worker threads",
    "event-loop": "event loops",
    "generators": "generators",
    "threads": "threads",
    "processes": "processes",
}
# More orders of families than this are too many for a sentence.
_MAX_ORDERS = 3


def sentences(standing: FamilyStanding) -> list[Sentence]:
    """What a figure says: who is first, then which whole families are ahead of which. Of a family is said
    what is shown of each of its contenders, two or more."""
    return [_first(standing), *_orders(standing)]


def _first(standing: FamilyStanding) -> Sentence:
    if standing.over:
        return _gain(standing)
    of_best = _of_family(standing, standing.best)
    if len(standing.contenders) == 1:
        text = f"only {of_best} has a figure: {_amount(standing, standing.best)}"
        return Sentence(capitalised(text), "quiet")
    median = best_median(standing.analysis, standing.metric, standing.contenders, standing.point)
    if not standing.analysis.conclusion.is_over:
        text = f"not decided yet, as the run did not end; so far {of_best} has "
        return Sentence(capitalised(text) + f"the {median}, {_amount(standing, standing.best)}", "quiet")
    best = standing.families[0]
    others = {family.name for family in standing.families[1:]}
    if others and len(best.members) > 1 and all((best.name, other) in standing.ahead for other in others):
        text = f"All {len(best.members)} programs with {FAMILIES[best.name]} are ahead of every other: "
        return _decided(standing, text + _range(standing, best))
    if len(standing.first) == 1:
        name = standing.first[0]
        verb = "is first" if standing.is_certain else "has the best figure"
        return _decided(standing, f"{_of_family(standing, name)} {verb}: {_amount(standing, name)}")
    text = f"the first place is not decided between {listed(standing.first, most=None)}; "
    text += f"{standing.best} has the {median}, {_amount(standing, standing.best)}"
    if standing.unsteady:
        names = listed(standing.unsteady, most=None)
        text += f"; nothing is shown of {names}, whose repeats reach no steady state"
    return Sentence(capitalised(text), "quiet")


def _decided(standing: FamilyStanding, text: str) -> Sentence:
    """An order that was shown; where the answer of the run names what else may have decided it, with that."""
    if standing.is_certain:
        return Sentence(text, "faster")
    reasons = [no_better(standing.floor)] if standing.floor else []
    if standing.is_influenced:
        reasons.append("see the answer of the run")
    return Sentence(f"{text}; it may not be the program that decides this: {'; '.join(reasons)}", "quiet")


def _gain(standing: FamilyStanding) -> Sentence:
    """Of how many times better a point is than another: the most and the least, without an order."""
    assert standing.over
    worst = min(standing.contenders, key=lambda name: standing.values[name].estimate)
    count = len(standing.contenders)
    of = f", of {units.count(count, 'program')}" if count > 1 else ""
    text = f"{_of_family(standing, standing.best)} gains the most{of}: {standing.metric.noun} is better by "
    text += f"{_times(standing, standing.best)} than at {_other(standing)}"
    if worst != standing.best:
        text += f"; {_of_family(standing, worst)} gains the least, {_times(standing, worst)}"
    return Sentence(text, "quiet")


def _times(standing: FamilyStanding, name: str) -> str:
    size, ends = units.ratio_parts(standing.values[name])
    return f"{size} times ({ends})" if ends else f"{size} times"


def _other(standing: FamilyStanding) -> str:
    """The other point, by what it differs in."""
    assert standing.over
    here, there = standing.point.as_dict(), standing.over.as_dict()
    return " ".join(f"{factor}={level}" for factor, level in there.items() if here[factor] != level)


def _orders(standing: FamilyStanding) -> list[Sentence]:
    if standing.over:
        return []
    names = [family.name for family in standing.families]
    orders = sorted(standing.ahead, key=lambda pair: (names.index(pair[0]), names.index(pair[1])))
    behind = {one: [FAMILIES[other] for first, other in orders if first == one] for one in dict(orders)}
    if behind:
        parts = [
            f"each program with {FAMILIES[one]} is ahead of each with {listed(others, 'or', most=None)}"
            for one, others in list(behind.items())[:_MAX_ORDERS]
        ]
        return [Sentence(capitalised("; ".join(parts)), "quiet")]
    if sum(len(family.members) > 1 for family in standing.families) < 2:
        return []
    return [Sentence("The program says more than its family: no two families are apart as a whole", "quiet")]


def _of_family(standing: FamilyStanding, name: str) -> str:
    family = next(family for family in standing.families if name in family.members)
    return f"{name} ({FAMILIES[family.name]})"


def _amount(standing: FamilyStanding, name: str) -> str:
    return units.with_interval(standing.values[name], standing.unit)


def _range(standing: FamilyStanding, family: ModelFamily) -> str:
    """The least and the largest median of a family; with its interval, where it has one contender."""
    if len(family.members) == 1:
        return _amount(standing, family.members[0])
    values = sorted(standing.values[name].estimate for name in family.members)
    low, high = (units.quantity(value, standing.unit) for value in (values[0], values[-1]))
    return low if low == high else f"{low} to {high}"


def conditions(question: Question) -> list[str]:
    """For whom an answer holds, and where it does not."""
    parts = (("Holds for", question.holds), ("Does not hold for", question.limits))
    return [f"{word}: {text}" for word, text in parts if text]


def where(standing: FamilyStanding) -> str:
    """The point, where a run has several."""
    analysis = standing.analysis
    return analysis.label(standing.point) if len(analysis.points) > 1 else ""


def table(standing: FamilyStanding, title: str) -> TableData:
    """A row for each family: its range beside the figures of its contenders."""
    metric = standing.metric
    rows = tuple(
        (
            TableCell(FAMILIES[family.name], "text"),
            TableCell(_range(standing, family)),
            TableCell(", ".join(f"{name} {_median(standing, name)}" for name in family.members), "text"),
        )
        for family in standing.families
    )
    notes = []
    if standing.lacking:
        notes.append(f"Without a figure: {', '.join(standing.lacking)}")
    if standing.unknown:
        notes.append(f"Of an unknown family: {', '.join(standing.unknown)}")
    title_of = f"times better than at {_other(standing)}" if standing.over else metric.title
    command = f"`{with_store('run', standing.analysis.experiment.name)}`"
    at = f" at {where(standing)}" if where(standing) else ""
    return TableData(
        title, ("family", title_of, "programs"), rows, f"{metric.noun}{at}: {command}", tuple(notes)
    )


def _median(standing: FamilyStanding, name: str) -> str:
    return units.quantity(standing.values[name].estimate, standing.unit)
