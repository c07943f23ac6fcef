"""The output and exports of `vs` and `load --vs`, from made-up executions and loads."""

import dataclasses
import io
import json
import re

import pytest
from msgspec.structs import replace
from rich.console import Console

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Level, Point
from ringside.model.results import Verdict
from ringside.probe.protocol import CpuUse
from ringside.render.export import documents, formats
from ringside.render.plots.charts import charts
from ringside.render.text import paired
from ringside.workloads.command import COMMAND
from tests.support import golden
from tests.support.analyses import HOSTILE, NOISE, point, scaled
from tests.support.cases import cases
from tests.support.executions import HERE, commands, compared, execution, targets

THREE = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.3), ("C", HERE): scaled(0.05)})


def texts(run: RunAnalysis) -> list[str]:
    return [sentence.text for sentence in paired.verdicts(run)]


def test_what_two_modes_a_busy_machine_and_failures_make_of_a_sentence() -> None:
    """The ratio is that of the means, and has no verdict that these do not show; what failed comes first."""
    fast_or_slow, steady = [0.01, 0.0703, 0.0101, 0.07] * 5, [*scaled(0.07), *scaled(0.07), *scaled(0.07)[:6]]
    (alike,) = texts(commands({("A", HERE): fast_or_slow, ("B", HERE): steady}))
    assert re.match(r"B took 1\.7\d× A's mean wall time \(\S+\): ", alike)
    assert "; A has two modes, 10.0 ms and 70.1 ms" in alike
    both = next(commands({("A", HERE): fast_or_slow, ("B", HERE): fast_or_slow[::-1]}).shown_comparisons())
    assert (both.verdict, *both.modes) == (Verdict.INCONCLUSIVE, "B", "A")
    # Every pair shows a difference that the means do not: ranks are open too, and the run would go on.
    few = commands({("A", HERE): [0.1, 0.1, 0.1, 0.06] * 3, ("B", HERE): [0.102] * 12})
    assert {*few.rankings["wall_s", HERE].ranks.values()} == {(1, 2)}
    assert few.examination.is_needed(Cell("A", HERE))
    # Here the means show one that the test of pairs does not.
    some = [0.1, 0.102, 0.1, 0.17, 0.098] * 4
    (text,) = texts(commands({("A", HERE): [0.1, 0.1005] * 10, ("B", HERE): some}))
    assert text.endswith("100 ms and 170 ms, and the test of pairs does not show the difference")
    busy = CpuUse(0, busy_ns=10**9, idle_ns=0)
    trials = [
        dataclasses.replace(
            each,
            detail="exit status 3",
            report=replace(each.report, cpus=(busy,), peak_memory_unknown="several"),
        )
        for each in (execution(block, name, 0.1) for block in range(1, 8) for name in "AB")
        if each.report
    ]
    run = compared(COMMAND, trials)
    first, second = texts(run)
    assert first.startswith(
        "`A` failed in 7 of 7 executions, `B` failed in 7 of 7 executions, which are included."
    )
    assert second.endswith(" (on a machine as busy as this)")
    # Only --all has a column of memory.
    assert "No peak memory" not in printed(run)
    assert "No peak memory" in printed(run, everything=True)


def test_markdown_is_harmless() -> None:
    titles = {"A": HOSTILE, "B": "a|b `c`"}
    run = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)}, titles)
    text = paired.as_markdown(run, "how")
    assert "\x1b" not in text
    assert "<img" not in text
    assert "- B: a\\|b \\`c\\`" in text
    assert text.startswith("- B took 2.00× A's wall time (2.00–2.00): slower\n\n## Medians over blocks\n")
    assert {line.count("|") - line.count("\\|") for line in text.splitlines()} == {0, 13}


# --- commands alone, over parameters, and as hyperfine exports them ---


def printed(analysis: RunAnalysis, *, everything: bool = False) -> str:
    paired.show(analysis, "how", Console(file=(out := io.StringIO()), width=120), everything=everything)
    return out.getvalue()


ALONE = commands({("A", HERE): [*scaled(0.02), *scaled(0.0204), 0.09]})
SCAN = commands({("A", point(n=n)): scaled(n / 100) for n in (1, 2, 4)}, {"A": "sleep 0.0{n}"})
TWO = commands({("A", point(n=n)): scaled(n / 100) for n in (1, 2)})
PAIRS = commands(
    {
        (name, point(n=n, cc="gcc")): scaled(n / cost)
        for n in (1, 3)
        for name, cost in (("A", 10), ("new", 20))
    }
)


SHOWN = {"three commands": THREE, "a command alone": ALONE, "servers": targets(), "a scan": SCAN}


def test_comparisons_read_as_they_did() -> None:
    golden.check("comparisons.txt", "".join(f"# {name}\n{printed(run)}" for name, run in SHOWN.items()))


def test_bars_are_as_long_as_their_counts() -> None:
    run = commands({("A", HERE): [1.0] * 8 + [2.0] * 4 + [4.0] * 4})
    bars = paired.histogram(run.descriptions[Cell("A", HERE)], ALONE.headline)
    assert [line.split()[0] for line in bars] == ["1.00", "1.75", "2.50", "3.25"]
    assert [line.count("█") for line in bars] == [40, 20, 0, 20]


def test_scans_of_commands() -> None:
    assert paired.over_first(SCAN)[point(n=4)].ratio.estimate == pytest.approx(4)
    assert paired.verdicts(SCAN)[0].text.startswith("n=1 has the best wall time")
    assert paired.verdicts(TWO)[1].text == "n=2 took 2.00× n=1's wall time (2.00–2.00): slower"
    assert [sentence.text.partition(": ")[0] for sentence in paired.verdicts(PAIRS)] == ["n=1", "n=3"]
    ordered = [row[3].text.split()[0] for row in paired.table(PAIRS, "mean-time").rows]
    assert ordered == ["50.0", "100", "150", "300"]
    commands = documents.vs_document(PAIRS, {})["commands"]
    (over_first,) = documents.vs_document(TWO, {})["comparisons"]
    assert (over_first["contender"], over_first["word"], over_first["p"]) == ("n=2", "slower", None)
    assert [each["point"] for each in commands][1:3] == [{"n": 1, "cc": "gcc"}, {"n": 3, "cc": "gcc"}]


def test_numbers_as_text_are_swept_as_numbers() -> None:
    analysis = commands({("A", point(d=d)): scaled(float(d)) for d in ("0.1", "0.2", "0.4")})
    assert analysis.swept == "d"
    chart = charts(analysis)[0]
    assert chart.title == "Wall over d"
    assert '"format": "~g"' in json.dumps(chart.panels[0].spec)
    assert commands({("A", point(d=d)): scaled(0.1) for d in ("x", "y", "z")}).swept is None


# --- exports ---


@pytest.mark.parametrize("kind", list(formats.VS_FORMATS))
def test_hostile_names_stay_in_their_field(kind: str) -> None:
    text = formats.VS_FORMATS[kind](
        commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.1)}, {"A": HOSTILE}), "auto"
    )
    assert "\x1b" not in text or kind == "csv"
    plain = formats.VS_FORMATS[kind](commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.1)}), "auto")
    assert len(text.splitlines()) == len(plain.splitlines())


def test_one_unit_for_all_times() -> None:
    with units.time_unit(units.TIME_UNITS["s"]):
        text = printed(commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.002)}))
        table = formats.VS_FORMATS["markdown"](SCAN, "auto")
    assert "Mean [s]" in table
    assert "0.100 s (0.097–0.104)" in text
    assert not re.search(r"[0-9] ms", text.partition("Warning")[0])
    assert "100 ms" in printed(commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)}))


@pytest.mark.parametrize(("power", "start_s", "said"), cases(__file__, "a_sweep_says_how_time_grows"))
def test_a_sweep_says_how_time_grows(power: float, start_s: float, said: str) -> None:
    levels: tuple[Level, ...] = (10, "100.0", 1000) if power == 1.6 else (10, 100, 1000)
    walls = {
        ("A", Point((("n", level),))): [
            (start_s + float(level) ** power / 1000) * each for each in NOISE[at:] + NOISE[:at]
        ]
        for at, level in enumerate(levels)
    }
    analysis = commands(walls)
    (sentence,) = (each.text for each in paired.verdicts(analysis) if "^" in each.text)
    assert re.fullmatch(said, sentence), sentence
    (growth,) = documents.vs_document(analysis, {})["growth"]
    assert (growth["parameter"], growth["name"], growth["n"]) == ("n", "A", len(NOISE))
    assert growth["low"] <= growth["exponent"] <= growth["high"]
    if not start_s:
        assert growth["exponent"] == pytest.approx(power, abs=0.05)
    few = commands({cell: each[:3] for cell, each in walls.items()})
    two = commands(dict([*walls.items()][:2]))
    assert "^" not in str([*paired.verdicts(two), *paired.verdicts(few)])
    assert documents.vs_document(two, {})["growth"] == []
