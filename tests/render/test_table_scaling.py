"""Texts of the tables of scaling over cores and of growth over the size of the work."""

from __future__ import annotations

import dataclasses

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import Outlook
from ringside.render.tables import scaling
from ringside.workloads.base import ScalingLaw
from tests.support.analyses import CPU, Exact, analysis, point, scaled
from tests.support.tables import column, texts


class Scaled(Exact):
    scaling_laws = (ScalingLaw("cores", CPU.name, "cores"), ScalingLaw("cases", CPU.name))


def over_cores(*levels: int, host: dict[str, object] | None = None) -> RunAnalysis:
    """`half` loses half of each core beyond the first; `none` gains nothing."""
    values = {}
    for cores in levels:
        values["half", point(cores=cores)] = {"cpu_s": scaled(12 / (0.5 + cores / 2))}
        values["none", point(cores=cores)] = {"cpu_s": scaled(12)}
    return analysis(values, measurement=Scaled(), host=host)


def test_efficiency_is_the_speed_up_over_the_cores() -> None:
    (table,) = scaling.scaling_tables(over_cores(1, 2, host={"cpus_usable": [0, 1]}))
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
    (table,) = scaling.scaling_tables(over_cores(1, 2, host={"cpus_usable": list(range(8))}))
    assert table.notes[0].endswith("or gets slower. Use --cores all.")


def test_three_numbers_of_cores_are_fitted_with_a_caution() -> None:
    (table,) = scaling.scaling_tables(over_cores(1, 2, 4))
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
        (Outlook.NOT_CLEAR, None, "intervals too wide to say"),
    ],
)
def test_what_the_law_says_of_more_cores(
    outlook: Outlook, ends: tuple[float, float] | None, text: str
) -> None:
    row = over_cores(1, 2, 4, 8).cores_scaling[0].rows[0]
    assert row.fit is not None
    assert scaling.outlook(dataclasses.replace(row, outlook=outlook, outlook_ends=ends)) == text
    assert scaling.outlook(dataclasses.replace(row, fit=None)) == ""


def test_every_outlook_has_words() -> None:
    row = over_cores(1, 2, 4, 8).cores_scaling[0].rows[0]
    written = [
        scaling.outlook(dataclasses.replace(row, outlook=outlook, outlook_ends=(2.0, 3.0)))
        for outlook in Outlook
    ]
    assert len(set(written)) == len(Outlook)


def test_growth_has_an_exponent_for_each_contender() -> None:
    values = {
        (name, point(cases=cases)): {"cpu_s": scaled(1e-3 * cases**power)}
        for name, power in (("quadratic", 2), ("linear", 1))
        for cases in (10, 100, 1000)
    }
    (table,) = scaling.scaling_tables(analysis(values, measurement=Scaled()))
    assert table.title == "CPU: growth with cases"
    assert texts(table) == [["linear", "1.00 (1.00–1.00)"], ["quadratic", "2.00 (2.00–2.00)"]]
