"""Families of contenders in words, tables and pictures: what a question's answer says, and of whom."""

from collections.abc import Collection, Iterator, Sequence

from ringside import units
from ringside.analysis.families import FamilyStanding, QuestionAnswer
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Question
from ringside.model.design import grouped
from ringside.render.text import cells
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.command import own_command, with_store
from ringside.render.text.diagnostics import words
from ringside.render.text.words import APART, FAMILIES, Sentence, listed, machine, reserve, where
from ringside.text import capitalised

# More orders of families than this are too many for a sentence.
_MAX_ORDERS = 3


def sentences(standing: FamilyStanding) -> list[Sentence]:
    """The first program, then which families are wholly ahead of others. Gains have a range, and no order."""
    if not standing.over:
        return [_first(standing), *_orders(standing)]
    # A program that is cold at one of the points seems to gain, or to lose, by warming up.
    cold = standing.cold
    names = [name for name in standing.contenders if name not in cold] or standing.contenders
    gains = sorted(standing.values[name].estimate for name in names)
    ends = dict.fromkeys(units.quantity(gain, standing.unit) for gain in (gains[0], gains[-1]))
    text = f"{' to '.join(ends)} times better than at {other_point(standing)}"
    return [Sentence(text + "; which program gains most is not tested" * (len(gains) > 1))]


def _first(standing: FamilyStanding) -> Sentence:
    (best, members), *others = standing.families.items()
    value, of_best = amount(standing, standing.best), _of_family(standing, standing.best)
    if len(standing.contenders) == 1:
        return Sentence(capitalised(f"only {of_best} has a figure: {value}"))
    if not standing.analysis.is_over:
        text = f"Not decided yet, because the run did not end; {of_best} has the best median so far, {value}"
        return Sentence(text)
    if others and len(members) > 1 and all((best, other) in standing.ahead for other, _ in others):
        text = f"All {len(members)} programs with {FAMILIES[best]} are ahead of every other: "
        return _decided(standing, text + _range(standing, members))
    if len(standing.first) == 1:
        name = standing.first[0]
        verb = "has the best figure" if standing.caveats else "is first"
        return _decided(standing, f"{_of_family(standing, name)} {verb}: {amount(standing, name)}")
    close = [name for name in standing.first if name not in standing.unsteady]
    text = f"Too close to call: {listed(close, most=None)}; " if len(close) > 1 else ""
    text += f"{standing.best} has the best median, {value}"
    if standing.unsteady:
        names = listed(standing.unsteady, most=None)
        text += f"; no verdict is possible about {names}, whose repeats reach no steady state"
    return Sentence(text)


def _decided(standing: FamilyStanding, text: str) -> Sentence:
    """An order that was shown; where the answer of the run names what else may have decided it, with that."""
    return Sentence(text + reserve(standing.caveats), "quiet" if standing.caveats else "faster")


def _orders(standing: FamilyStanding) -> list[Sentence]:
    names = [*standing.families]
    ahead = sorted(standing.ahead, key=lambda pair: [names.index(each) for each in pair])
    behind = grouped((name, FAMILIES[other]) for name, other in ahead)
    parts = [
        f"each program with {FAMILIES[name]} is ahead of each with {listed(others, 'or', most=None)}"
        for name, others in list(behind.items())[:_MAX_ORDERS]
    ]
    return [_decided(standing, capitalised("; ".join(parts)))] if parts else []


def other_point(standing: FamilyStanding) -> str:
    """The other point of a gain, by what it differs in."""
    assert standing.over
    changed = [factor for factor, level in standing.over.as_dict().items() if standing.point[factor] != level]
    return standing.analysis.measurement.label(standing.over, changed)


def _of_family(standing: FamilyStanding, name: str) -> str:
    family = next(family for family, members in standing.families.items() if name in members)
    return f"{name} ({FAMILIES[family]})"


def amount(standing: FamilyStanding, name: str) -> str:
    """The figure of a contender with its interval."""
    return units.with_interval(standing.values[name], standing.unit)


def median(standing: FamilyStanding, name: str) -> str:
    """The figure of a contender without its interval."""
    return units.quantity(standing.values[name].estimate, standing.unit)


def _range(standing: FamilyStanding, members: Sequence[str]) -> str:
    """The least and the largest median of a family; with its interval, where it has one contender."""
    if len(members) == 1:
        return amount(standing, members[0])
    names = sorted(members, key=lambda name: standing.values[name].estimate)
    return " to ".join(dict.fromkeys(median(standing, name) for name in (names[0], names[-1])))


def scope(answers: Sequence[QuestionAnswer]) -> str:
    """How many figures were tested; empty without any."""
    number = sum(part.standing is not None for each in answers for part in each.parts)
    return f"{units.count(number, 'figure')} tested, each with its own error rate of 5 %." if number else ""


def conditions(question: Question) -> list[str]:
    """For whom an answer holds, and where it does not."""
    parts = (("Holds for", question.holds), ("Does not hold for", question.limits))
    return [f"{word}: {text}" for word, text in parts if text]


def table(standing: FamilyStanding) -> TableData:
    """A row for each family: its range beside the figures of its contenders; the command that measures it."""
    column = f"times better than at {other_point(standing)}" if standing.over else standing.metric.title
    notes = [("Without a figure", standing.lacking), (f"Of an unknown {standing.by}", standing.unknown)]
    notes.append((APART["cold"], standing.cold))
    if standing.others:
        others = tuple(f"{name} {median(standing, name)}" for name in standing.others)
        notes.append((APART[standing.analysis.kind(standing.others[0])], others))
    rows: list[cells.Row] = []
    for family, members in standing.families.items():
        programs = ", ".join(f"{name} {median(standing, name)}" for name in members)
        figures = TableCell(_range(standing, members))
        rows.append([(standing.by, FAMILIES[family]), (column, figures), ("programs", programs)])
    place = where(standing.analysis, standing.point, "")
    subtitle = f"{f'{place}: ' if place else ''}`{with_store('run', standing.analysis.experiment.name)}`"
    below = (f"{start}: {', '.join(names)}" for start, names in notes if names)
    return cells.table("", rows, subtitle, notes=below)


def programs_table(answers: Sequence[QuestionAnswer]) -> TableData | None:
    """A row per program, a column per figure; a mark for possible firsts. None for a single figure."""
    columns: dict[str, FamilyStanding] = {}
    measured = ((part.figure, part.standing) for each in answers for part in each.parts if part.standing)
    for figure, standing in measured:
        name = standing.metric.title + (f" {standing.point.label(figure.at)}" if figure.at else "")
        columns[name if name not in columns else f"{name} ({figure.experiment})"] = standing
    if len(columns) < 2:
        return None

    def cell(column: str, name: str) -> TableCell:
        if name not in columns[column].values:
            return cells.ABSENT
        is_first = name in columns[column].first
        return TableCell(median(columns[column], name) + " *" * is_first, "faster" if is_first else "number")

    names = dict.fromkeys(name for standing in columns.values() for name in standing.contenders)
    best_first = sorted(names, key=lambda name: -sum(name in each.first for each in columns.values()))
    return cells.table(
        "Each program in each figure",
        ([("program", name), *((column, cell(column, name)) for column in columns)] for name in best_first),
        "* may be first; the words above each figure say what else may have decided it",
        notes=_run_notes({each.analysis.run.id: each.analysis for each in columns.values()}.values()),
    )


def _run_notes(runs: Collection[RunAnalysis]) -> Iterator[str]:
    """The machines, dates, versions and warnings of runs, and which ones the command line cut down."""
    versions = {name: each.version for run in runs for name, each in run.contenders.items() if each.version}
    notes: dict[str, list[str]] = {}
    for run in runs:
        measured = f"measured {run.run.started_at[:10]} on {machine(run.run.host)}"
        warnings = [f"warning: {words(each)[0]}" for each in run.diagnostics]
        if (chosen := run.plan.chosen) and (chosen.only or chosen.settings):
            warnings.insert(0, f"only a part was measured: {own_command(run)}")
        for note in (measured, *warnings):
            notes.setdefault(note, []).append(run.experiment.name)
    yield ", ".join(f"{name} {version}" for name, version in versions.items())
    for note, experiments in notes.items():
        yield f"{', '.join(experiments)}: {note}"
