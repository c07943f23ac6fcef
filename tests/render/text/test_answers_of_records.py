"""No sentence of the records contradicts a table: each is read again, and held against every point."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.model.design import Point
from ringside.render.text.answers import answers
from ringside.render.text.sentences import at_point, overall
from ringside.store import record
from tests.support import ROOT
from tests.support.analyses import Exact, Values, analysis, point, scaled
from tests.support.sentences import ContradictionError, PairReader, Reader

RECORDS = sorted((ROOT / "records").glob(f"*{record.SUFFIX}"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_no_sentence_of_a_record_contradicts_a_table(path: Path) -> None:
    store = record.read(path)
    for stored in store.runs():
        of = analysis_of(store, stored, for_plots=False)
        Reader(of).check([sentence.text for sentence in answers(of)])
        pairs = PairReader(of)
        pairs.check([sentence.text for sentence in overall(of, of.headline)])
        for place in of.points:
            pairs.at(place, [sentence.text for sentence in at_point(of, of.headline, place)])


P, Q = point(nodes=10), point(nodes=20)
NOISY = (1.3, 0.7, 1.2, 0.8, 1.1, 0.9, 1.0)
ALIKE = (1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0)


@pytest.fixture(scope="module")
def planted() -> RunAnalysis:
    """At the first point an order that is decided, with two that are alike, and a floor that is none; at the
    second one that is open."""
    values: dict[tuple[str, Point], dict[str, Values]] = {
        (name, place): {"hop_ns": scaled(value)}
        for place in (P, Q)
        for name, value in (
            ("erlang", 100.0),
            ("go", 200.0),
            ("java", 300.0),
            ("ruby", 800.0),
            ("limit", 120.0),
        )
    }
    values["java", P] = {"hop_ns": [200 * one * two for one, two in zip(scaled(1.0), ALIKE, strict=True)]}
    values["go", Q] = {"hop_ns": [100 * each for each in NOISY]}
    return analysis(values, measurement=Exact(), floor="limit", baseline="go")


OPEN = "Who is first at nodes=10 is not decided after 7 blocks: erlang or go may be; the best median is "


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("go is first at nodes=10: time per hop 200 ns (194–208)", "the rank is another"),
        ("erlang is first at nodes=20: time per hop 100 ns (97–104)", "the rank is another"),
        ("erlang is first at nodes=10: time per hop 100 ns (97–104)", "something else may have decided"),
        ("erlang has the best figure at nodes=10, 130 ns (97–104); it may not be x", "130 is none of"),
        ("erlang has the best figure at nodes=10, 100 ns (80–104); it may not be x", "80 is none of"),
        ("erlang is first of the 3 idiomatic contenders at nodes=10: time per hop 100 ns", "4 have a figure"),
        ("erlang is first of 4 with a figure at nodes=30: time per hop 100 ns", "no such point"),
        ("erlang and go share the first place at nodes=10, equivalent within 5 %: x", "not equivalent"),
        (f"{OPEN}erlang's, time per hop 100 ns", "may be first"),
        ("Not decided yet: 7 of 40 blocks", "the run has ended"),
        ("Not decided yet: 6 of 40 blocks", "7 blocks were made"),
        ("go is the only idiomatic contender with a figure at nodes=10: time per hop 200 ns", "others"),
        ("Beside it: ruby (bare) 800 ns", "the class is another"),
        ("go takes 2.40 times (2.30–2.50) as long as erlang", "the ratio is 2"),
        ("go takes 2.00 times (2.10–2.50) as long as erlang", "the interval is beside"),
        ("go takes 2.00 times (2.00–2.00) as long as java", "erlang has the best median"),
        ("go takes 2.00 times as long as erlang; go takes 2.00 times as long, the last of 4", "is not last"),
        ("ruby takes 8.00 times as long as erlang, the last of 3", "ruby is not last"),
        ("go takes 2.00 times as long as erlang (stopped when decided: likely nearer to 1)", "all blocks"),
        ("The same holds at both points", "the order is not decided"),
        ("erlang has the best figure at both points; behind, the order differs or is not decided", "not at"),
        ("go is first at nodes=10; the first place is not decided at nodes=20", "not go is first"),
        ("erlang has the best figure at nodes=10 and nodes=20", "not erlang has the best figure"),
        ("erlang has the best figure at nodes=10", "points are missing"),
        ("only erlang of its class has a figure at nodes=10", "not only"),
        ("erlang has the best figure at 2 of 2 points", "erlang has the best figure at 1"),
        ("Over both points: from 100 ns at nodes=20 to 200 ns at nodes=10", "others have figures"),
        ("It has no figure at the other point", "there are 0"),
        ("go, the baseline, has no figure: nothing is compared with it", "it has"),
        ("No contender has a figure (time per hop): the table of failures says why", "some have"),
        ("go is better", "no rule reads it"),
    ],
)
def test_what_contradicts_a_table_is_found(planted: RunAnalysis, sentence: str, why: str) -> None:
    with pytest.raises(ContradictionError, match=why):
        Reader(planted).check([sentence])


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("erlang took 0.600× go's time per hop (0.500–0.700): 2 times faster", "the ratio is 0.5"),
        ("erlang took 0.500× go's time per hop (0.500–0.500): slower", "it is faster"),
        ("erlang took 0.500× go's time per hop (0.500–0.500): equivalent", "it is faster"),
        ("erlang took 0.500× go's time per hop (0.500–1.1): faster", "the interval includes 1"),
        ("erlang took 0.500× go's time per hop (0.500–0.500): 3.0 times faster", "the ratio is 2"),
        ("erlang took 0.500× go's time per hop: erlang stalled in 2 of 7 blocks", "it is faster"),
        ("go, the baseline: time per hop 300 ns", "300 is none of"),
        ("erlang has no time per hop: exit status 3", "it has"),
        ("erlang cannot be compared with go: exit status 3", "it can"),
        ("ruby is slower than go at both points: 4.00× to 9.00× go's time per hop", "one end is"),
        ("ruby is faster than go at both points: 4.00× to 8.16× go's time per hop", "not faster at 2"),
        (
            "ruby against go is slower at 1 of 2 points: 4.00× to 8.16× go's time per hop",
            "points are missing",
        ),
    ],
)
def test_what_contradicts_a_comparison_is_found(planted: RunAnalysis, sentence: str, why: str) -> None:
    reader = PairReader(planted)
    reader.at(P, [sentence.text for sentence in at_point(planted, planted.headline, P)])
    reader.check([sentence.text for sentence in overall(planted, planted.headline)])
    with pytest.raises(ContradictionError, match=why):
        reader.at(P, [sentence])
