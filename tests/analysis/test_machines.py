"""A run on two machines of which one is twice as fast: no ratio shows that, the table of machines does."""

import dataclasses
import json
import math
from collections.abc import Mapping

import pytest

from ringside.analysis.distributions import MachineAnalysis, MachineRow, analyse_machines
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Interval, Outcome, Trial, Verdict
from ringside.render.export import documents
from ringside.render.text.tables import tables
from ringside.stats.interval import median_interval
from ringside.stats.paired import paired_ratio
from ringside.stats.samples import between_groups
from ringside.store import Store
from tests.support.analyses import Planted, near, point
from tests.support.runs import experiment, make_run


def analysed(lacking: dict[str, str], blocks: int = 14) -> RunAnalysis:
    """A run whose blocks alternate between `fast` and `slow`; `lacking`: machines by contenders that they
    lack."""
    store = Store(None)
    run = make_run(store, experiment(factors={"nodes": 100, "messages": 100}, blocks=blocks), noise=0.02)

    def moved(trial: Trial) -> Trial:
        where, times = (("fast", 1), ("slow", 2))[trial.block % 2]
        phases = {name: tuple(ns * times for ns in each) for name, each in trial.phases.items()}
        if lacking.get(trial.cell.contender) == where:
            trial, phases = dataclasses.replace(trial, outcome=Outcome.UNAVAILABLE, report=None), {}
        return dataclasses.replace(trial, machine=where, phases=phases)

    return RunAnalysis(run, [moved(trial) for trial in store.trials(run)])


# --- the machine in all outputs ---


def test_the_document_has_the_machines() -> None:
    analysis = analysed({"go": "slow"}, blocks=28)
    (table,) = [table for table in tables(analysis) if table.title == "Machines"]
    assert "by machine: fast 14 blocks, slow 14 blocks" in table.subtitle
    assert table.columns == (
        *("contender", "fast", "× erlang, fast", "slow", "× erlang, slow", "× erlang, all", "spread"),
    )
    # `go` has its verdict from the other machine.
    comparison = analysis.comparison(analysis.headline, "go", "erlang", analysis.points[0])
    assert (comparison.ratio.n, comparison.obstacle, comparison.verdict) == (14, None, Verdict.SLOWER)
    machines = json.loads(documents.as_json(documents.document(analysis)))["machines"]
    assert machines.keys() == {"metric", "baseline", "blocks", "cells"}
    assert (machines["metric"], machines["baseline"]) == ("hop_ns", "erlang")
    assert machines["blocks"] == {"fast": 14, "slow": 14}
    cells = {cell["contender"]: cell for cell in machines["cells"]}
    assert cells.keys() == set(analysis.names)
    for row in analysis.machines.rows:
        cell = cells[row.cell.contender]
        assert cell["point"] == row.cell.point.as_dict()
        assert {name: each["median"] for name, each in cell["figures"].items()} == {
            name: each.estimate for name, each in row.figures.items()
        }
        assert {name: (each["ratio"], each["n"]) for name, each in cell["ratios"].items()} == {
            name: (each.estimate, each.n) for name, each in row.ratios.items()
        }
        assert cell["spread"] == row.spread
    assert {each["unit"] for each in cells["go"]["figures"].values()} == {analysis.headline.unit}
    assert cells["go"]["ratios"].keys() == {"fast"}
    assert cells["erlang"]["ratios"] == {}
    assert cells["erlang"]["spread"] is None


P, Q = point(nodes=10), point(nodes=20)
# Nine blocks of three machines, and a warm-up.
MACHINES = dict(enumerate(["west", "west", "east", "east", "west", "east", "east", "west", "south"]))
# By contender and point, the headline of each block: what there is of a block may be missing.
HOPS = {
    ("base", P): {block: 10.0 + block for block in range(1, 9)},
    ("go", P): {2: 31.0, 3: 47.0, 5: 52.0, 6: 90.0, 1: 55.0, 4: 83.0, 7: 71.0, 8: 18.0},
    ("base", Q): {2: 5.0, 8: 6.0},
    ("go", Q): {3: 7.0, 8: 24.0},
}


def machines(
    hops: Mapping[str, Mapping[int, float]], confidence: float = 0.95, places: Mapping[int, str] = MACHINES
) -> MachineAnalysis | None:
    run = Planted(
        {
            (name, place): {"hop_ns": hops.get(f"{name} {place['nodes']}", each), "cpu_s": {2: 9.0}}
            for (name, place), each in HOPS.items()
        }
    )
    trials = [
        Trial(block, 0, cell, Outcome.OK, "", machine=machine)
        for block, machine in places.items()
        for cell in run.cells
    ]
    # One of which it is not known where it was.
    run.trials = (*trials, Trial(9, 0, Cell("go", P), Outcome.OK, ""))
    run.experiment, run.confidence = experiment(baseline="base"), confidence
    return analyse_machines(run)


def ratio(above: Mapping[int, float], below: Mapping[int, float], confidence: float) -> Interval:
    interval = paired_ratio(above, below, confidence)
    assert interval
    return interval


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_figures_and_ratios_by_machine(confidence: float) -> None:
    where = {"east": (2, 3, 5, 6), "south": (8,), "west": (1, 4, 7)}
    base, go = HOPS["base", P], HOPS["go", P]
    own = {
        name: [{block: each[block] for block in blocks} for each in (base, go)]
        for name, blocks in where.items()
    }
    between = between_groups([[math.log(go[n] / base[n]) for n in blocks] for blocks in where.values()])
    assert between
    assert machines({}, confidence) == MachineAnalysis(
        {"east": 4, "south": 1, "west": 3},
        (
            MachineRow(
                Cell("base", P),
                {name: median_interval(list(each.values())) for name, (each, _) in own.items()},
                {},
                None,
            ),
            MachineRow(
                Cell("go", P),
                {name: median_interval(list(each.values())) for name, (_, each) in own.items()},
                {name: ratio(above, below, confidence) for name, (below, above) in own.items()},
                near(math.exp(between)),
            ),
            MachineRow(
                Cell("base", Q), {"east": median_interval([5.0]), "south": median_interval([6.0])}, {}, None
            ),
            # No block of the other machine has both.
            MachineRow(
                Cell("go", Q),
                {"east": median_interval([7.0]), "south": median_interval([24.0])},
                {"south": ratio({8: 24.0}, {8: 6.0}, confidence)},
                None,
            ),
        ),
    )


def test_machines_without_figures_are_left_out() -> None:
    analysis = machines({"go 10": {}, "base 20": {8: 6.0}})
    assert [(list(row.figures), list(row.ratios), row.spread) for row in analysis.rows] == [
        (["east", "south", "west"], [], None),
        ([], [], None),
        (["south"], [], None),
        (["east", "south"], ["south"], None),
    ]


def test_a_run_on_one_machine_has_no_such_table() -> None:
    assert machines({}, places=dict.fromkeys(MACHINES, "east")) is None
