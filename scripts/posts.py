"""Makes docs/POSTS.md from `posts.md.j2`: prose written by hand, with figures from the records. A sentence
that depends on figures contains its condition: `above`, `below` or `requires`. If a record breaks a
condition, the build stops and names the sentence, which must be rewritten."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import judge_claims
from ringside.model.catalogue import Published
from ringside.model.design import Cell, Level, Point
from ringside.model.results import Answer, ClaimResult, Interval
from ringside.render.text.markdown import escape
from ringside.render.text.words import machine
from ringside.stats.paired import paired_ratio

TEMPLATE = Path(__file__).parent / "posts.md.j2"
# The sources that are posts, in the order in which they were written: the one of 2009 revises one of 2007.
POSTS = (
    *("2009-erlang-vs-stackless", "2007-ring-showdown", "2011-background-jobs", "2011-go-code-jam"),
    *("2011-go-c10k", "2015-python-vs-go", "2016-go-fanout"),
)
# Ratios between this number and its inverse are no difference, as in verdicts.
MARGIN = 1.05
_DECIDED = (Answer.CONFIRMED, Answer.REFUTED, Answer.OTHER_CONDITIONS)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# Replaces a condition that does not hold. No text contains it.
_BROKEN = "\0"


@dataclass(frozen=True, slots=True)
class Place:
    """Points of a workload that have these levels."""

    workload: str
    levels: Mapping[str, Level]

    def at(self, **levels: Level) -> Place:
        return Place(self.workload, {**self.levels, **levels})

    def point(self, run: RunAnalysis) -> Point | None:
        """The last of these points in a run, which is the largest."""
        levels = self.levels.items()
        points = [point for point in run.points if levels <= point.as_dict().items()]
        return points[-1] if points and run.experiment.workload == self.workload else None


def at(workload: str, **levels: Level) -> Place:
    return Place(workload, levels)


def ratio_of(
    run: RunAnalysis, metric: str, one: tuple[str, Point | None], other: tuple[str, Point | None]
) -> Interval | None:
    """A metric of one contender at a point, divided by that of another contender, from pairs inside blocks.
    None if there are no pairs."""
    (above, point), (below, elsewhere) = one, other
    if point is None or elsewhere is None:
        return None
    merged = run.examination.observations.percentile
    if point == elsewhere and merged(metric, Cell(above, point)):
        # Computed from the requests of all blocks together, as tables show a high percentile.
        comparison = run.comparison(run.measurement.metric(metric), above, below, point)
        assert comparison
        return comparison.ratio
    return paired_ratio(
        run.values(metric, above, point), run.values(metric, below, elsewhere), run.confidence
    )


@dataclass(frozen=True, slots=True)
class Quoted:
    """A ratio that the page prints or uses in a condition, and its experiment."""

    workload: str
    experiment: str
    metric: str
    above: str
    below: str


class Post:
    """A source with its figures, the runs of a record, and the answers of these runs to its claims."""

    def __init__(
        self,
        source: Published,
        runs: Sequence[RunAnalysis],
        older: Sequence[RunAnalysis] = (),
        elsewhere: Sequence[RunAnalysis] = (),
    ) -> None:
        """`older`: runs on older runtimes. `elsewhere`: runs apart from the suite. They supply figures only
        if `runs` have none, and decide no claim."""
        self.source = source
        self.runs, self.elsewhere = [*runs, *elsewhere], elsewhere
        self.findings = {each.claim.id: each.finding for each in judge_claims([source], runs)}
        self.older = Post(source, older) if older else None
        self.own = [run for run in self.runs if run.experiment.published == source.name]
        self.quoted: set[Quoted] = set()

    @property
    def heading(self) -> str:
        return f"{escape(self.source.title)} ({escape(self.source.date)})"

    def answers(self) -> Iterator[str]:
        """The answer to each claim; `FEWER_CORES` if it holds on fewer cores than the source had."""
        for claim in self.source.claims:
            answer = self.findings[claim.id].answer
            is_ours = answer is Answer.OTHER_CONDITIONS and claim.test.own
            yield "FEWER_CORES" if is_ours else answer.name

    def finding(self, claim: str) -> ClaimResult:
        return self.findings[claim]

    def says(self, claim: str, *answers: str) -> bool:
        """Whether the runs give a claim one of these answers, such as `refuted`."""
        return self.findings[claim].answer.name.lower() in answers

    def decided(self) -> list[str]:
        """The claims that are decided both by these runs and by those on older runtimes."""
        both = (self.findings, self.older.findings if self.older else {})
        return [id for id in both[0] if all(id in of and of[id].answer in _DECIDED for of in both)]

    def turned(self) -> list[str]:
        """Those of the `decided` claims whose two answers differ."""
        assert self.older
        return [
            id
            for id in self.decided()
            if (self.findings[id].answer is Answer.REFUTED)
            != (self.older.findings[id].answer is Answer.REFUTED)
        ]

    def run(self, names: Iterable[str], *places: Place) -> RunAnalysis:
        """The run that has these contenders at all of these places. Runs of the source's own experiments come
        first, then runs on the first host, then runs with more points. Raises SystemExit if there is none."""
        fitting = (
            run for run in self.runs if {*names} <= {*run.names} and all(each.point(run) for each in places)
        )
        found = max(
            fitting,
            key=lambda run: (run in self.own, run not in self.elsewhere, len(run.points)),
            default=None,
        )
        if found is None:
            raise SystemExit(f"{self.source.name}: no run has {', '.join(names)} at {places[0]}")
        return found

    def ratio(
        self, metric: str, above: str, below: str, place: Place, other: Place | None = None
    ) -> Interval:
        """A metric of one contender divided by that of another, from pairs inside blocks of one run. `other`:
        the place of the second contender, if it is a different one."""
        run = self.run((above, below), place, other or place)
        self.quoted.add(Quoted(place.workload, run.experiment.name, metric, above, below))
        ratio = ratio_of(run, metric, (above, place.point(run)), (below, (other or place).point(run)))
        if ratio is None:
            raise SystemExit(f"{self.source.name}: {above} and {below} have no {metric} at {place}")
        return ratio

    def value(self, metric: str, name: str, place: Place) -> Interval:
        """The median of a metric over blocks. If there are enough requests, a high percentile is that of all
        requests together."""
        run = self.run((name,), place)
        point = place.point(run)
        has_values = point and run.values(metric, name, point)
        found = run.cell(name, point).metrics.get(metric) if point and has_values else None
        if found is None:
            raise SystemExit(f"{self.source.name}: {name} has no {metric} at {place}")
        return found

    def then(self, metric: str, name: str, **levels: Level) -> float:
        """The source's own figure."""
        return next(
            figure.value
            for figure in self.source.figures
            if (figure.metric, figure.contender) == (metric, name)
            and levels.items() <= dict(figure.point).items()
        )

    def means_of_three(
        self, metric: str, above: str, below: str, place: Place, other: Place
    ) -> tuple[float, float]:
        """The smallest and the largest ratio that means of three successive blocks would have given."""
        run = self.run((above, below), place, other)
        sides = []
        for name, each in ((above, place), (below, other)):
            point = each.point(run)
            values = run.values(metric, name, point) if point else {}
            sides.append([values[block] for block in sorted(values)])
        threes = [
            sum(sides[0][at : at + 3]) / sum(sides[1][at : at + 3]) for at in range(min(map(len, sides)) - 2)
        ]
        return min(threes), max(threes)

    def levels(self, workload: str, factor: str) -> list[Any]:
        """The levels of a factor in the source's own experiments, ascending."""
        points = (point for run in self.own if run.experiment.workload == workload for point in run.points)
        return sorted({point[factor] for point in points})

    def sizes(self, trace: int = 0) -> set[tuple[int, int]]:
        """Nodes and messages of the rings in the source's own experiments: with a line per message (1) or
        without."""
        rings = (run for run in self.own if run.experiment.workload == "ring")
        points = (point.as_dict() for run in rings for point in run.points)
        return {(int(at["nodes"]), int(at["messages"])) for at in points if at.get("trace", 0) == trace}

    def sizes_of_2009(self, trace: int = 0) -> set[tuple[int, int]]:
        """The sizes that belong to the two sweeps of that post."""
        sizes = self.sizes(trace)
        return {size for size in sizes if 100 in size and max(size) in range(10_000, 90_001, 10_000)}

    def is_bound(self, name: str, place: Place) -> bool:
        """Whether the load engine limited a contender's figures there."""
        run = self.run((name,), place)
        return any(each.code == "generator-bound" and name in each.subjects for each in run.diagnostics)

    def is_two_fold(self, metric: str, name: str, place: Place) -> bool:
        """Whether a contender's blocks form two groups whose distance is larger than their widths."""
        run = self.run((name,), place)
        point = place.point(run)
        values = sorted(run.values(metric, name, point).values()) if point else []
        gap, cut = max((high / low, index) for index, (low, high) in enumerate(pairwise(values), 1))
        return 1 < cut < len(values) - 1 and gap > max(values[cut - 1] / values[0], values[-1] / values[cut])

    def lines(self, claim: str) -> str:
        """How many lines each program of a claim adds, in ascending order: `17 in python-threads, …`."""
        sizes = re.findall(r"([\w@-]+) (\d+)", self.findings[claim].sentence.partition(";")[0])
        *first, last = [
            f"{size} lines in `{name}`" for name, size in sorted(sizes, key=lambda each: int(each[1]))
        ]
        return f"{', '.join(first)} and {last}"

    @staticmethod
    def explains(effect: Interval, gap: Interval) -> bool:
        """Whether a condition removes at least half of a gap, on a logarithmic scale. `gap`: the ratio
        without the condition; `effect`: that ratio divided by the ratio with it."""
        return is_more(effect) and is_more(gap) and effect.estimate**2 >= gap.estimate


def versions(runs: Iterable[RunAnalysis]) -> str:
    """The runtimes of the programs in runs; it skips programs without a runtime."""
    contenders = (each for run in runs for each in run.contenders.values())
    names = {each.described for each in contenders if each.runs_on and each.version and each.kind != "floor"}
    *first, last = sorted(names)
    return escape(f"{', '.join(first)} and {last}" if first else last)


def posts_of(
    sources: Iterable[Published],
    runs: Sequence[RunAnalysis],
    older: Sequence[RunAnalysis] = (),
    elsewhere: Sequence[RunAnalysis] = (),
) -> dict[str, Post]:
    by_name = {source.name: source for source in sources}
    return {name: Post(by_name[name], runs, older, elsewhere) for name in POSTS}


def is_more(ratio: Interval) -> bool:
    return ratio.low is not None and ratio.low > 1


def is_less(ratio: Interval) -> bool:
    return ratio.high is not None and ratio.high < 1


def is_alike(ratio: Interval) -> bool:
    if ratio.low is None or ratio.high is None:
        return False
    return 1 / MARGIN < ratio.low <= 1 <= ratio.high < MARGIN


def is_unclear(ratio: Interval) -> bool:
    return not (is_more(ratio) or is_less(ratio) or is_alike(ratio))


def times(ratio: Interval) -> str:
    """`7.2 times (6.9–7.5)`."""
    text, ends = units.times(ratio)
    return f"{text} ({ends})" if ends else text


def number(value: int) -> str:
    """`seven`; in digits from eleven on."""
    return _NUMBERS[value] if value < len(_NUMBERS) else f"{value:,}"


def amount(value: Interval | float, unit: str) -> str:
    """A median with its unit, without the interval: `26.6 KiB`."""
    return units.quantity(value.estimate if isinstance(value, Interval) else value, unit)


def beyond(value: Interval, least: float, unit: str) -> str:
    """The distance of a median and its interval from a lower bound."""
    assert value.low is not None
    assert value.high is not None
    ends = (units.quantity(each - least, unit) for each in (value.low, value.high))
    return f"{units.quantity(value.estimate - least, unit)} ({'–'.join(ends)})"


def share(ratio: Interval) -> str:
    """The percentage by which a ratio is below 1: `22 % (20–27)`."""
    assert ratio.low is not None
    assert ratio.high is not None
    low, high = (f"{100 * (1 - end):.0f}" for end in (ratio.high, ratio.low))
    return f"{units.percent(1 - ratio.estimate)} ({low}–{high})"


def counted(value: int, verb: str) -> str:
    """`seven hold`, `one holds`."""
    plural = {"holds": "hold", "does": "do", "is": "are", "was": "were"}[verb]
    return f"{number(value)} {verb if value == 1 else plural}"


def requires(holds: bool) -> str:
    """Empty if the condition of a sentence holds; otherwise a mark that stops the build."""
    return "" if holds else _BROKEN


def above(ratio: Interval) -> str:
    """A ratio in words, for a sentence that is true only if the ratio is above 1."""
    return requires(is_more(ratio)) + times(ratio)


def below(ratio: Interval) -> str:
    """The inverse of a ratio in words, for a sentence that is true only if the ratio is below 1."""
    return requires(is_less(ratio)) + times(ratio.inverse)


def render(template: str, posts: Mapping[str, Post], **values: Any) -> str:
    """A page of Markdown, each paragraph on one line. Raises SystemExit with the sentences whose conditions
    do not hold."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(at=at, requires=requires)
    environment.filters.update(
        above=above,
        below=below,
        amount=amount,
        below_share=lambda ratio: requires(is_less(ratio)) + share(ratio),
        beyond=beyond,
        count=counted,
        duration=units.duration,
        number=number,
        percent=units.percent,
        ratio=lambda ratio: ", ".join(units.ratio_parts(ratio)),
        significant=units.significant,
        times=times,
    )
    environment.tests.update(more=is_more, less=is_less, alike=is_alike, unclear=is_unclear)
    text = environment.from_string(template).render(posts=posts, **values)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]
    broken = [
        sentence.replace(_BROKEN, "").strip()
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=\.)\s+(?!\s*[0-9a-z])", paragraph)
        if _BROKEN in sentence
    ]
    if broken:
        raise SystemExit("\n".join(["scripts/posts.md.j2: the records do not show this any more:", *broken]))
    return "\n\n".join(paragraphs) + "\n"


def document(posts: Mapping[str, Post], made: str, pictures: Mapping[str, str]) -> str:
    """The page. `made`: a sentence that says how the page is made; `pictures`: the title of each post's
    picture."""
    runs = next(iter(posts.values())).runs
    days = sorted({run.run.started_at[:10] for run in runs})
    return render(
        TEMPLATE.read_text(encoding="utf-8"),
        posts,
        made=made,
        pictures=pictures,
        answers=Counter(kind for post in posts.values() for kind in post.answers()),
        machines=escape("; ".join({machine(run.run.host).partition(", Linux")[0]: None for run in runs})),
        days=" to ".join(dict.fromkeys((days[0], days[-1]))),
        versions=versions(run for post in posts.values() for run in post.own),
        older=versions(run for post in posts.values() if post.older for run in post.older.own),
    )
