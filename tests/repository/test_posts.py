"""docs/POSTS.md: figures of records in prose that is written by hand, each sentence with its condition."""

import importlib
import re
from typing import Any

import pytest
from scripts import posts

from ringside.cli import context
from ringside.model.results import Answer, ClaimResult, Interval
from ringside.stats.interval import median_interval
from tests.support import ROOT
from tests.support.analyses import interval, near
from tests.support.planted import BLOCKS, Levels, run_of

results: Any = importlib.import_module("scripts.results")
RING = context.catalogue().published("2007-ring-showdown")
SMALL: Levels = {"nodes": 100, "messages": 1000}
LARGE: Levels = {"nodes": 1000, "messages": 1000}
# Erlang's figures at the larger point are the same in each block, the others vary by some per cent.
RUN = run_of(
    "ring",
    "mine",
    [
        ("erlang", SMALL, "cpu_s", 1.0),
        ("multitask", SMALL, "cpu_s", 6.0),
        ("multitask", LARGE, "cpu_s", 30.0),
    ],
    [("erlang", LARGE, "cpu_s", 2.0)],
    source=RING.name,
)
# From another source, so that its figures come second.
OTHER = run_of("ring", "other", [("erlang", LARGE, "cpu_s", 50.0)], [], source="2011-go-c10k")
POST = posts.Post(RING, [OTHER, RUN])
AT_SMALL, AT_LARGE = posts.at("ring", nodes=100), posts.at("ring", messages=1000)
MORE, LESS = interval(3.9, 4.0, 4.1), interval(0.24, 0.25, 0.26)


def broken(error: pytest.ExceptionInfo[SystemExit]) -> list[str]:
    """The sentences that the build names."""
    first, *sentences = str(error.value).splitlines()
    assert first == "scripts/posts.md.j2: the records do not show this any more:"
    return sentences


def test_a_broken_condition_stops_the_build_and_names_its_sentence() -> None:
    template = (
        "**Now.** {{ requires(true) }}All is well. {{ requires(a is more) }}Erlang is behind.\n"
        "Go takes {{ a|above }} as long.\n\nC takes {{ b|above }} as long as fib(30) in 0.5 s.\nEnd."
    )
    assert posts.render(template, {}, a=MORE, b=MORE) == (
        "**Now.** All is well. Erlang is behind. Go takes 4.00 times (3.90–4.10) as long.\n\n"
        "C takes 4.00 times (3.90–4.10) as long as fib(30) in 0.5 s. End.\n"
    )
    with pytest.raises(SystemExit) as error:
        posts.render(template, {}, a=LESS, b=interval(0.9, 1.1, 1.2))
    assert [re.sub(r" \d.*", "", sentence) for sentence in broken(error)] == [
        "Erlang is behind.",
        "Go takes",
        "C takes",
    ]


@pytest.mark.parametrize("turned", ["ratios", "answers"])
def test_ratios_and_answers_in_the_page_have_conditions(turned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of them turned, each sentence that has one is named."""
    text = (ROOT / "docs" / "POSTS.md").read_text(encoding="utf-8")
    if turned == "ratios":
        monkeypatch.setattr(posts, "is_more", lambda ratio: False)
        monkeypatch.setattr(posts, "is_less", lambda ratio: False)
        expected = len(re.findall(r"times \(", text))
    else:
        monkeypatch.setattr(posts.Post, "says", lambda *words: False)
        expected = posts.TEMPLATE.read_text(encoding="utf-8").count("requires(post.says(")
    of = results.posts_of(results.read_records())
    titles = dict.fromkeys(of, "A picture")
    with pytest.raises(SystemExit) as error:
        posts.document(of, "Made by a test.", titles)
    named = "\n".join(broken(error))
    found = len(re.findall(r"times \(", named)) if turned == "ratios" else len(named.splitlines())
    assert found == expected > 10


def test_a_ratio_below_one_is_written_the_other_way_round() -> None:
    assert posts.above(MORE) == "4.00 times (3.90–4.10)"
    assert posts.below(LESS) == "4.0 times (3.8–4.2)"
    same, unclear, alone = interval(0.97, 1.0, 1.03), interval(0.8, 1.0, 1.3), Interval(5.0, None, None, 3)
    tests = (posts.is_more, posts.is_less, posts.is_alike, posts.is_unclear)
    for number, ratios in enumerate(([MORE, interval(1.02, 1.1, 1.2)], [LESS], [same], [unclear, alone])):
        for ratio in ratios:
            assert [test(ratio) for test in tests] == [number == each for each in range(4)]


def test_half_of_a_gap_by_logarithms_explains_it() -> None:
    gap = interval(8.5, 9, 9.5)
    assert posts.Post.explains(interval(2.9, 3.1, 3.3), gap)
    assert not posts.Post.explains(interval(2.5, 2.8, 2.9), gap)
    assert not posts.Post.explains(interval(0.9, 5, 20), gap)
    assert not posts.Post.explains(gap, interval(0.9, 5, 20))


def test_a_value_is_the_median_of_the_sources_own_run() -> None:
    """At the last point that has the levels, which is the largest."""
    assert POST.value("cpu_s", "erlang", AT_LARGE) == median_interval([2.0] * len(BLOCKS))
    found, expected = (
        POST.value("cpu_s", "multitask", AT_SMALL),
        median_interval([6.0 * noise for noise in BLOCKS]),
    )
    assert found.estimate == near(expected.estimate)


def test_a_ratio_is_one_over_the_other_inside_blocks() -> None:
    ratio = POST.ratio("cpu_s", "multitask", "erlang", AT_LARGE)
    assert (ratio.estimate, ratio.n) == (near(15.0, rel=0.05), len(BLOCKS))
    # Both vary by the same factors.
    at_small = POST.ratio("cpu_s", "multitask", "erlang", AT_SMALL)
    assert at_small.low == near(at_small.high or 0)
    between = POST.ratio("cpu_s", "multitask", "erlang", AT_LARGE, AT_SMALL)
    assert between.estimate == near(30.0)


@pytest.mark.parametrize(
    ("metric", "name", "place"),
    [
        ("cpu_s", "go", AT_LARGE),
        ("hop_ns", "erlang", AT_LARGE),
        ("cpu_s", "erlang", posts.at("ring", nodes=7)),
        ("cpu_s", "erlang", posts.at("batch")),
    ],
)
def test_a_figure_that_no_run_has_is_named(metric: str, name: str, place: posts.Place) -> None:
    for ask in (POST.value, lambda *words: POST.ratio(metric, "multitask", name, place)):
        with pytest.raises(SystemExit, match=f"2007-ring-showdown: .*{name}"):
            ask(metric, name, place)


def test_conclusions_that_turn_with_the_runtimes() -> None:
    """Conclusions that both decide, one way and the other; the conditions do not matter."""
    now, before = posts.Post(RING, []), posts.Post(RING, [])
    now.older = before
    answers = {
        "a": (Answer.REFUTED, Answer.CONFIRMED),
        "b": (Answer.REFUTED, Answer.REFUTED),
        "c": (Answer.CONFIRMED, Answer.OTHER_CONDITIONS),
        "d": (Answer.CONFIRMED, Answer.INCONCLUSIVE),
    }
    for number, post in enumerate((now, before)):
        post.findings = {id: ClaimResult(each[number], "") for id, each in answers.items()}
    assert (now.decided(), now.turned()) == (["a", "b", "c"], ["a"])
