"""Tables of metrics: what a row can be, and what it cannot; and of what else a workload declares."""

from pathlib import Path

import pytest

from ringside.model.design import Metric, NoFloor
from ringside.workloads.base import CORES, Curve, Factor, Workload
from ringside.workloads.tables import SHARED, declared, metric_table
from tests.support.cases import cases

HEAD = """\
# Metrics

| name | unit | title | better | phrase | no floor | explanation |
|---|---|---|---|---|---|---|
"""


def metrics(folder: Path, text: str) -> tuple[Metric, ...]:
    (folder / "metrics.md").write_text(text, encoding="utf-8")
    return metric_table(folder / "metrics.md", {"rates": (5, 1000)})


def test_rows(tmp_path: Path) -> None:
    assert metrics(
        tmp_path,
        HEAD
        + "| a_s | s | A | less | time of a |  | what a is |\n| cpu_s |  |  |  |  |  |  |\n\nAnd:\n\n"
        + HEAD.partition("\n\n")[2]
        + "| b |  | B | more |  | from 2 cores: no reason | b |\n| c | B | C | less |  | none | c |\n"
        + "| d_{rates} | B | D | less | d at {rates:,} |  | d |\n",
    ) == (
        Metric("a_s", "s", "A", "what a is", phrase="time of a"),
        SHARED["cpu_s"],
        Metric("b", "", "B", "b", smaller_is_better=False, no_floor=NoFloor("no reason", 2)),
        Metric("c", "B", "C", "c", no_floor=NoFloor("none")),
        Metric("d_5", "B", "D", "d", phrase="d at 5"),
        Metric("d_1000", "B", "D", "d", phrase="d at 1,000"),
    )


@pytest.mark.parametrize(("row", "error"), cases(__file__, "rows_that_cannot_be_read"))
def test_rows_that_cannot_be_read(tmp_path: Path, row: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        metrics(tmp_path, f"{HEAD}{row}\n")


def declare(folder: Path, text: str) -> type[Workload]:
    rows = f"{HEAD}| d_{{slots}} | B | D | less |  |  | d |\n"
    (folder / "metrics.md").write_text(rows, encoding="utf-8")
    (folder / "workload.toml").write_text(text, encoding="utf-8")

    class Mine(Workload):
        pass

    return declared(str(folder / "workload.py"))(Mine)


def test_attributes_of_a_workload(tmp_path: Path) -> None:
    mine = declare(
        tmp_path,
        'title = "Mine"\n[factors.n]\ndefault = 1\nexplanation = "n"\n[factors.cores]\n'
        '[series]\nslots = [0, 1]\n[[curves]]\ntitle = "T"\nexplanation = "t"\nx_title = "x"\n'
        'y_title = "y"\nover = "slots"\nper = 4\nmetric = "d_{slots}"\n',
    )
    assert (mine.title, mine.factors) == ("Mine", (Factor("n", 1, "n"), CORES))
    assert [metric.name for metric in mine.metrics] == ["d_0", "d_1"]
    assert mine.curves == (Curve("T", "t", "x", "y", ((0.0, "0", "d_0"), (0.25, "0.25", "d_1"))),)


@pytest.mark.parametrize(("text", "error"), cases(__file__, "attributes_that_no_workload_has"))
def test_attributes_that_no_workload_has(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError), match=error):
        declare(tmp_path, text)
