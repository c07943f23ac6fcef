"""docs/POSTS.md: what each post asked and found, and what runs say of it now, in prose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ringside.analysis.posts import PostData
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Published
from ringside.model.results import Answer
from ringside.render.posts import go_of_2011, ring, services, words
from ringside.render.posts.page import Picture, Prose, Writer, machines, picture_name, section
from ringside.units import count as counted

# In the order in which they were written: that of 2009 is the revision of one of 2007.
WRITERS: Mapping[str, Writer] = {
    "2009-erlang-vs-stackless": ring.rounds_of_2009,
    "2007-ring-showdown": ring.showdown_of_2007,
    "2011-background-jobs": go_of_2011.jobs,
    "2011-go-code-jam": go_of_2011.batch,
    "2011-go-c10k": go_of_2011.c10k,
    "2015-python-vs-go": services.python_and_go,
    "2016-go-fanout": services.gateway,
}


def proses(
    sources: Iterable[Published], runs: Sequence[RunAnalysis], older: Sequence[RunAnalysis] = ()
) -> Iterator[tuple[PostData, Prose, list[RunAnalysis]]]:
    """Each post's figures, its prose, and the runs of its own experiments, in the order of the posts.
    `older`: runs on older runtimes."""
    by_name = {source.name: source for source in sources}
    for name, write in WRITERS.items():
        if name in by_name:
            data = PostData.of(by_name[name], runs, older)
            yield data, write(data), _own(runs, name)


def _own(runs: Iterable[RunAnalysis], source: str) -> list[RunAnalysis]:
    """Those of a source's own experiments."""
    return [run for run in runs if run.experiment.published == source]


def document(
    sources: Iterable[Published], runs: Sequence[RunAnalysis], made: str, older: Sequence[RunAnalysis] = ()
) -> str:
    """The page. `made`: how it is made, a sentence. `older`: runs on older runtimes."""
    posts = list(proses(sources, runs, older))
    parts = [
        "# The posts, then and now",
        made,
        "Between 2007 and 2016 seven blog posts by five authors asked what concurrency costs in Erlang, Go "
        "and Python. Ringside runs their experiments again. Each section says what was asked and found, what "
        f"we did, what we find, and why it differs. {_summary(data for data, _, _ in posts)}",
        f"Measured on {machines(runs)}. Ratios are medians of pairs that ran one after the other, with 95 % "
        "intervals in brackets ([METHODOLOGY](METHODOLOGY.md)). Where an interval leaves open which of two "
        "is more, the text says so. What each claim requires, and all figures, are in [CLAIMS](CLAIMS.md).",
    ]
    for data, prose, own in posts:
        parts += section(data, prose, own, _own(older, data.source.name))
    return "\n\n".join(parts) + "\n"


# Of one conclusion, and of several.
_COUNTED = {
    Answer.CONFIRMED: ("holds", "hold"),
    Answer.REFUTED: ("does not", "do not"),
    Answer.OTHER_CONDITIONS: (
        "holds under conditions that its post does not name",
        "hold under conditions that the posts do not name",
    ),
    Answer.UNTESTABLE: ("cannot be tested as it was", "cannot be tested as they were"),
    Answer.INCONCLUSIVE: ("is left open by these runs", "are left open by these runs"),
    Answer.NOT_TESTED: (
        "was not tested, or cannot be on this machine",
        "were not tested, or cannot be on this machine",
    ),
}


def _summary(posts: Iterable[PostData]) -> str:
    """How many of the posts' conclusions hold."""
    answers = [finding.answer for data in posts for finding in data.findings.values()]
    counts = {answer: answers.count(answer) for answer in _COUNTED}
    parts = [
        f"{words.number(count)} {_COUNTED[answer][count > 1]}" for answer, count in counts.items() if count
    ]
    return f"Of {counted(len(answers), 'conclusion')} {words.listed(parts)}." if answers else ""


def pictures(sources: Iterable[Published], runs: Sequence[RunAnalysis]) -> dict[str, Picture]:
    """The picture of each post that has one, by its file."""
    return {
        picture_name(data.source): prose.picture
        for data, prose, _ in proses(sources, runs)
        if prose.picture and prose.picture.is_measured
    }
