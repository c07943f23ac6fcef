"""A run in sentences: whoever changes one reads here what comes of it."""

import functools
import html
import io
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ringside.analysis import plausibility
from ringside.analysis.answers import NOT_WARM, WAITING, WEAK_FLOOR
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import OverviewCell, overview
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.render.export.documents import document
from ringside.render.site import site
from ringside.render.text import markdown, terminal
from ringside.render.text.answers import answers, pair_sentence, short_answer
from ringside.render.text.words import reserve
from tests.support import golden
from tests.support.analyses import HOP, Exact, Values, analyse, analysis, medians, planned, point, scaled
from tests.support.cases import cases
from tests.support.simulated import contradictions, simulated

P, Q, R = point(nodes=10), point(nodes=20), point(nodes=30)
OTHER_CODES = {WEAK_FLOOR, WAITING, NOT_WARM, "generator-bound", "noisy-neighbour"}


def run(
    values: dict[str, float], *others: dict[str, float], metric: str = "hop_ns", floor: str | None = None
) -> RunAnalysis:
    """A run at as many points as there are figures of contenders."""
    figures: dict[tuple[str, Point], dict[str, Values]] = {}
    for place, at in zip((P, Q, R), (values, *others), strict=False):
        figures |= medians(place, metric=metric, **at)
    return analysis(figures, measurement=Exact(), metrics=[metric], floor=floor)


def text(of: RunAnalysis) -> str:
    """The whole answer."""
    return ". ".join(sentence.text for sentence in answers(of))


SWINGS = (1.3, 0.7, 1.2, 0.8, 1.1, 0.9, 1.0)
CLOSE = (1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0)


def beside(value: float, changes: Sequence[float]) -> list[float]:
    return [one * change for one, change in zip(scaled(value), changes, strict=True)]


def near_the_first(changes: Sequence[float]) -> RunAnalysis:
    """go as fast as erlang but for these changes; ruby and node behind, not told apart."""
    values = medians(P, erlang=100.0, ruby=310.0)
    values["go", P] = {"hop_ns": beside(100.0, changes)}
    values["node", P] = {"hop_ns": beside(300.0, SWINGS)}
    return analysis(values, measurement=Exact())


def open_point() -> RunAnalysis:
    """The first place is decided at one point of three; at one, no trial has a figure."""
    values = medians(P, Q, erlang=100.0, go=150.0)
    values["go", Q] = {"hop_ns": beside(100.0, SWINGS)}
    values |= {(name, R): {} for name in ("erlang", "go")}
    return analysis(values, measurement=Exact())


def failing(*, ended: bool = True) -> RunAnalysis:
    """go is faster in two of seven blocks, and crashes in the others."""
    trials = []
    for block, ms in enumerate(scaled(100.0), 1):
        times = {"erlang": ms, "go": 0.8 * ms if block <= 2 else None}
        trials += [
            Trial(block, place, Cell(name, P), Outcome.OK, "", phases={"hop_ns": (round(time * 1e6),)})
            if time
            else Trial(block, place, Cell(name, P), Outcome.CRASHED, "exit status 3")
            for place, (name, time) in enumerate(times.items())
        ]
    return analyse(planned(("erlang", "go"), [P], ended=ended), trials, Exact())


@pytest.mark.parametrize("code", sorted({*plausibility.CODES, *plausibility.BEYOND, *OTHER_CODES}))
def test_each_reason_for_a_reserve_has_words(code: str) -> None:
    assert reserve([code]).startswith("; not certain, since ")


def test_who_failed_in_most_blocks_is_not_the_best() -> None:
    """The blocks that are left may be those in which it was fast."""
    found = failing()
    assert found.rankings["hop_ns", P].order == ("erlang", "go")
    assert overview([found]).columns[0].cell("go") == OverviewCell(None, (2, 2), "", Outcome.CRASHED)


def classes(**hops: float) -> RunAnalysis:
    kinds: dict[str, ContenderClass] = {"erlang": "bare", "python": "bare"}
    return analysis(medians(P, metric="hop_ns", **hops), measurement=Exact(), baseline="go", kinds=kinds)


def alike(number: int) -> RunAnalysis:
    """So many contenders in a single block."""
    return analysis({(f"c{each:02}", P): {"hop_ns": [100.0 + each]} for each in range(number)})


def small_differences(**changes: Any) -> RunAnalysis:
    """Two that differ from a third by 1 to 7 %, and by 80 %."""
    values = medians(P, go=100.0, perl=180.0)
    slower = (1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07)
    values["ruby", P] = {"hop_ns": tuple(map(operator.mul, scaled(100.0), slower))}
    return analysis(values, measurement=Exact(), **{"until_decided": True, "blocks": 40} | changes)


def test_a_small_ratio_at_which_a_run_stopped_is_likely_nearer_to_1() -> None:
    """In every form; not the large ratio beside it, nor where all planned blocks were made."""
    mark = " (stopped when decided: likely nearer to 1)"
    stopped = small_differences()
    assert text(stopped).endswith(
        f"ruby takes 4 % longer than go (1–7 %){mark}, perl 1.80 times as long (1.80–1.80)"
    )
    pairs = {name: pair_sentence(stopped, HOP, name, "go", P).text for name in ("perl", "ruby")}
    assert {name: pair.endswith(mark) for name, pair in pairs.items()} == {"perl": False, "ruby": True}
    assert "Stopped when decided, so likely nearer to 1: the ratios of ruby." in markdown.render(stopped)
    values = document(stopped)
    assert [(each["contender"], each["overstated"]) for each in values["comparisons"]] == [
        ("perl", False),
        ("ruby", True),
    ]
    for changes in ({"blocks": 7}, {"until_decided": False}):
        whole = small_differences(**changes)
        assert mark not in text(whole)
        assert [each["overstated"] for each in document(whole)["comparisons"]] == [False, False]


def of_two(erlang: Values, go: Values, **options: Any) -> RunAnalysis:
    values = {("erlang", P): {"hop_ns": erlang}, ("go", P): {"hop_ns": go}}
    return analysis(values, measurement=Exact(), **options)


def all_failed() -> RunAnalysis:
    cells = [(block, Cell(name, P)) for block in range(1, 8) for name in ("erlang", "go")]
    trials = [Trial(block, 0, cell, Outcome.CRASHED, "exit status 3") for block, cell in cells]
    return analyse(planned(("erlang", "go"), [P]), trials, Exact())


def with_floor(hop: float, points: int = 1) -> RunAnalysis:
    return run(*[{"python-threads": 100.0, "go": 150.0, "limit": hop}] * points, floor="limit")


RUNS: dict[str, Callable[[], RunAnalysis]] = {
    "one contender": lambda: run({"go": 100.0}),
    "one contender at three points": lambda: run({"go": 300.0}, {"go": 100.0}, {"go": 200.0}),
    "three contenders": lambda: run({"erlang": 100.0, "go": 150.0, "pony": 800.0}),
    "the floor behind": lambda: run({"erlang": 100.0, "go": 150.0, "limit": 8.0}, floor="limit"),
    "the floor as baseline": lambda: run({"limit": 8.0, "erlang": 100.0}, floor="limit"),
    "the floor alone": lambda: run({"limit": 8.0}, {"limit": 32.0}, floor="limit"),
    "the floor alone here": lambda: run({"limit": 8.0, "go": 100.0}, {"limit": 8.0}, floor="limit"),
    "the floor alone elsewhere": lambda: run({"limit": 8.0}, {"limit": 8.0, "go": 100.0}, floor="limit"),
    "the floor is worse": lambda: with_floor(120.0),
    "the floor is no better": lambda: with_floor(100.0),
    "the floor is worse at both points": lambda: with_floor(120.0, 2),
    "the same order": lambda: run({"erlang": 100.0, "go": 150.0}, {"erlang": 100.0, "go": 190.0}),
    "another first": lambda: run({"erlang": 300.0, "go": 150.0}, {"erlang": 100.0, "go": 190.0}),
    "another order behind": lambda: run({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 3.0, "c": 2.0}),
    # A place is shared only by those that are equivalent, and "last" is only who has a rank of its own.
    "two that are equivalent": lambda: near_the_first(CLOSE),
    "two that are not told apart": lambda: near_the_first(SWINGS),
    "an open point": open_point,
    "one point without trials": lambda: analysis(
        medians(P, erlang=1.0, go=2.0), unavailable=[("erlang", Q), ("go", Q)], measurement=Exact()
    ),
    "less than the margin": lambda: run({"erlang": 100.0, "go": 101.0}),
    "more is better": lambda: run({"erlang": 120.0, "go": 100.0}, metric="rate"),
    "a small difference": small_differences,
    "no figures": lambda: of_two([None] * 7, [None] * 7),
    "one block": lambda: of_two([100.0], [3100.0]),
    "three blocks": lambda: of_two([100.0] * 3, [3100.0] * 3),
    "cut off": lambda: of_two(scaled(100.0), scaled(3100.0), blocks=300, ended=False),
    "no trial": lambda: analyse(planned(["go"], [P], ended=False), [], Exact()),
    "ties": lambda: of_two([100.0] * 7, [100.0] * 7),
    "no block of both": lambda: of_two([100.0, None] * 4, [None, 150.0] * 4),
    "all failed": all_failed,
    "one failed in most blocks": failing,
    "cut off, and one failed in most blocks": lambda: failing(ended=False),
    "the baseline failed": lambda: analysis(
        medians(P, go=100.0, node=300.0), failed=[("erlang", P)], measurement=Exact(), baseline="erlang"
    ),
    "the only one of its class": lambda: classes(go=110.0, erlang=41.0),
    "two of a class": lambda: classes(go=100.0, rust=150.0, erlang=2.0, python=300.0),
    "four in one block": lambda: alike(4),
    "forty in one block": lambda: alike(40),
    # Seven blocks tell them apart by steps of 1.5 and more, and leave forty that are alike open.
    "forty apart": lambda: run({f"c{number:02}": 1.6**number for number in range(40)}),
    "forty alike": lambda: run({f"c{number:02}": 100.0 + number / 100 for number in range(40)}),
}


@functools.cache
def made_up(name: str) -> RunAnalysis:
    return RUNS[name]()


@pytest.mark.parametrize(("times", "noise"), cases(__file__, "the_answer_never_contradicts_its_table"))
def test_the_answer_never_contradicts_its_table(times: Sequence[float], noise: float) -> None:
    """`benchmarks/simulated_runs.py` has a thousand more of such runs."""
    for seed in range(4):
        for most in (7, 40):
            made = simulated(times, most, seed, lambda dice: dice.gauss(0, noise))
            assert contradictions(made) == []


def test_answers_read_as_they_did() -> None:
    lines = []
    for name in RUNS:
        of = made_up(name)
        lines += [f"# {name}", *(f"  {each.text} ({each.kind})" for each in answers(of))]
        lines.append(f"  in short: {short_answer(of)}")
    golden.check("answers_of_made_up_runs.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", RUNS)
def test_each_form_has_the_same_sentences(monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Path) -> None:
    of = made_up(name)
    assert answers(of)
    # Without its charts, which say nothing.
    monkeypatch.setattr(site, "missing", lambda: True)
    terminal.show_all(of, Console(file=(out := io.StringIO()), width=2000))
    site.write_post(tmp_path / "post", [of])
    forms = [
        out.getvalue(),
        markdown.render(of),
        " ".join(document(of)["answers"]),
        html.unescape(site.render_page([of])),
        (tmp_path / "post" / "post.md").read_text(),
    ]
    for sentence in answers(of):
        assert [sentence.text in form for form in forms] == [True] * len(forms)
    assert html.escape(short_answer(of)) in site.badge(of).decode()
