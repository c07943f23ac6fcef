"""Scaling over cores and growth with the size of the work, with planted laws."""

import math
import random
from collections.abc import Callable, Collection, Mapping

import pytest

from ringside.analysis import scaling
from ringside.analysis.scaling import (
    CoresScaling,
    Growth,
    Outlook,
    analyse_growth,
    analyse_slopes,
    over_cores,
)
from ringside.model.design import Point
from ringside.model.results import Interval
from ringside.stats.scaling import Scalability
from ringside.workloads.base import ScalingLaw, Slope
from tests.support.analyses import NOISE, Exact, Planted, exactly, near, point

CORES = ScalingLaw("cores", "wall_s", kind="cores")
CASES = ScalingLaw("cases", "wall_s")
BLOCKS = range(1, 8)


def usl(contention: float, coherency: float) -> Callable[[int], float]:
    """Seconds over cores by the Universal Scalability Law, 8 s on one."""
    return lambda cores: 8 * (1 + contention * (cores - 1) + coherency * cores * (cores - 1)) / cores


def run_of(
    values: Mapping[tuple[str, Point], Mapping[int, float]], *laws: ScalingLaw | Slope, metric: str = "wall_s"
) -> Planted:
    """A run with these values of one metric by block, and with these laws and slopes."""

    class Lawful(Exact):
        scaling_laws = tuple(law for law in laws if isinstance(law, ScalingLaw))
        slopes = tuple(slope for slope in laws if isinstance(slope, Slope))

    return Planted({cell: {metric: each} if each else {} for cell, each in values.items()}, Lawful())


def seconds_of(
    laws: Mapping[str, Callable[[int], float]], *levels: int, missing: Collection[tuple[str, int]] = ()
) -> dict[tuple[str, Point], Mapping[int, float]]:
    """Noise moves whole blocks: pairs inside blocks do not show it. `missing`: contenders and numbers of
    cores without values."""
    return {
        (name, point(cases=100, cores=cores)): {}
        if (name, cores) in missing
        else {block: law(cores) * NOISE[block - 1] for block in BLOCKS}
        for name, law in laws.items()
        for cores in levels
    }


def scaled(values: Mapping[tuple[str, Point], Mapping[int, float]]) -> CoresScaling:
    (result,) = over_cores(run_of(values, CORES))
    return result


def noisy(speeds: Mapping[int, float], seed: int, noise: float) -> dict[tuple[str, Point], dict[int, float]]:
    """The time at these speeds by number of cores, and noise with this standard deviation."""
    dice = random.Random(seed)
    return {
        ("go", point(cases=100, cores=cores)): {b: 8 / speed * math.exp(dice.gauss(0, noise)) for b in BLOCKS}
        for cores, speed in speeds.items()
    }


def test_speed_ups_are_over_one_core_and_efficiency_over_the_most() -> None:
    laws = {"slow": usl(0.5, 0), "fast": usl(0, 0), "middle": usl(0.1, 0)}
    result = scaled(seconds_of(laws, 1, 2, 4))
    assert (result.law, result.fixed) == (CORES, Point((("cases", 100),)))
    assert result.levels == (2, 4)
    # The largest speed-up comes first: on four cores 4, 4 / 1.3 and 4 / 2.5.
    assert [row.contender for row in result.rows] == ["fast", "middle", "slow"]
    fast, middle, slow = result.rows
    assert {cores: ratio.estimate for cores, ratio in middle.speed_ups.items()} == {
        2: near(2 / 1.1),
        4: near(4 / 1.3),
    }
    assert middle.speed_ups[4] == exactly(4 / 1.3)
    assert fast.efficiency == near(1.0)
    assert middle.efficiency == near(1 / 1.3)
    assert slow.efficiency == near(1 / 2.5)


def test_each_setting_of_the_other_factors_is_by_itself() -> None:
    points = [point(cases=cases, cores=cores) for cases in (10, 20) for cores in (1, 2)]
    values = {
        ("go", place): dict.fromkeys(BLOCKS, 6.0 / (int(place["cores"]) ** (int(place["cases"]) / 20)))
        for place in points
    }
    first, second = over_cores(run_of(values, CORES))
    assert first.fixed == Point((("cases", 10),))
    assert first.rows[0].speed_ups[2].estimate == near(math.sqrt(2))
    assert second.fixed == Point((("cases", 20),))
    assert second.rows[0].speed_ups[2].estimate == near(2)


def test_a_contender_without_one_core_has_no_row_and_one_without_some_has_the_others() -> None:
    laws = {"go": usl(0, 0), "lame": usl(0, 0), "gap": usl(0, 0)}
    values = seconds_of(laws, 1, 2, 4, missing=[("lame", 1), ("gap", 2)])
    result = scaled(values)
    assert {row.contender: tuple(row.speed_ups) for row in result.rows} == {"go": (2, 4), "gap": (4,)}
    assert result.levels == (2, 4)
    assert result.rows[1].fit is None
    assert over_cores(run_of({cell: each for cell, each in values.items() if cell[0] == "lame"}, CORES)) == ()
    assert over_cores(run_of(values)) == ()


def test_the_planted_laws_are_recovered() -> None:
    laws = {"go": (0.05, 0.004), "limit": (0.03, 0.0), "sync": (1.0, 0.0)}
    result = scaled(seconds_of({name: usl(*law) for name, law in laws.items()}, 1, 2, 4, 8, 16, 32))
    assert result.fitted_levels == (1, 2, 4, 8, 16, 32)
    for row in result.rows:
        contention, coherency = laws[row.contender]
        assert row.fit.contention.estimate == near(contention, abs=1e-6)
        assert row.fit.coherency.estimate == near(coherency, abs=1e-6)
    rows = {row.contender: row for row in result.rows}
    for name, outlook, value in (
        ("go", Outlook.SLOWER_BEYOND, math.sqrt(0.95 / 0.004)),
        ("limit", Outlook.NEVER_MORE_THAN, 1 / 0.03),
    ):
        assert rows[name].outlook is outlook
        assert rows[name].outlook_ends == near((value, value), rel=1e-3)
    assert (rows["sync"].outlook, rows["sync"].outlook_ends) == (Outlook.NO_GAIN, None)


def outlook_of(
    contention: tuple[float | None, float | None],
    best: tuple[float | None, float | None],
    monkeypatch: pytest.MonkeyPatch,
    speed_ups: Mapping[int, float] = {1: 1.0, 2: 2.0, 4: 4.0},
) -> tuple[Outlook | None, tuple[float, float] | None]:
    """The words about a fit with these intervals, whose estimates are those of the measurement."""
    fit = Scalability(
        Interval(0.0, *contention, 7), Interval(0.0, None, None, 7), Interval(3.0, *best, 7), (1, 2, 4)
    )
    monkeypatch.setattr(scaling, "scalability", lambda by_block: fit)
    (row,) = scaled(seconds_of({"go": lambda cores: 8 / speed_ups[cores]}, 1, 2, 4)).rows
    return row.outlook, row.outlook_ends


@pytest.mark.parametrize(
    ("contention", "best", "outlook", "ends"),
    [
        ((0.0, 0.2), (3.1, 4.0), Outlook.SLOWER_BEYOND, (3.1, 4.0)),
        # Up to how many cores is not clear where the interval contains those that were measured.
        ((0.0, 0.2), (4.0, 4.1), Outlook.NOT_CLEAR, None),
        ((0.0, 0.2), (3.9, math.inf), Outlook.NOT_CLEAR, None),
        ((0.0, 0.2), (4.001, 9_999.0), Outlook.GAINS_UP_TO, (4.001, 9_999.0)),
        # A best number that large is that of rounding errors.
        ((0.0, 0.005), (4.001, 10_000.0), Outlook.NO_LIMIT, None),
        ((0.0, 0.005), (math.inf, math.inf), Outlook.NO_LIMIT, None),
        ((0.0, 0.0051), (math.inf, math.inf), Outlook.NOT_CLEAR, None),
        ((0.005, 0.2), (math.inf, math.inf), Outlook.NOT_CLEAR, None),
        ((0.0051, 0.2), (5.0, math.inf), Outlook.NEVER_MORE_THAN, (1 / 0.2, 1 / 0.0051)),
        ((None, None), (3.1, 3.2), Outlook.NOT_CLEAR, None),
        ((0.1, None), (3.1, 3.2), Outlook.NOT_CLEAR, None),
        ((0.1, 0.2), (None, None), Outlook.NOT_CLEAR, None),
        ((0.1, 0.2), (3.1, None), Outlook.NOT_CLEAR, None),
    ],
)
def test_an_outlook_holds_over_whole_intervals(
    contention: tuple[float | None, float | None],
    best: tuple[float | None, float | None],
    outlook: Outlook,
    ends: tuple[float, float] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert outlook_of(contention, best, monkeypatch) == (outlook, ends)


@pytest.mark.parametrize(("gain", "outlook"), [(1.09, Outlook.NO_GAIN), (1.11, Outlook.SLOWER_BEYOND)])
def test_no_gain_is_by_intervals(gain: float, outlook: Outlook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the law says; the largest of them counts."""
    speed_ups = {1: 1.0, 2: gain, 4: 1.05}
    (result, _) = outlook_of((0.1, 0.2), (3.1, 3.2), monkeypatch, speed_ups)
    assert result is outlook


@pytest.mark.soak
def test_noise_seldom_makes_a_limit() -> None:
    """Contenders without contention and coherency, noise of 3 %, seven blocks: that more cores would be
    slower, or gain up to a number of them only, is said of few of 100."""
    claims = 0
    for seed in range(100):
        result = scaled(noisy({cores: cores for cores in (1, 2, 4, 8)}, seed, 0.03))
        claims += result.rows[0].outlook not in (Outlook.NO_LIMIT, Outlook.NOT_CLEAR)
    assert claims <= 12


@pytest.mark.parametrize("cores", [(1, 2, 4, 8), tuple(range(1, 9))])
def test_half_siblings_are_no_law(cores: tuple[int, ...]) -> None:
    """Four of eight cores are the other halves of the first, and bring 30 % each: the law takes the bend for
    coherency, and would gain up to a number of cores that nobody has."""
    result = scaled(noisy({each: min(each, 4) + 0.3 * max(0, each - 4) for each in cores}, 1, 0.02))
    assert result.rows[0].outlook is Outlook.NO_LAW


def test_curves_reach_the_most_cores_of_any_contender() -> None:
    laws = {"go": usl(0.05, 0.004), "short": usl(0, 0)}
    result = scaled(seconds_of(laws, 1, 2, 4, 8, missing=[("short", 4), ("short", 8)]))
    go, short = result.rows
    curve = result.curve(go)
    assert len(curve) == 61
    assert curve[0] == (1.0, near(1.0))
    assert curve[-1] == (8.0, near(8 / (1 + 0.05 * 7 + 0.004 * 56)))
    assert [place for place, _ in curve[:3]] == near([1, 1 + 7 / 60, 1 + 14 / 60])
    # Two numbers of cores cannot be fitted: the line goes through what was measured.
    assert short.fit is None
    assert result.curve(short) == [(1.0, 1.0), (2.0, near(2.0))]
    assert (short.outlook, short.outlook_ends) == (None, None)
    assert result.fitted_levels == (1, 2, 4, 8)


def test_a_reported_time_of_0_is_left_out() -> None:
    """The clock of a program may be coarse."""
    values = seconds_of({"go": usl(0, 0)}, 1, 2, 4)
    result = scaled({**values, ("go", point(cases=100, cores=4)): dict.fromkeys(BLOCKS, 0.0)})
    assert tuple(result.rows[0].speed_ups) == (2,)
    assert result.rows[0].fit is None


def grown(powers: Mapping[tuple[str, int], float]) -> dict[tuple[str, Point], dict[int, float]]:
    """Times of 3·cases^power by contender and cores; the power is larger by a thousandth in each block."""
    return {
        (name, point(cases=cases, cores=cores)): {b: 3 * cases ** (power + b / 1000) for b in BLOCKS}
        for (name, cores), power in powers.items()
        for cases in (100, 200, 800)
    }


def test_growth_is_a_power_for_each_contender_and_setting() -> None:
    powers = {("go", 1): 1.0, ("go", 2): 0.5, ("erlang", 1): 0.75, ("erlang", 2): 2.0}
    (table,) = analyse_growth(run_of(grown(powers), CASES))
    one, two = Point((("cores", 1),)), Point((("cores", 2),))
    assert table.law == CASES
    assert {key: power.estimate for key, power in table.values.items()} == {
        ("go", one): near(1.004),
        ("go", two): near(0.504),
        ("erlang", one): near(0.754),
        ("erlang", two): near(2.004),
    }
    power = table.values["erlang", one]
    assert (power.low, power.high, power.n) == (near(0.751), near(0.757), 7)
    # By the smallest power of each: 0.504 and 0.754.
    assert table.order == ("go", "erlang")


def test_settings_without_two_levels_have_no_power() -> None:
    nothing = {("go", point(cases=cases, cores=1)): {1: 0.0} for cases in (200, 800)}
    values = {**grown({("go", 1): 1.0, ("go", 2): 1.0}), **nothing}
    (table,) = analyse_growth(run_of(values, CASES))
    assert [*table.values] == [("go", Point((("cores", 2),)))]
    assert analyse_growth(run_of(values)) == ()
    assert analyse_growth(run_of({**grown({("go", 1): 1.0}), **nothing}, CASES)) == ()


def test_growth_regardless_of_a_factor() -> None:
    """Points that differ in it too make one fit."""
    law = ScalingLaw("cases", "wall_s", regardless_of=("cores",))
    values = grown({("go", 1): 1.5, ("go", 2): 1.5})
    listed = [point(cases=cases, cores=cores) for cases, cores in ((100, 1), (200, 2), (800, 2))]
    (table,) = analyse_growth(run_of({("go", place): values["go", place] for place in listed}, law))
    assert table.values["go", Point(())].estimate == near(1.504)


# --- Slopes of metrics over factors ---


PER_NODE = Slope(
    "bytes_per_node",
    "B",
    "Memory per node",
    "",
    over="nodes",
    metric="memory_bytes",
    regardless_of=("trace",),
)
PER_MESSAGE = Slope(
    "bytes_per_message", "B", "Memory per message", "", over="messages", metric="memory_bytes"
)


def slopes_of(
    values: Mapping[tuple[str, Point], Mapping[int, float]], *slopes: Slope, metric: str = "memory_bytes"
) -> tuple[Growth[Slope], ...]:
    return analyse_slopes(run_of(values, *slopes, metric=metric))


def test_slopes_of_each_contender_and_setting() -> None:
    """Memory is 7 + 3 B per node of `go`, 11 + 5 B per node of `erlang`; the block adds to the slope."""
    points = [
        point(nodes=nodes, messages=messages, trace=trace)
        for nodes in (10, 20, 40)
        for messages in (1, 100)
        for trace in (0, 1)
    ]
    each = {"go": (7, 3), "erlang": (11, 5)}

    def memory(name: str, place: Point, block: int) -> float:
        base, per_node = each[name]
        nodes, messages, trace = (int(place[factor]) for factor in ("nodes", "messages", "trace"))
        # The trace must not matter: it is averaged.
        return base + (per_node + block) * nodes + 2 * messages + 1000 * trace

    values = {
        (name, place): {block: memory(name, place, block) for block in range(1, 7)}
        for name in each
        for place in points
    }
    per_node, per_message = slopes_of(values, PER_NODE, PER_MESSAGE)
    assert (per_node.law, per_message.law) == (PER_NODE, PER_MESSAGE)
    # One for each contender and number of messages: the blocks add 1 to 6.
    assert [*per_node.values] == [
        (name, Point((("messages", messages),))) for name in ("go", "erlang") for messages in (1, 100)
    ]
    for slope, base in zip(per_node.values.values(), (3, 3, 5, 5), strict=True):
        assert slope == Interval(near(base + 3.5), near(base + 1.0), near(base + 6.0), 6)
    assert len(per_message.values) == 2 * 3 * 2
    assert {fixed for _, fixed in per_message.values} == {place.without("messages") for place in points}
    assert all(slope.estimate == near(2.0) for slope in per_message.values.values())


def test_points_that_do_not_matter_are_averaged() -> None:
    """At 20 nodes the trace adds 1000 B: half of it shows."""
    values = {(10, 0): 100.0, (10, 1): 100.0, (20, 0): 200.0, (20, 1): 1200.0}
    points = [point(nodes=nodes, trace=trace) for nodes, trace in values]
    (slope,) = slopes_of(
        {("go", place): {1: value} for place, value in zip(points, values.values(), strict=True)}, PER_NODE
    )
    assert slope.values == {("go", Point(())): Interval(60.0, None, None, 1)}


def test_without_two_levels_in_a_block_there_is_no_slope() -> None:
    points = [point(nodes=10, messages=1), point(nodes=20, messages=1)]
    both = {("go", place): {1: 5.0} for place in points}
    assert slopes_of(both, PER_NODE)
    assert slopes_of({**both, ("go", points[1]): {2: 9.0}}, PER_NODE, PER_MESSAGE) == ()
    assert slopes_of(both, PER_NODE, metric="hop_ns") == ()


def test_levels_that_are_no_numbers_have_no_slope() -> None:
    """The slope after it has one."""
    points = [point(nodes=nodes, messages=messages) for nodes in ("all", 10) for messages in (1, 3)]
    values = {("go", place): {1: 4.0 * int(place["messages"])} for place in points}
    (slopes,) = slopes_of(values, PER_NODE, PER_MESSAGE)
    assert slopes.law is PER_MESSAGE
    assert [each.estimate for each in slopes.values.values()] == [4.0, 4.0]
