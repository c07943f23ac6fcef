from __future__ import annotations

from typing import Any

import pytest

from ringside.analysis.warned import (
    drifted,
    generator_bound,
    memory_cap_near,
    noisy_neighbour,
    reference_by_block,
    undecided,
)
from ringside.model.design import Cell, Point
from ringside.model.results import Comparison, Interval, Outcome, Trial, Verdict, Warned


def trial(block: int = 1, **line: Any) -> Trial:
    return Trial(block, 0, Cell("x", Point(())), Outcome.OK, "", outcome_line=line)


def cpu(busy_s: float, idle_s: float, stolen_s: float = 0.0) -> dict[str, Any]:
    return {
        "cpu": 1,
        "busy_ns": round(busy_s * 1e9),
        "idle_ns": round(idle_s * 1e9),
        "stolen_ns": round(stolen_s * 1e9),
    }


def noise(**line: Any) -> list[Warned]:
    return list(noisy_neighbour([trial(**line)]))


OWN = {"cpu_user_ns": 8_000_000_000, "cpu_system_ns": 0, "wall_ns": 10_000_000_000}


def test_a_quiet_machine_is_no_neighbour() -> None:
    assert noise(**OWN, cpus=[cpu(8.5, 1.5)]) == []
    assert noise() == []


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ({"cpus": [cpu(8.5, 0.5, 1.0)]}, "hypervisor kept 10%"),
        ({"cpus": [cpu(10.0, 0.0)]}, "others used 20%"),
        ({"pressure": {"cpu_ns": None, "memory_ns": 3_000_000_000, "io_ns": 0}}, "waited for memory in 30%"),
        ({"pressure": {"cpu_ns": 9, "memory_ns": None, "io_ns": 2_000_000_000}}, "the disk in 20%"),
    ],
)
def test_others_are_named_by_what_they_took(line: dict[str, Any], word: str) -> None:
    (warned,) = noise(**OWN, **line)
    assert warned.code == "noisy-neighbour"
    assert word in warned.text


def test_too_little_time_says_nothing() -> None:
    short = {"cpu_user_ns": 0, "cpu_system_ns": 0, "wall_ns": 50_000_000}
    assert noise(**short, cpus=[cpu(0.01, 0.0, 0.04)], pressure={"io_ns": 40_000_000}) == []


def test_drift_is_told_from_the_fixed_computation() -> None:
    assert list(drifted([10.0, 10.3])) == []
    assert list(drifted([10.0])) == []
    (warned,) = drifted([10.0, 12.0, 11.0])
    assert warned.code == "drift"
    assert "20% longer" in warned.text
    told = [trial(1, reference_ns=7), trial(1), trial(2, reference_ns=9), trial(3)]
    assert reference_by_block(told) == {1: 7.0, 2: 9.0}


def test_an_engine_that_was_the_bottleneck_is_told_and_one_that_kept_up_is_not() -> None:
    bound: dict[str, Any] = {"warnings": [{"code": "generator-bound"}]}
    fine: dict[str, Any] = {"warnings": [{"code": "rate-not-kept"}]}
    (said,) = generator_bound([trial(loads=[{"step": "first", **fine}, {"step": "measured", **bound}])])
    assert (said.code, said.text.split(":")[0]) == ("generator-bound", "x")
    # Two loads at one time; of rising rates the last, which the server did not stand.
    both = [{"step": "measured", "name": "short", **bound}, {"step": "measured", "name": "long", **fine}]
    assert list(generator_bound([trial(loads=both)]))
    assert not list(generator_bound([trial(loads=[{"step": "rate 1", **bound}, {"step": "rate 2", **fine}])]))
    assert not list(generator_bound([trial(loads=[]), trial()]))


def test_memory_near_its_cap_is_told() -> None:
    (said,) = memory_cap_near([trial(memory_limit_bytes=100, peak_pss_bytes=81)])
    assert said.code == "memory-cap-near"
    assert not list(memory_cap_near([trial(memory_limit_bytes=100, peak_pss_bytes=79), trial()]))


@pytest.mark.parametrize(("blocks", "family", "advice"), [(7, 8, 9), (7, 3, 14), (9, 8, 18)])
def test_who_is_held_back_by_a_family_is_told_how_many_blocks_may_decide(
    blocks: int, family: int, advice: int
) -> None:
    def compared(low: float, high: float) -> Comparison:
        ratio = Interval(1.1, low, high, blocks)
        return Comparison(Point(()), "wall_s", "x", "y", ratio, Verdict.INDISTINGUISHABLE, 0.06)

    (said,) = undecided([compared(1.05, 1.2), compared(0.9, 1.2)], family)
    assert said.text.startswith(f"x: an interval leaves out 1, but {family} comparisons")
    assert f"--blocks {advice} or more" in said.remedy
    assert not list(undecided([compared(0.9, 1.2)], family))
