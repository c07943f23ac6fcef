"""Texts of tables, in terminals and as Markdown."""

from __future__ import annotations

import dataclasses

import pytest

from ringside.analysis.distributions import WarmUp
from ringside.analysis.published import ThenAndNow, ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.analysis.scaling import Outlook
from ringside.model.catalogue import ContenderClass, Published
from ringside.model.design import Cell, Metric
from ringside.model.results import Interval
from ringside.render.text import contenders, markdown, sentences
from ringside.render.text.cells import TableData, brief
from ringside.render.text.tables import (
    breakdown_table,
    point_table,
    published_tables,
    ratio_table,
    scaling_tables,
    tables,
    warm_up_table,
)
from ringside.render.text.tables import (
    outlook as describe_outlook,
)
from ringside.stats.series import SeriesKind
from ringside.store.plans import PlannedContender
from ringside.workloads.base import ScalingLaw, Slope
from tests.support.analyses import (
    CPU,
    HOP,
    HOSTILE,
    MEMORY,
    NOISE,
    Exact,
    analysis,
    point,
    scaled,
    with_figures,
)
from tests.support.tables import column, texts

P, Q = point(nodes=10), point(nodes=20)
MIB = 1 << 20


class Secondary(Exact):
    compared = (HOP.name, CPU.name)
    secondary = (MEMORY.name, "rate")


@pytest.fixture
def ring() -> RunAnalysis:
    """Each contender has another hop, and other ratios over the baseline and over the floor."""
    hops = {"erlang": 100, "go": 150, "limit": 8}
    values = {
        (name, place): {"hop_ns": scaled(hop), "cpu_s": scaled(hop / 1000), "memory_bytes": scaled(hop * MIB)}
        for name, hop in hops.items()
        for place in (P, Q)
    }
    return analysis(values, measurement=Secondary(), floor="limit")


def test_a_point_has_all_contenders_the_best_first(ring: RunAnalysis) -> None:
    table = point_table(ring, P)
    assert table.title == "nodes=10"
    assert table.columns == (
        *("contender", "Per hop", "× erlang", "verdict", "rank", "× limit", "CPU", "Memory"),
    )
    assert texts(table) == [
        ["erlang", "100 ns (97–104)", "1", "baseline", "1", "12.5", "100 ms", "100 MiB"],
        ["go", "150 ns (146–156)", "1.50 (1.50–1.50)", "slower", "2", "18.8", "150 ms", "150 MiB"],
        [
            "limit",
            "8.00 ns (7.76–8.32)",
            "0.0800 (0.0800–0.0800)",
            "faster",
            "floor",
            "1",
            "8.00 ms",
            "8.00 MiB",
        ],
    ]
    assert [cell.kind for cell in table.rows[1]][2:4] == ["slower", "slower"]
    # A metric without figures is left out; what a narrow screen can do without goes from the end.
    assert "Rate" not in table.columns
    assert table.narrow == ("Memory", "CPU", "× limit", "rank")
    assert brief(table).columns == table.columns[:-1]
    assert [cell.text for cell in brief(table).rows[0]] == texts(table)[0][:-1]
    assert not table.notes


def test_contenders_of_other_classes_stand_below_with_their_class() -> None:
    values = {
        (name, P): {"hop_ns": scaled(hop)} for name, hop in {"thin": 10.0, "a": 100.0, "b": 50.0}.items()
    }
    run = analysis(values, baseline="a", kinds={"thin": "bare"})
    table = point_table(run, P)
    assert [row[:2] for row in texts(table)] == [["b", "idiomatic"], ["a", "idiomatic"], ["thin", "bare"]]
    assert column(table, "rank") == ["1", "2", "–"]
    said = [each.text for each in sentences.at_point(run, HOP, P)]
    assert said[2].endswith("10.0 times faster (10.0–10.0) (classes differ: bare, idiomatic)")
    assert "classes" not in said[0] + said[1]


def test_a_table_says_where_its_figures_are_not_of_the_same_blocks(ring: RunAnalysis) -> None:
    assert point_table(ring, P).notes == ()
    values = {("a", P): {"hop_ns": scaled(1)}, ("b", P): {"hop_ns": scaled(2)[:6]}, ("c", P): {}}
    assert point_table(analysis(values), P).notes == (
        "Blocks: a 7; b 6. Figures are medians over all of these, ratios over those that both have.",
    )


def test_a_floor_that_is_the_baseline_has_no_column_of_its_own() -> None:
    run = analysis({("limit", P): {"hop_ns": NOISE}, ("go", P): {"hop_ns": NOISE}}, floor="limit")
    assert point_table(run, P).columns == ("contender", "Per hop", "× limit", "verdict")


def test_failures_and_missing_figures_in_a_row() -> None:
    values = {("erlang", P): {"hop_ns": NOISE}, ("limit", P): {}, ("idle", P): {"cpu_s": NOISE}}
    run = analysis(values, measurement=Secondary(), floor="limit", failed=[("go", P)])
    rows = {row[0]: row[1:] for row in texts(point_table(run, P))}
    assert rows["go"] == ["crashed", "–", "–", "–", "crashed"]
    assert rows["idle"] == ["–", "–", "–", "–", "1.00 s"]
    assert rows["limit"] == ["–", "–", "–", "1", "–"]


def test_too_few_blocks_decide_nothing() -> None:
    run = analysis({("erlang", P): {"hop_ns": [1.0, 1.0]}, ("go", P): {"hop_ns": [2.0, 2.0]}})
    table = point_table(run, P)
    assert table.columns == ("contender", "Per hop", "× erlang", "verdict", "rank")
    assert texts(table) == [
        ["erlang", "1.00 ns", "1", "baseline", "1–2"],
        ["go", "2.00 ns", "2.00", "inconclusive", "1–2"],
    ]
    assert [cell.kind for cell in table.rows[1]][2:4] == ["number", "number"]


def test_a_single_block_and_a_single_contender_have_no_ranks() -> None:
    alone = analysis({("erlang", P): {"hop_ns": NOISE}})
    assert "rank" not in point_table(alone, P).columns
    apart = analysis({("erlang", P): {"hop_ns": [1.0, None]}, ("go", P): {"hop_ns": [None, 2.0]}})
    assert "rank" not in point_table(apart, P).columns


def test_verdicts_of_a_table_are_in_the_words_of_the_metric() -> None:
    values = {
        (name, P): {"rate": scaled(rate)} for name, rate in (("erlang", 100.0), ("go", 50.0), ("c", 200.0))
    }
    table = point_table(analysis(values, metrics=["rate"]), P)
    assert column(table, "contender") == ["c", "erlang", "go"]
    assert column(table, "verdict") == ["higher", "baseline", "lower"]
    assert [row[3].kind for row in table.rows] == ["faster", "quiet", "slower"]
    assert [row[2].word for row in table.rows] == ["higher", "", "lower"]


def test_metrics_besides_the_headline_are_exploratory(ring: RunAnalysis) -> None:
    headline, cpu = (ratio_table(ring, metric) for metric in ring.metrics)
    assert headline.subtitle == "with 95 % intervals"
    assert cpu.subtitle == "with 95 % intervals; exploratory: its verdicts have an error rate of their own"


def test_many_points_have_tables_of_metrics_and_of_ratios() -> None:
    places = [point(nodes=number) for number in (1, 2, 3, 4, 5)]
    values = {
        (name, place): {"hop_ns": scaled(hop * int(place["nodes"]))}
        for name, hop in (("erlang", 10.0), ("go", 20.0), ("pony", 80.0))
        for place in places
    }
    run = analysis(values, ratios=(("pony", "go"), ("erlang", "go")))
    figures, ratios, *_ = tables(run)
    assert figures.title == "Per hop: time of one delivery"
    assert figures.columns == ("point", "erlang", "go", "pony")
    assert texts(figures)[2] == ["nodes=3", "30.0 ns", "60.0 ns", "240 ns"]
    assert ratios.columns == ("point", "pony / go", "erlang / go")
    assert texts(ratios)[2] == ["nodes=3", "4.00 (4.00–4.00)", "0.500 (0.500–0.500)"]
    alone = analysis({cell: values[cell] for cell in values if cell[0] == "go"}, ratios=())
    assert not [table for table in tables(alone) if "ratios" in table.title]


def test_four_points_have_a_table_each() -> None:
    run = analysis({("go", point(nodes=number)): {"hop_ns": NOISE} for number in (1, 2, 3, 4)})
    titles = [table.title for table in tables(run)]
    assert titles == ["nodes=1", "nodes=2", "nodes=3", "nodes=4", "Contenders"]


class Sloped(Exact):
    slopes = (Slope("per_node", "B", "Memory per node", "growth over nodes", "nodes", MEMORY.name),)


def test_slopes_are_sorted_by_their_size() -> None:
    values = {
        (name, place): {"memory_bytes": [1000.0 + size * int(place["nodes"])] * 7}
        for name, size in (("erlang", 2700.0), ("go", 400.0))
        for place in (P, Q)
    }
    table = next(
        table for table in tables(analysis(values, measurement=Sloped())) if "per node" in table.title
    )
    assert table.columns == ("contender", "Memory per node")
    assert table.subtitle == "growth over nodes"
    assert texts(table) == [["go", "400 B (400–400)"], ["erlang", "2.64 KiB (2.64–2.64)"]]


class Parts(Exact):
    breakdown = (CPU.name, MEMORY.name)

    def diagnosis(self, contender: str, point: object, figures: object) -> str | None:
        return f"{contender} waits for the disk" if contender == "go" else None


def test_where_the_time_went() -> None:
    values = {
        ("go", P): {"cpu_s": scaled(2)},
        ("erlang", P): {"cpu_s": scaled(3), "memory_bytes": scaled(MIB)},
    }
    table = breakdown_table(analysis(values, measurement=Parts()))
    assert table is not None
    assert table.columns == ("contender", "CPU", "Memory")
    assert texts(table) == [["go", "2.00 s", "–"], ["erlang", "3.00 s", "1.00 MiB"]]
    assert table.notes == ("go waits for the disk.",)


def test_where_the_time_went_at_several_points() -> None:
    table = breakdown_table(analysis({("go", p): {"cpu_s": NOISE} for p in (P, Q)}, measurement=Parts()))
    assert table is not None
    assert texts(table) == [["go", "nodes=10", "1.00 s", "–"], ["go", "nodes=20", "1.00 s", "–"]]
    assert table.notes[1] == "nodes=20: go waits for the disk."


class Repeated(Exact):
    repeated_metric = HOP.name


def warm_up(name: str, *, steady: float | None, kinds: dict[SeriesKind, int], repeats: int = 20) -> WarmUp:
    series = tuple((500.0, *[100.0] * (repeats - 1)) for _ in range(7))
    since = 4 if steady else None
    return WarmUp(Cell(name, P), series, series[0], 500.0, steady, since, kinds)


def repeated(*warm_ups: WarmUp) -> TableData:
    values = {(name, P): {"hop_ns": NOISE} for name in ("erlang", "go")}
    run = with_figures(analysis(values, measurement=Repeated()), warm_ups=warm_ups)
    table = warm_up_table(run)
    assert table is not None
    return table


def test_first_and_steady_figures() -> None:
    both = {SeriesKind.STEADY: 2, SeriesKind.WARMING_UP: 5}
    table = repeated(
        warm_up("go", steady=None, kinds={SeriesKind.NO_STEADY_STATE: 7}),
        warm_up("erlang", steady=100.0, kinds=both),
    )
    assert table.columns == (
        *("contender", "repeats", "first", "steady", "first / steady", "steady from"),
        *("first answer", "steady after", "course"),
    )
    assert texts(table) == [
        ["erlang", "20", "500 ns", "100 ns", "5.00", "4", "–", "–", "5 × warming up, 2 × steady"],
        ["go", "20", "500 ns", "–", "–", "–", "–", "–", "no steady state"],
    ]
    assert not table.notes


def test_of_too_few_repeats_first_figures_stay() -> None:
    table = repeated(warm_up("go", steady=None, kinds={}, repeats=5))
    assert texts(table) == [["go", "5", "500 ns", "–", "–", "–", "–", "–", "–"]]
    assert table.notes == ("With fewer than 10 repeats no steady state can be detected.",)


NOW = Interval(25.0, 20.0, 30.0, 7)


def both(metric: Metric, *, now: Interval | None = NOW) -> ThenAndNow:
    source = Published("post", "A post", "2007-03-01", "a laptop", {}, "medians", (), ())
    figures = (ThenAndNowRow(P, "go", 50.0, now),)
    ratios = (ThenAndNowRow(P, "go / erlang", 12.5, Interval(1.5, 1.4, 1.6, 7)),)
    return ThenAndNow(source, metric, figures, ratios)


def test_then_and_now(ring: RunAnalysis) -> None:
    figures, ratios = published_tables(with_figures(ring, then_and_now=(both(HOP),)))
    assert figures.columns == ("point", "contender", "then", "now")
    assert texts(figures) == [["nodes=10", "go", "50.0 ns", "25.0 ns (20.0–30.0)"]]
    assert figures.subtitle == "Per hop: time of one delivery"
    assert figures.notes == (
        "Then: A post (2007-03-01); hardware: a laptop.",
        "The source's figures: medians.",
    )
    assert texts(ratios) == [["nodes=10", "go / erlang", "12.5", "1.50 (1.40–1.60)"]]


def test_then_and_now_of_two_metrics(ring: RunAnalysis) -> None:
    two = with_figures(ring, then_and_now=(both(HOP), both(CPU, now=None)))
    assert texts(published_tables(two)[0]) == [
        ["nodes=10", "go", "Per hop", "50.0 ns", "25.0 ns (20.0–30.0)"],
        ["nodes=10", "go", "CPU", "50.0 s", "–"],
    ]
    assert published_tables(ring) == []


def test_contenders_show_the_columns_in_which_somebody_has_text(ring: RunAnalysis) -> None:
    planned = {
        "erlang": PlannedContender("Erlang", model="actors", runs_on="OTP", version="27"),
        "go": PlannedContender("Go", scheduler="preemptive", language="Go"),
    }
    table = contenders.contender_table(with_figures(ring, contenders=planned))
    assert table.columns == ("contender", "class", "model", "scheduler", "runs on")
    assert texts(table) == [
        ["erlang", "idiomatic", "actors", "–", "OTP 27"],
        ["go", "idiomatic", "–", "preemptive", "Go not found"],
    ]


def test_a_contender_of_several_runs_has_the_texts_of_all_its_programs(ring: RunAnalysis) -> None:
    kinds: dict[str, ContenderClass] = {"erlang": "bare", "go": "idiomatic"}
    planned = {
        name: PlannedContender(name, kind=kind, runs_on="X", version="1") for name, kind in kinds.items()
    }
    other = with_figures(
        ring, contenders={"erlang": dataclasses.replace(planned["erlang"], kind="idiomatic")}
    )
    table = contenders.contender_table(with_figures(ring, contenders=planned), other)
    assert texts(table) == [["erlang", "bare, idiomatic", "X 1"], ["go", "idiomatic", "X 1"]]


def test_commands_have_their_text_and_no_runtime(ring: RunAnalysis) -> None:
    planned = {"A": PlannedContender("./run 1", command=("./run", "1")), "B": PlannedContender("./run 2")}
    table = contenders.contender_table(with_figures(ring, contenders=planned))
    assert table.columns == ("contender", "what")
    assert texts(table) == [["A", "./run 1"], ["B", "./run 2"]]


def test_cells_without_figures_have_a_reason() -> None:
    run = analysis({("erlang", P): {"hop_ns": NOISE}}, failed=[("go", P)])
    table = tables(run)[-1]
    assert table.title == "Without figures"
    assert texts(table) == [["go", "nodes=10", "7 × crashed", "crashed: exit status 3"]]


# --- Texts of the tables of scaling over cores and of growth over the size of the work ---


class Scaled(Exact):
    scaling_laws = (ScalingLaw("cores", CPU.name, "cores"), ScalingLaw("cases", CPU.name))


def test_what_gains_more_than_cores_can_give_is_doubted() -> None:
    values = {}
    for name, times in {"half": {1: 9, 2: 6}, "compiles": {1: 12, 2: 5}}.items():
        for cores, seconds in times.items():
            values[name, point(cores=cores)] = {"cpu_s": scaled(seconds)}
    (table,) = scaling_tables(analysis(values, measurement=Scaled()))
    assert column(table, "efficiency") == ["120 %", "75 %"]
    assert table.notes[0] == (
        "compiles: faster than so many cores can make the work. On one core something else may have run "
        "too, such as the runtime's compiler or collector: no figure of how the work scales."
    )


def over_cores(*levels: int, host: dict[str, object] | None = None) -> RunAnalysis:
    """`half` loses half of each core beyond the first; `none` gains nothing."""
    values = {}
    for cores in levels:
        values["half", point(cores=cores)] = {"cpu_s": scaled(12 / (0.5 + cores / 2))}
        values["none", point(cores=cores)] = {"cpu_s": scaled(12)}
    return analysis(values, measurement=Scaled(), host=host)


def test_efficiency_is_the_speed_up_over_the_cores() -> None:
    (table,) = scaling_tables(over_cores(1, 2, host={"cpus_usable": [0, 1]}))
    assert table.title == "Scaling over cores"
    assert table.columns == ("contender", "speed-up on 2", "efficiency")
    assert texts(table) == [["half", "1.50 (1.50–1.50)", "75 %"], ["none", "1.00 (1.00–1.00)", "50 %"]]
    assert table.subtitle.startswith("of CPU time, from pairs in blocks")
    assert table.notes == (
        "Speed-ups on up to 2 cores are too few to fit the law of scaling, which has three parameters: this "
        "run cannot show where a program stops gaining, or gets slower. This machine has 2 usable CPUs; on a "
        "larger one, use --cores all.",
    )


def test_a_larger_machine_has_the_levels_that_lack() -> None:
    (table,) = scaling_tables(over_cores(1, 2, host={"cpus_usable": list(range(8))}))
    assert table.notes[0].endswith("or gets slower. Use --cores all.")


def test_three_numbers_of_cores_are_fitted_with_a_caution() -> None:
    (table,) = scaling_tables(over_cores(1, 2, 4))
    assert table.columns[3:] == ("efficiency", "contention", "coherency", "best cores", "by the law")
    assert column(table, "efficiency") == ["62 %", "25 %"]
    assert column(table, "by the law")[1] == "gains almost nothing from more cores"
    assert table.notes == (
        "Three numbers of cores fit a law with three parameters exactly: nothing is left to check it.",
    )


@pytest.mark.parametrize(
    ("outlook", "ends", "text"),
    [
        (Outlook.NO_GAIN, None, "gains almost nothing from more cores"),
        (Outlook.SLOWER_BEYOND, (12.4, 15.6), "gets slower beyond 12 to 16 cores"),
        (Outlook.SLOWER_BEYOND, (14.6, 15.4), "gets slower beyond 15 cores"),
        (
            Outlook.GAINS_UP_TO,
            (41.7, 63.7),
            "still gains at 8; by the law up to 42 to 64 cores (not measured)",
        ),
        (
            Outlook.NEVER_MORE_THAN,
            (33.3, 40.1),
            "still gains at 8; by the law at most 33 to 40× (not measured)",
        ),
        (Outlook.NO_LIMIT, None, "no limit visible up to 8 cores"),
        (Outlook.NO_LAW, None, "the law does not fit; nothing is known beyond 8 cores"),
        (Outlook.NOT_CLEAR, None, "intervals too wide to say"),
    ],
)
def test_what_the_law_says_of_more_cores(
    outlook: Outlook, ends: tuple[float, float] | None, text: str
) -> None:
    row = over_cores(1, 2, 4, 8).cores_scaling[0].rows[0]
    assert row.fit is not None
    assert describe_outlook(dataclasses.replace(row, outlook=outlook, outlook_ends=ends)) == text
    assert describe_outlook(dataclasses.replace(row, fit=None)) == ""


def test_growth_has_an_exponent_for_each_contender() -> None:
    values = {
        (name, point(cases=cases)): {"cpu_s": scaled(1e-3 * cases**power)}
        for name, power in (("quadratic", 2), ("linear", 1))
        for cases in (10, 100, 1000)
    }
    (table,) = scaling_tables(analysis(values, measurement=Scaled()))
    assert table.title == "CPU: growth with cases"
    assert texts(table) == [["linear", "1.00 (1.00–1.00)"], ["quadratic", "2.00 (2.00–2.00)"]]


def test_a_run_that_was_interrupted_has_no_verdicts() -> None:
    values = {("erlang", P): {"hop_ns": scaled(100.0)}, ("go", P): {"hop_ns": scaled(50.0)}}
    text = markdown.render(analysis(values, ended=False))
    assert "| go | 50.0 ns (48.5–52.0) | 0.500 (0.500–0.500) | inconclusive | 1–2 |\n" in text
    assert text.endswith("Continue it with \\`ringside run --resume run-1\\`.\n")
    assert "**Warning:** The run was interrupted" in text


def test_hostile_text_is_text_and_keeps_tables_whole() -> None:
    values = {(HOSTILE, P): {"hop_ns": scaled(1.0)}, ("go", P): {"hop_ns": scaled(2.0)}}
    text = markdown.render(analysis(values, title=HOSTILE))
    assert "<img" not in text
    assert "\x1b" not in text
    block = text.split("## nodes=10")[1].split("##")[0].strip().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in block}) == 1


def test_two_runs() -> None:
    run = analysis({("go", P): {"hop_ns": scaled(1.0)}})
    text = markdown.render_diff(diff(run, run))
    assert "| go | nodes=10 | 1.00 ns | 1.00 ns | 1.00 | inconclusive |" in text
    assert "**Warning:** One of the runs has no reference computation" in text
