"""Texts of tables, as they are, of made-up runs: whoever changes a table reads here what comes of it."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from ringside.analysis.distributions import WarmUp
from ringside.analysis.published import ThenAndNow, ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import Outlook
from ringside.model.catalogue import Published
from ringside.model.design import Cell, Metric
from ringside.model.results import Interval
from ringside.render.text import markdown, paired
from ringside.render.text.cells import TableData, brief
from ringside.render.text.changes import change_table, diff_tables, run_table
from ringside.render.text.contenders import contender_table
from ringside.render.text.tables import (
    breakdown_table,
    point_table,
    published_tables,
    ratio_table,
    scaling_tables,
    tables,
    warm_up_table,
)
from ringside.stats.series import SeriesKind
from ringside.store.plans import PlannedContender
from ringside.workloads.base import ScalingLaw
from tests.render.text.test_changes import COMPARED, HISTORIES
from tests.render.text.test_paired import PAIRS, SCAN, THREE
from tests.support import golden
from tests.support.analyses import (
    CPU,
    HOP,
    HOSTILE,
    MEMORY,
    NOISE,
    Exact,
    Secondary,
    Sloped,
    Values,
    analysis,
    medians,
    point,
    scaled,
    with_figures,
)
from tests.support.executions import targets

P, Q = point(nodes=10), point(nodes=20)
MIB = 1 << 20
GAINS = {"half": 0.5, "none": 0.0}
NOW = Interval(25.0, 20.0, 30.0, 7)


class Parts(Exact):
    breakdown = (CPU.name, MEMORY.name)

    def diagnosis(self, contender: str, point: object, figures: object) -> str | None:
        return f"{contender} waits for the disk" if contender == "go" else None


class Repeated(Exact):
    repeated_metric = HOP.name


class Scaled(Exact):
    scaling_laws = (ScalingLaw("cores", CPU.name, "cores"), ScalingLaw("cases", CPU.name))


def ring() -> RunAnalysis:
    """Each contender has another hop, and other ratios over the baseline and over the floor."""
    hops = {"erlang": 100, "go": 150, "limit": 8}
    values = {
        (name, place): {"hop_ns": scaled(hop), "cpu_s": scaled(hop / 1000), "memory_bytes": scaled(hop * MIB)}
        for name, hop in hops.items()
        for place in (P, Q)
    }
    return analysis(values, measurement=Secondary(), floor="limit")


def hops(*places: tuple[str, Values]) -> RunAnalysis:
    """A run at one point of contenders with these figures of the blocks."""
    return analysis({(name, P): {"hop_ns": values} for name, values in places})


def failures() -> RunAnalysis:
    values = {("erlang", P): {"hop_ns": NOISE}, ("limit", P): {}, ("idle", P): {"cpu_s": NOISE}}
    return analysis(values, measurement=Secondary(), floor="limit", failed=[("go", P)])


def classes() -> RunAnalysis:
    return analysis(medians(P, thin=10.0, a=100.0, b=50.0), baseline="a", kinds={"thin": "bare"})


def rates() -> RunAnalysis:
    return analysis(medians(P, metric="rate", erlang=100.0, go=50.0, c=200.0), metrics=["rate"])


def many_points() -> RunAnalysis:
    values = {
        (name, point(nodes=nodes)): {"hop_ns": scaled(hop * nodes)}
        for name, hop in (("erlang", 10.0), ("go", 20.0), ("pony", 80.0))
        for nodes in (1, 2, 3, 4, 5)
    }
    return analysis(values, ratios=(("pony", "go"), ("erlang", "go")))


def sloped() -> RunAnalysis:
    values = {
        (name, place): {"memory_bytes": [1000.0 + size * int(place["nodes"])] * 7}
        for name, size in (("erlang", 2700.0), ("go", 400.0))
        for place in (P, Q)
    }
    return analysis(values, measurement=Sloped())


def parts() -> Iterable[TableData | None]:
    values = {
        ("go", P): {"cpu_s": scaled(2)},
        ("erlang", P): {"cpu_s": scaled(3), "memory_bytes": scaled(MIB)},
    }
    yield breakdown_table(analysis(values, measurement=Parts()))
    yield breakdown_table(
        analysis({("go", place): {"cpu_s": NOISE} for place in (P, Q)}, measurement=Parts())
    )


def warm_up(name: str, *, steady: float | None, kinds: dict[SeriesKind, int], repeats: int = 20) -> WarmUp:
    series = tuple((500.0, *[100.0] * (repeats - 1)) for _ in range(7))
    since = 4 if steady else None
    return WarmUp(Cell(name, P), series, series[0], 500.0, steady, since, kinds)


def repeated(*warm_ups: WarmUp) -> TableData | None:
    values = {(name, P): {"hop_ns": NOISE} for name in ("erlang", "go")}
    return warm_up_table(with_figures(analysis(values, measurement=Repeated()), warm_ups=warm_ups))


def warm_ups() -> Iterable[TableData | None]:
    both = {SeriesKind.STEADY: 2, SeriesKind.WARMING_UP: 5}
    unsteady = {SeriesKind.UNSTEADY: 7}
    yield repeated(warm_up("go", steady=None, kinds=unsteady), warm_up("erlang", steady=100.0, kinds=both))
    yield repeated(warm_up("go", steady=None, kinds={}, repeats=5))


def then_and_now(metric: Metric, now: Interval | None = NOW) -> ThenAndNow:
    source = Published("post", "A post", "2007-03-01", "a laptop", {}, "medians", (), ())
    figures = (ThenAndNowRow(P, "go", 50.0, now),)
    ratios = (ThenAndNowRow(P, "go / erlang", 12.5, Interval(1.5, 1.4, 1.6, 7)),)
    return ThenAndNow(source, metric, figures, ratios)


def contenders() -> Iterable[TableData]:
    """Columns in which somebody has text; programs of several runs; commands."""

    def of(**planned: PlannedContender) -> RunAnalysis:
        return with_figures(ring(), contenders=planned)

    yield contender_table(
        of(
            erlang=PlannedContender("Erlang", model="actors", runs_on="OTP", version="27"),
            go=PlannedContender("Go", scheduler="preemptive", runs_on="Go"),
        )
    )
    go = PlannedContender("go", runs_on="X", version="1")
    bare = dataclasses.replace(go, kind="bare")
    yield contender_table(of(erlang=bare, go=go), of(erlang=go))
    yield contender_table(
        of(A=PlannedContender("./run 1", command=("./run", "1")), B=PlannedContender("./run 2"))
    )


def over_cores(*levels: int, cpus: int = 2, shares: Mapping[str, float] = GAINS) -> RunAnalysis:
    """`half` loses half of each core beyond the first; `none` gains nothing."""
    values = {
        (name, point(cores=cores)): {"cpu_s": scaled(12 / (1 + share * (cores - 1)))}
        for cores in levels
        for name, share in shares.items()
    }
    return analysis(values, measurement=Scaled(), host={"cpus_usable": list(range(cpus))})


OUTLOOKS = (
    (Outlook.NO_GAIN, None),
    (Outlook.SLOWER_BEYOND, (12.4, 15.6)),
    (Outlook.SLOWER_BEYOND, (14.6, 15.4)),
    (Outlook.GAINS_UP_TO, (41.7, 63.7)),
    (Outlook.NEVER_MORE_THAN, (2.43, 2.49)),
    *((outlook, None) for outlook in (Outlook.NO_LIMIT, Outlook.NO_LAW, Outlook.NOT_CLEAR)),
)


def outlooks() -> Iterable[TableData]:
    """The law's prediction for more cores, with the ends of its interval."""
    run = over_cores(1, 2, 4, 8)
    (scaling,) = run.cores_scaling
    rows = (dataclasses.replace(scaling.rows[0], outlook=each, outlook_ends=ends) for each, ends in OUTLOOKS)
    made = dataclasses.replace(scaling, rows=tuple(rows))
    return scaling_tables(with_figures(run, cores_scaling=(made,)))


def gains() -> RunAnalysis:
    """One that gains more than two cores can give."""
    values = {
        (name, point(cores=cores)): {"cpu_s": scaled(seconds)}
        for name, times in {"half": {1: 9, 2: 6}, "compiles": {1: 12, 2: 5}}.items()
        for cores, seconds in times.items()
    }
    return analysis(values, measurement=Scaled())


def growth() -> RunAnalysis:
    values = {
        (name, point(cases=cases)): {"cpu_s": scaled(1e-3 * cases**power)}
        for name, power in (("quadratic", 2), ("linear", 1))
        for cases in (10, 100, 1000)
    }
    return analysis(values, measurement=Scaled())


TABLES: dict[str, Callable[[], Iterable[TableData | None]]] = {
    # A metric without figures is left out; metrics besides the headline are exploratory.
    "a ring": lambda: (point_table(ring(), P), *(ratio_table(ring(), metric) for metric in ring().metrics)),
    "a first look": lambda: [brief(point_table(ring(), P))],
    "contenders of other classes": lambda: [point_table(classes(), P)],
    "figures of other blocks": lambda: [
        point_table(hops(("a", scaled(1)), ("b", scaled(2)[:6]), ("c", ())), P)
    ],
    "the floor as baseline": lambda: [
        point_table(
            analysis({("limit", P): {"hop_ns": NOISE}, ("go", P): {"hop_ns": NOISE}}, floor="limit"), P
        )
    ],
    "failures": lambda: [point_table(failures(), P), tables(failures())[-1]],
    "too few blocks": lambda: [point_table(hops(("erlang", [1.0, 1.0]), ("go", [2.0, 2.0])), P)],
    "a contender alone": lambda: [point_table(hops(("erlang", NOISE)), P)],
    "no block together": lambda: [point_table(hops(("erlang", [1.0, None]), ("go", [None, 2.0])), P)],
    "rates": lambda: [point_table(rates(), P)],
    "five points": lambda: tables(many_points())[:2],
    "five points of one contender": lambda: tables(
        analysis({("go", point(nodes=nodes)): {"hop_ns": NOISE} for nodes in (1, 2, 3, 4, 5)})
    ),
    "four points": lambda: tables(
        analysis({("go", point(nodes=nodes)): {"hop_ns": NOISE} for nodes in (1, 2, 3, 4)})
    ),
    "slopes": lambda: [table for table in tables(sloped()) if "per node" in table.title],
    "where the time went": parts,
    "warm-ups": warm_ups,
    "then and now": lambda: published_tables(with_figures(ring(), then_and_now=(then_and_now(HOP),))),
    "then and now of two metrics": lambda: published_tables(
        with_figures(ring(), then_and_now=(then_and_now(HOP), then_and_now(CPU, None)))
    ),
    "nothing published": lambda: published_tables(ring()),
    "contenders": contenders,
    "two numbers of cores": lambda: scaling_tables(over_cores(1, 2)),
    "three numbers of cores": lambda: scaling_tables(over_cores(1, 2, 4, shares={"half": 0.5})),
    "outlooks on more cores": outlooks,
    "a larger machine": lambda: scaling_tables(over_cores(1, 2, cpus=8)),
    "more than cores can give": lambda: scaling_tables(gains()),
    "commands": lambda: [paired.table(THREE), brief(paired.table(THREE))],
    "a scan of a command": lambda: [paired.table(SCAN)],
    "a scan of two commands": lambda: [paired.table(PAIRS)],
    "servers": lambda: [paired.table(targets()), paired.table(targets(messages=5))],
    "growth": lambda: scaling_tables(growth()),
    "two runs": lambda: (table for both in COMPARED for table in diff_tables(both)),
    "histories": lambda: (run_table(HISTORIES[0]), *map(change_table, HISTORIES)),
}


def lines(table: TableData) -> Iterable[str]:
    """A table with the kinds of its cells that have a colour."""
    yield f"  {table.title} -- {table.subtitle}"
    yield "  " + " | ".join(table.columns)
    for row in table.rows:
        cells = (
            cell.text + f" [{cell.kind}]" * (cell.kind not in ("number", "text", "quiet"))
            + f" <{cell.word}>" * bool(cell.word)
            for cell in row
        )  # fmt: skip
        yield "  " + " | ".join(cells)
    if table.narrow:
        yield f"  on a narrow screen without: {', '.join(table.narrow)}"
    yield from (f"  note: {note}" for note in table.notes)


def test_tables_read_as_they_did() -> None:
    made = []
    for name, of in TABLES.items():
        made.append(f"# {name}")
        for table in of():
            made += [*lines(table), ""] if table else ["  none", ""]
    golden.check("tables.txt", "\n".join(made) + "\n")


def test_a_run_that_was_interrupted_has_no_verdicts() -> None:
    text = markdown.render(analysis(medians(P, erlang=100.0, go=50.0), ended=False))
    assert "| go | 50.0 ns (48.5–52.0) | 0.500 (0.500–0.500) | no verdict possible | 1–2 |\n" in text
    assert text.endswith("Continue it with \\`ringside run --resume run-1\\`.\n")
    assert "**Warning:** The run stopped after 7 of 7 blocks" in text


def test_hostile_text_is_text_and_keeps_tables_whole() -> None:
    values = {(HOSTILE, P): {"hop_ns": scaled(1.0)}, ("go", P): {"hop_ns": scaled(2.0)}}
    text = markdown.render(analysis(values, title=HOSTILE))
    assert "<img" not in text
    assert "\x1b" not in text
    block = text.split("## nodes=10")[1].split("##")[0].strip().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in block}) == 1


def test_two_runs() -> None:
    text = markdown.render_diff(COMPARED[2])
    assert "| no verdict possible | 200 ns " in text
    assert "**Warning:** Too few reference computations show" in text
