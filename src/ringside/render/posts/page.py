"""docs/POSTS.md: a section of prose for each post, around the figures of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ringside.analysis.posts import PostData
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Published
from ringside.render.posts import words
from ringside.render.text.answers import platform
from ringside.render.text.heading import machine
from ringside.render.text.markdown import escape


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a picture: of a group, in one of its series, in `unit` of the picture."""

    group: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """What a picture shows; of bars on a logarithmic axis. `unit`: empty for a ratio."""

    title: str
    axis: str
    unit: str
    bars: tuple[Bar, ...]

    @property
    def is_measured(self) -> bool:
        """Whether it has more than the source's figures, whose series is a year."""
        return any(not bar.series.isdigit() for bar in self.bars)


@dataclass(frozen=True, slots=True)
class Prose:
    """The paragraphs of a post, each one string of sentences. `then`: what was asked and found; `did`: what
    was done now; `now`: what is found; `why`: why it differs, empty where it does not; `unknown`: what cannot
    be known."""

    then: str
    did: str
    now: Sequence[str]
    why: Sequence[str]
    unknown: Sequence[str]
    picture: Picture | None = None


# Of a post: its prose from its figures.
Writer = Callable[[PostData], Prose]

_HEADINGS = (
    ("then", "Asked and found then"),
    ("did", "What we did"),
    ("now", "What we find"),
    ("why", "Why it differs"),
    ("unknown", "What cannot be known"),
)


def picture_name(source: Published) -> str:
    """The file of a post's picture, in docs/images."""
    return f"post-{source.name}.svg"


def section(
    data: PostData, prose: Prose, runs: Sequence[RunAnalysis], older: Sequence[RunAnalysis]
) -> list[str]:
    """A post's part of the page, as paragraphs of Markdown. `runs`: those of its own experiments; `older`:
    these on older runtimes."""
    source = data.source
    parts = [f"## {escape(source.title)} ({escape(source.date)})"]
    for name, heading in _HEADINGS:
        text = getattr(prose, name)
        sentences = [text] if isinstance(text, str) else list(text)
        if name == "did":
            sentences.append(f"The runtimes: {versions}." if (versions := _versions(runs)) else "")
        if body := " ".join(filter(None, sentences)):
            parts.append(f"**{heading}.** {body}")
        if name == "why" and (body := _turned(data, older)):
            parts.append(f"**With older runtimes.** {body}")
    if prose.picture and prose.picture.is_measured:
        parts.append(f"![{escape(prose.picture.title)}](images/{picture_name(source)})")
    commands = ", ".join(f"`ringside run {name}`" for name in dict.fromkeys(_experiments(data, runs)))
    links = "[CLAIMS](CLAIMS.md), [tables and pictures](site/posts.html)"
    parts.append(f"**To repeat it.** {commands}. All figures: {links}.")
    return parts


def _experiments(data: PostData, runs: Sequence[RunAnalysis]) -> Iterable[str]:
    """What was run; where nothing was, what would test the claims."""
    if runs:
        return [run.experiment.name for run in runs]
    return [finding.experiment for finding in data.findings.values() if finding.experiment]


def _versions(runs: Sequence[RunAnalysis]) -> str:
    """What the programs of some runs run on."""
    platforms = {
        platform(contender): None
        for run in runs
        for contender in run.contenders.values()
        if contender.platform and contender.version and contender.kind != "floor"
    }
    return escape(words.listed(sorted(platforms)))


def _turned(data: PostData, older: Sequence[RunAnalysis]) -> str:
    """Which conclusions turn on the versions of runtimes; empty where none is decided with both."""
    turned, both = data.turned()
    if not both:
        return ""
    text = f"With {_versions(older)}, in [another record](../records/README.md),"
    if not turned:
        verb = "conclusion that both decide comes" if both == 1 else "conclusions that both decide come"
        return f"{text} the {words.number(both)} {verb} out the same."
    claims = "; ".join(escape(each.text.rstrip(".")) for each in turned)
    verb = "comes" if len(turned) == 1 else "come"
    return (
        f"{text} {words.number(len(turned))} of {words.number(both)} conclusions that both decide {verb} out "
        f"otherwise: {claims}."
    )


def machines(runs: Sequence[RunAnalysis]) -> str:
    """Where and when some runs were made; at least one."""
    places = dict.fromkeys(machine(run.run.host) for run in runs)
    days = sorted({run.run.started_at[:10] for run in runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{escape('; '.join(places))}; {when}"
