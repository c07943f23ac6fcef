"""The output of `vs` and `load --vs`: verdicts as sentences, then figures, as text and Markdown; of a command
alone its figures and a histogram. A contender's title is the command or target as written, its name stands
for it in sentences."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Description, Diagnostic, Verdict
from ringside.render.text import cells, diagnostics, markdown, terminal
from ringside.render.text.answers import comparison_sentence, pair_sentence
from ringside.render.text.cells import Row, TableCell, TableData
from ringside.render.text.command import is_load
from ringside.render.text.tables import point_notes, point_rows
from ringside.render.text.words import Sentence, listed, possessive
from ringside.text import capitalised
from ringside.workloads.command import COMMAND

_BAR_WIDTH = 40
_MAX_STEPS = 6  # With more levels or slopes, there is no sentence for each.
_FLAT = 0.1  # Powers so close to 0 or 1 are called none, and linear.
_SPREAD = ("mean ± σ", "min", "max")
_FIRST = ("failures", "load-failed")
# The share of the CPUs that others took, from which on a ratio is one of this machine now.
_BUSY = 0.25


def show(
    analysis: RunAnalysis, how: str, console: Console, order: str = "auto", *, everything: bool = False
) -> None:
    """Print verdicts, what each name stands for, `how` it was measured, figures, diagnostics. `order`: of the
    rows: `auto` (the best first), `command`, `mean-time`. `everything`: all columns."""
    sentences = verdicts(analysis, order)
    for sentence in sentences:
        terminal.say(sentence, console)
    if sentences:
        console.print()
    terminal.name_commands(analysis, console)
    console.print(Text(how), style="dim")
    console.print()
    if len(analysis.cells) == 1 and not is_load(analysis):
        ((cell, description),) = analysis.descriptions.items()
        for label, text in _alone_lines(analysis, cell, description):
            console.print(Text.assemble((f"{label:>12}  ", "dim"), text))
        console.print()
        for line in histogram(description, analysis.headline):
            console.print(Text(line))
    else:
        terminal.render(table(analysis, order), console, everything=everything)
    terminal.diagnose(_warnings(analysis, everything=everything), console)


def as_markdown(analysis: RunAnalysis, how: str, order: str = "auto") -> str:
    """Verdicts as a list, the figures, what each name stands for."""
    return markdown.rendered(
        Path(__file__).with_name("paired.md.j2"),
        analysis=analysis,
        how=how,
        sentences=verdicts(analysis, order),
        figures=table(analysis, order),
        warnings=_warnings(analysis),
    )


def _warnings(analysis: RunAnalysis, *, everything: bool = True) -> list[Diagnostic]:
    # A first look at several commands has no column of memory.
    has_memory = everything or len(analysis.cells) == 1 or analysis.headline.unit == "B"
    told = _FIRST if has_memory else (*_FIRST, "unseen-memory")
    return [each for each in analysis.diagnostics if each.code not in told]


def verdicts(analysis: RunAnalysis, order: str = "auto") -> list[Sentence]:
    """Failures, then a sentence per pair, the best first: about each metric of servers, or the headline."""
    failures = (each for each in analysis.diagnostics if each.code in _FIRST)
    sentences = [Sentence(diagnostics.sentences(each), "failed") for each in failures]
    noisy = (each.values for each in analysis.diagnostics if each.code == "noisy-neighbour")
    is_busy = any(values.get("others", 0.0) > _BUSY for values in noisy)
    behind = " (on a machine as busy as this)" if is_busy else ""
    is_swept = len(analysis.names) == 1 < len(analysis.points) and analysis.descriptions
    sentences += _sweep(analysis) if is_swept else []
    sentences += growths if len(growths := [*_growths(analysis)]) <= _MAX_STEPS else []
    for point in analysis.points:
        best_first = analysis.rankings[analysis.headline.name, point].order
        own = {name: analysis.cell(name, point) for name in analysis.names}
        pairs = [pair for pair in analysis.pairs if all(own[name].has_figures for name in pair)]
        if order != "command":
            pairs.sort(key=lambda pair: best_first.index(pair[0]))
        told = dict.fromkeys((analysis.headline, *analysis.experiment.outputs))
        for metric in analysis.metrics if is_load(analysis) else told:
            for pair in pairs:
                sentence = pair_sentence(analysis, metric, *pair, point)
                label = f"{analysis.label(point)}: " if point.levels else ""
                sentences.append(replace(sentence, text=f"{label}{sentence.text}{behind}"))
    return sentences


def _sweep(analysis: RunAnalysis) -> list[Sentence]:
    """For a command alone: the best level, equally good ones, each level over the previous one."""
    name, metric = analysis.names[0], analysis.headline
    values = {point: value for point in analysis.points if (value := analysis.figure(name, point))}
    points = [*values]
    best = min(points, key=lambda point: values[point].estimate * (1 if metric.smaller_is_better else -1))
    pairs = len(points) * (len(points) - 1) // 2
    others = [*analysis.over_points(name, best, [point for point in points if point != best], pairs)]
    figure = units.with_interval(values[best], metric.unit)
    text = f"{analysis.label(best)} has the best {metric.noun}, {figure}"
    for verdict, words in ((Verdict.EQUIVALENT, "as good"), (Verdict.INCONCLUSIVE, "too close to call")):
        if names := [each.contender for each in others if each.verdict is verdict]:
            text += f"; {words}: {listed(names)}"
    sentences = [Sentence(text)]
    for before, point in itertools.pairwise(points) if len(points) <= _MAX_STEPS else ():
        steps = analysis.over_points(name, before, [point], len(points) - 1)
        sentences += [comparison_sentence(each, metric, analysis.experiment.margin) for each in steps]
    return sentences


def _growths(analysis: RunAnalysis) -> Iterator[Sentence]:
    """How the headline of commands grows with each parameter: the power over all of its levels."""
    noun, is_alone = analysis.headline.noun, len(analysis.names) == 1
    for growth in analysis.growth if analysis.measurement.name == COMMAND.name else ():
        over = growth.law.over
        for (name, fixed), power in growth.values.items():
            low, high = power.low, power.high
            if low is None or high is None:
                continue
            how = "grows with" if low > 0 else "falls with" if high < 0 else "may depend on"
            if low > -_FLAT and high < _FLAT:
                how = "hardly depends on"
            elif low > 1 - _FLAT and high < 1 + _FLAT:
                how = "is about linear in"
            at = f" at {fixed}" if fixed.levels else ""
            text = f"{noun} {how} {over}{at}: as {over}^{units.with_interval(power, '')}"
            yield Sentence(capitalised(text) if is_alone else f"{possessive(name)} {text}")


def table(analysis: RunAnalysis, order: str = "auto") -> TableData:
    """Medians, best first, with counts of servers, or the spread of commands, over their parameters."""
    noun, point = analysis.headline.noun, analysis.points[0]
    title = "Medians over blocks"
    subtitle = f"{noun} with its 95 % interval; ratios are of the {noun}, from pairs inside blocks"
    if point.levels:
        return cells.table(title, _scan_rows(analysis, order), subtitle, narrow=reversed(_SPREAD))
    rows, whole = point_rows(analysis, point), list[Row]()
    shown = [] if order == "auto" else [cell.contender for cell in in_order(analysis, order)]
    for name in [*shown, *(name for name in rows if name not in shown)]:
        ((_, label), *row), metrics = rows[name]
        described = analysis.descriptions.get(Cell(name, point))
        spread = [] if is_load(analysis) else _spread(described, analysis.headline)
        more = [*spread, *metrics, *(_counts(analysis, name) if is_load(analysis) else [])]
        whole.append([("", label), *row, *more])
    others = [column for column, _ in more]
    # A first look has the mean and the first of the other metrics besides.
    first_look = {_SPREAD[0], *others[len(_SPREAD) : len(_SPREAD) + 1]}
    first_look |= {metric.title for metric in analysis.experiment.outputs}
    extra = [] if is_load(analysis) else [column for column in others if column not in first_look]
    # Sentences have the verdicts already; without them a row says little.
    narrow = (*reversed(others), "rank", "verdict")
    return cells.table(title, whole, subtitle, notes=point_notes(analysis, point), narrow=narrow, extra=extra)


def _counts(analysis: RunAnalysis, name: str) -> Row:
    """The counts of a server's loads."""
    counts = analysis.load_totals[name]
    has_messages = any(each["messages"] for each in analysis.load_totals.values())
    columns = ("answered", *(["messages"] if has_messages else []), "unfinished")
    row: Row = [(column, TableCell(f"{counts[column]:,}")) for column in columns]
    return [*row, ("errors", TableCell(f"{counts['errors']:,}", "failed" if counts["errors"] else "number"))]


def _spread(description: Description | None, metric: Metric) -> Row:
    """Mean with standard deviation, the least and the most value."""
    if description is None:
        return [(column, cells.ABSENT) for column in _SPREAD]
    ends = (units.quantity(end, metric.unit) for end in (description.least, description.most))
    texts = map(TableCell, (mean(description, metric.unit), *ends))
    return list(zip(_SPREAD, texts, strict=True))


def in_order(analysis: RunAnalysis, order: str) -> list[Cell]:
    """The cells with figures: point by point in the order of the commands, or the shortest mean first."""
    described = analysis.descriptions
    if order == "mean-time":
        return sorted(described, key=lambda cell: described[cell].mean)
    return list(described)


def over_first(analysis: RunAnalysis) -> dict[Point, Comparison]:
    """A command alone at each point over itself at the first with figures; empty for several commands."""
    if len(analysis.names) > 1 or not analysis.descriptions:
        return {}
    first, *others = [cell.point for cell in analysis.descriptions]
    compared = analysis.over_points(analysis.names[0], first, others, len(analysis.points) - 1)
    return {each.point: each for each in compared}


def _scan_rows(analysis: RunAnalysis, order: str) -> list[Row]:
    """A row per point and command: headline, its ratio there or over the first point; or how it failed."""
    headline, baseline = analysis.headline, analysis.experiment.baseline
    first = next((cell.point for cell in analysis.descriptions), analysis.points[0])
    is_alone, comparisons = len(analysis.names) == 1, over_first(analysis)
    rows: list[Row] = []
    shown = in_order(analysis, order)
    failed = [cell for cell, own in analysis.cells.items() if own.outcomes and not own.has_figures]
    in_turn = (cell for cell in analysis.cells if cell in (*shown, *failed))
    for cell in [*shown, *failed] if order == "mean-time" else in_turn:
        row: Row = [(name, str(level)) for name, level in cell.point.levels]
        row += [] if is_alone else [("command", cell.contender)]
        row.append((headline.title, cells.figure(analysis.cells[cell], headline, with_interval=True)))
        if is_alone:
            comparison, is_baseline = comparisons.get(cell.point), cell.point == first
        else:
            comparison = analysis.comparison(headline, cell.contender, baseline, cell.point)
            is_baseline = cell.contender == baseline
        ratio = cells.ratio(comparison, headline, is_baseline=is_baseline)
        row.append((f"× {first if is_alone else baseline}", ratio))
        rows.append([*row, *_spread(analysis.descriptions.get(cell), headline)])
    return rows


def _alone_lines(analysis: RunAnalysis, cell: Cell, description: Description) -> list[tuple[str, str]]:
    """The figures of a command, each with its label."""
    headline, metrics = analysis.headline, analysis.cells[cell].metrics
    lines = []
    if value := metrics.get(headline.name):
        known = " with its 95 % interval" if value.low is not None else ""
        text = f"{units.with_interval(value, headline.unit)}   median{known}"
        lines.append((headline.title, f"{text}, {units.count(description.n, 'execution')}"))
    least, most = (units.quantity(value, headline.unit) for value in (description.least, description.most))
    lines += [("mean ± σ", mean(description, headline.unit)), ("min … max", f"{least} … {most}")]
    others = [each for each in analysis.measurement.metrics if each != headline and each.name in metrics]
    medians = [f"{each.noun} {units.quantity(metrics[each.name].estimate, each.unit)}" for each in others]
    lines += [("medians", ", ".join(medians))] if medians else []
    outliers = sorted(description.outliers)
    first_and_last = dict.fromkeys(outliers[:1] + outliers[-1:])
    ends = " … ".join(units.quantity(end, headline.unit) for end in first_and_last)
    text = f"{len(outliers)} of {description.n} ({ends}), not in the histogram; other programs may have run"
    return [*lines, ("outliers", text if outliers else "none")]


def histogram(description: Description, metric: Metric) -> list[str]:
    """A line for each bin: where it begins, a bar, how many values."""
    most = max(each.count for each in description.bins)
    # One scale for all, with digits enough to tell the edges apart.
    factor, name = units.scale(description.bins[-1].high, metric.unit)
    width = description.bins[0].high - description.bins[0].low
    digits = units.digits_between(width / factor)
    edges = [f"{each.low / factor:.{digits}f} {name}" for each in description.bins]
    longest = max(map(len, edges))
    return [
        f"{edge:>{longest}}  {terminal.bar(each.count / most, _BAR_WIDTH)} {each.count}"
        for edge, each in zip(edges, description.bins, strict=True)
    ]


def mean(description: Description, unit: str) -> str:
    """`24.9 ms ± 18.0 ms`; without the deviation where there is one value."""
    factor, name = units.scale(description.mean, unit)
    values = [units.significant(description.mean / factor)]
    if description.deviation is not None:
        values.append(units.at_place_of(description.deviation / factor, description.mean / factor))
    return " ± ".join(f"{value} {name}".rstrip() for value in values)
