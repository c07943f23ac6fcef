"""`--fail-if` of `compare` and `vs`."""

from __future__ import annotations

import re

import pytest

from ringside.cli import gates
from ringside.model.design import Metric, Point
from ringside.model.results import Comparison, Interval, Obstacle, Verdict
from tests.support.analyses import HOP, RATE, near
from tests.support.command_line import Ended, in_process


def judged(
    ratio: float, verdict: Verdict, metric: Metric = HOP, obstacle: Obstacle | None = None
) -> tuple[str, Metric, Comparison]:
    interval = Interval(ratio, ratio, ratio, 7)
    return "B over A", metric, Comparison(Point(()), metric.name, "B", "A", interval, verdict, 0.01, obstacle)


@pytest.mark.parametrize(
    ("ratio", "verdict", "gate", "status"),
    [
        (1.2, Verdict.SLOWER, ("slower", 0.199), 1),
        (1.2, Verdict.SLOWER, ("slower", 0.201), 0),
        (1.2, Verdict.SLOWER, ("faster", 0.0), 0),
        # Exactly the share counts.
        (1.25, Verdict.SLOWER, ("slower", 0.25), 1),
        (1 / 1.2, Verdict.FASTER, ("faster", 0.16), 1),
        (1 / 1.2, Verdict.FASTER, ("faster", 0.17), 0),
        # However large the estimate: what is not shown to be worse does not count.
        (1.2, Verdict.INCONCLUSIVE, ("slower", 0.03), 0),
        (1.2, Verdict.INCONCLUSIVE, ("inconclusive", 0.03), 1),
    ],
)
def test_the_gate_lets_through_what_is_not_worse_by_its_share(
    ratio: float, verdict: Verdict, gate: tuple[str, float], status: int
) -> None:
    assert gates.status([gate], [judged(ratio, verdict)]) == status


@pytest.mark.parametrize("metric", [HOP, RATE], ids=["less is better", "more is better"])
@pytest.mark.parametrize("worse_by", [0.05, 0.55, 0.82, 2.5])
def test_the_figure_that_is_printed_is_the_one_that_is_judged(
    metric: Metric, worse_by: float, capsys: pytest.CaptureFixture[str]
) -> None:
    ratio = 1 + worse_by if metric.smaller_is_better else 1 / (1 + worse_by)
    for share in (0.03, 0.5, 0.6, 1.5):
        failed = gates.status([("slower", share)], [judged(ratio, Verdict.SLOWER, metric)])
        said = capsys.readouterr().err
        figures = [
            float(figure)
            for figure in re.findall(r"\+([0-9.]+)%\)|([0-9.]+) % worse", said)
            for figure in figure
            if figure
        ]
        assert (failed, figures) == ((1, [near(worse_by * 100)]) if worse_by >= share else (0, []))


@pytest.mark.parametrize("obstacle", [Obstacle.TOO_FEW_BLOCKS, Obstacle.NO_REFERENCE, Obstacle.UNFINISHED])
def test_without_any_verdict_nothing_passes(obstacle: Obstacle, capsys: pytest.CaptureFixture[str]) -> None:
    ratios = [judged(1.0, Verdict.INCONCLUSIVE, obstacle=obstacle)]
    assert gates.status([], ratios) == 0
    assert gates.status([("slower", 0.05)], ratios) == 1
    assert capsys.readouterr().err == "ringside: --fail-if cannot decide: there are no verdicts\n"


def vs(*words: str, status: int) -> Ended:
    return in_process("vs", "-w", "0", "-r", "7", "-n", "old", "-n", "new", *words, status=status)


def test_commands_in_pairs(workplace: object) -> None:
    """The pair is named in one line, and verdicts and figures are shown all the same."""
    ended = vs("sleep 0.01", "sleep 0.25", "--fail-if", "slower:5%", status=1)
    (line,) = ended.stderr.splitlines()
    assert line.startswith("ringside: new over old: Wall is slower (+")
    assert line.endswith("%); --fail-if allows 5 %")
    assert "slower" in ended.stdout
    assert vs("sleep 0.25", "sleep 0.01", "--fail-if", "slower", status=0).stderr == ""
    scan = ("-L", "s", "0.25,0.3", "sleep 0.01", "sleep {s}", "--fail-if", "worse")
    assert [line.split(":")[1] for line in vs(*scan, status=1).stderr.splitlines()] == [
        " new over old at s=0.25",
        " new over old at s=0.3",
    ]


def test_a_command_alone_has_nothing_to_fail(workplace: object) -> None:
    ended = in_process("vs", "true", "--fail-if", "slower", status=2)
    assert "name two commands" in ended.stderr
