"""`ringside compare`, and the gates of `compare` and `vs`."""

import contextvars
import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.cli import gates
from ringside.cli.main import cli
from ringside.errors import UsageError
from ringside.model.design import Metric, Point
from ringside.model.results import Comparison, Interval, Obstacle, Verdict
from ringside.stats import unpaired
from ringside.store import Store
from tests.support.analyses import HOP, RATE, near
from tests.support.cases import cases
from tests.support.command_line import Ended, in_process, parsed
from tests.support.runs import experiment, make_run

# The ids of two runs, and the store that holds them.
Runs = tuple[str, str, str]


@pytest.fixture
def two_runs(tmp_path: Path) -> Callable[[float], Runs]:
    """Makes two runs of the ring, the second of which takes so many times as long in each of four cells."""

    def make(times: float) -> Runs:
        where = str(tmp_path / "both.sqlite")
        store = Store(where)
        factors = {"nodes": 100, "messages": (100, 1000)}
        made = experiment(contenders=("erlang", "go"), baseline="erlang", factors=factors, blocks=7)
        names = []
        for seed, scale in ((1, 1.0), (2, times)):
            run = make_run(store, made, seed=seed, noise=0.01)
            again = store.begin_run("again", seed, run.plan, run.host, {})
            for trial in store.trials(run):
                assert trial.report
                references = {"reference_ns": 10_000_000, "memory_reference_ns": 7_000_000}
                report = msgspec.structs.replace(trial.report, **references)
                phases = {key: tuple(round(ns * scale) for ns in all) for key, all in trial.phases.items()}
                store.add_trial(again, dataclasses.replace(trial, report=report, phases=phases))
            store.end_run(again)
            names.append(again.id)
        store.close()
        return where, names[0], names[1]

    return make


def run(where: str, *arguments: str) -> object:
    words = ["compare", *arguments, "--store", where]
    return contextvars.copy_context().run(cli.main, words, standalone_mode=False)


def document(capsys: pytest.CaptureFixture[str], where: str, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(where, *arguments, "--json") == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out)
    return values


HOPS = ("--metric", "hop_ns")


def test_the_file_of_a_record(two_runs: Callable[[float], Runs], complaint: Callable[..., str]) -> None:
    where, *runs = two_runs(1.3)
    for run_id, name in zip(runs, ("old.json.xz", "new.json.xz"), strict=True):
        in_process("export", run_id, "--format", "record", "-o", name, "--store", where)
    expected = in_process("compare", *runs, "--json", "--store", where).stdout
    assert in_process("compare", "old.json.xz", "new.json.xz", "--json").stdout == expected
    assert in_process("compare", runs[0], "new.json.xz", "--json", "--store", where).stdout == expected
    twice = f"run {runs[1]} is named twice: compare it with another one"
    assert twice in complaint("compare", "old.json.xz,new.json.xz", "new.json.xz")
    shown = in_process("show", runs[1], "--json", "--store", where).stdout
    assert in_process("show", "new.json.xz", "--json").stdout == shown
    assert "none.json.xz" in complaint("show", "none.json.xz")


def exported(name: str, **times: list[float]) -> str:
    results = [{"command": command, "mean": 1.0, "times": each} for command, each in times.items()]
    Path(name).write_text(json.dumps({"results": results}), encoding="utf-8")
    return name


def test_files_of_hyperfine_are_compared(complaint: Callable[..., str]) -> None:
    """The interval is that of two samples at different times; nothing in them is a pair."""
    slow, fast = [0.2 + n / 1000 for n in range(9)], [0.1 + n / 1000 for n in range(12)]
    expected = unpaired.ratio(fast, slow, between=unpaired.ASSUMED_BETWEEN_RUNS)
    one, other = exported("old.json", old=slow), exported("new.json", new=fast)
    (wall,) = parsed("compare", one, other)["comparisons"]
    assert (wall["contender"], wall["obstacle"]) == ("old → new", "no-reference")
    ends = [expected.estimate, expected.low, expected.high]
    assert [wall[key] for key in ("ratio", "low", "high")] == near(ends)
    several = f"{one}, {exported('again.json', old=slow)}"
    assert parsed("compare", several, other)["comparisons"]
    # Among several commands, those with one name; and a run has its name too.
    in_process("vs", "-n", "mine", "true", "-r7", "--export-json", "mine.json")
    times = json.loads(Path("mine.json").read_text(encoding="utf-8"))["results"][0]["times"]
    both = exported("both.json", old=slow, mine=times)
    mixed = (f"latest,{both}", "mine.json")
    for sides, name in (((one, both), "old"), ((both, "latest"), "mine"), (mixed, "mine")):
        (same,) = parsed("compare", *sides)["comparisons"]
        assert (same["contender"], same["ratio"]) == (name, near(1.0))
    assert in_process("compare", one, other, "--fail-if", "faster", status=1).stdout
    assert re.search(r"204,000 µs +106,000 µs", in_process("compare", one, other, "-u", "us").stdout)
    shown = in_process("show", both, "-u", "second").stdout
    assert re.search(r"no pairs, so no ratios(?s:.*)old +0.204 s \(0.201–0.207\)", shown), shown
    assert "both.json is no run: leave out --csv" in complaint("show", both, "--csv")
    twice = '{"command": "a", "times": [1]}'
    for text, why in (
        ("{", "is not an export of hyperfine"),
        (twice.replace("1", "-1").join(('{"results": [', "]}")), "is not an export of hyperfine"),
        ('{"results": [{"command": "a"}]}', "needs its own name and its `times`"),
        (f'{{"results": [{twice}, {twice}]}}', "its own name"),
    ):
        Path("bad.json").write_text(text, encoding="utf-8")
        assert all(why in complaint(*words) for words in (("compare", "bad.json", one), ("show", "bad.json")))
    assert "none.json cannot be read: No such file" in complaint("compare", one, "none.json")
    assert "is no unit of time: write s, ms, us or ns" in complaint("compare", one, other, "-u", "h")


def test_the_command_and_gate(two_runs: Callable[[float], Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)
    assert run(where, first, second, *HOPS, "--fail-if", "slower:3%") == 1
    printed = capsys.readouterr()
    assert "slower" in printed.out
    lines = printed.err.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert re.fullmatch(
            r"ringside: (erlang|go) at nodes=100 .*: slower in time per hop \(\+[23]\d\.\d%\); --fail-if "
            r"allows 3 %",
            line,
        )
    assert run(where, second, first, *HOPS, "--fail-if", "slower:3%") == 0
    assert run(where, first, second, *HOPS, "--fail-if", "slower:50%") == 0
    assert run(where, first, second, "--markdown") == 0


def test_several_runs_a_side(two_runs: Callable[[float], Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)
    _, third, fourth = two_runs(1.3)
    values = document(capsys, where, f"{first},{third}", f"{second}, {fourth}", *HOPS)
    assert (values["one"], values["other"]) == (f"{first},{third}", f"{second},{fourth}")
    assert {row["n"] for row in values["comparisons"]} == {4}
    assert values["warnings"] == []
    with pytest.raises(UsageError, match=r"`x,,y`: write several runs as A1,A2,A3"):
        run(where, "x,,y", second)


def test_margins(two_runs: Callable[[float], Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.0)
    verdicts = {}
    for margin in ("0", "50%"):
        values = document(capsys, where, first, second, *HOPS, "--margin", margin)
        verdicts[values["margin"]] = {row["verdict"] for row in values["comparisons"]}
    assert "equivalent" not in verdicts[0.0]
    assert verdicts[0.5] == {"equivalent"}
    # Without the option it is the experiment's.
    values = document(capsys, where, first, second, *HOPS)
    assert (values["format"], values["margin"]) == (2, 0.05)


# --- `--fail-if` of `compare` and `vs` ---


def judged(
    ratio: float, verdict: Verdict, metric: Metric = HOP, obstacle: Obstacle | None = None
) -> tuple[str, Metric, Comparison]:
    interval = Interval(ratio, ratio, ratio, 7)
    return "B over A", metric, Comparison(Point(()), metric.name, "B", "A", interval, verdict, 0.01, obstacle)


@pytest.mark.parametrize(("ratio", "verdict", "gate", "status"), cases(__file__, "gates"))
def test_the_gate_lets_through_what_is_not_worse_by_its_share(
    ratio: float, verdict: str, gate: tuple[str, float], status: int
) -> None:
    assert gates.status([gate], [judged(ratio, Verdict(verdict))]) == status


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
    assert capsys.readouterr().err.startswith("ringside: --fail-if cannot decide: there are no verdicts")


@pytest.mark.parametrize(("gate", "ends", "is_said"), cases(__file__, "undecided"))
@pytest.mark.parametrize("metric", [HOP, RATE])
def test_an_undecided_ratio_passes_and_is_named_if_it_may_exceed_the_gate(
    gate: Any, ends: Any, is_said: bool, metric: Metric, capsys: pytest.CaptureFixture[str]
) -> None:
    low, high = ends if metric.smaller_is_better else (1 / ends[1], 1 / ends[0])
    subject, _, comparison = judged(1.0, Verdict.INCONCLUSIVE, metric)
    pair = (subject, metric, dataclasses.replace(comparison, ratio=Interval(1.0, low, high, 7)))
    assert gates.status([gate], [pair]) == 0
    passed = f"--fail-if passed B over A in {metric.noun} (too close to call)"
    assert (passed in capsys.readouterr().err) is is_said
    assert gates.status([gate, ("inconclusive", 0.0)], [pair]) == 1


def vs(*words: str, status: int) -> Ended:
    return in_process("vs", "--quiet", "-w0", "-r7", "-n", "old", "-n", "new", *words, status=status)


def test_commands_in_pairs(workplace: object) -> None:
    """The pair is named in one line, and verdicts and figures are shown all the same."""
    ended = vs("true", "sleep 0.15", "--fail-if", "slower:5%", status=1)
    (line,) = ended.stderr.splitlines()
    assert line.startswith("ringside: new over old: slower in wall time (+")
    assert line.endswith("%); --fail-if allows 5 %")
    assert "slower" in ended.stdout
    scan = ("-L", "s", "0.15,0.2", "true", "sleep {s}", "--fail-if", "worse")
    assert [line.split(":")[1] for line in vs(*scan, status=1).stderr.splitlines()] == [
        " new over old at s=0.15",
        " new over old at s=0.2",
    ]


def test_a_command_alone_is_judged_by_its_first_level(workplace: object) -> None:
    assert "name two" in in_process("vs", "true", "--fail-if", "slower", status=2).stderr
    words = ("vs", "--quiet", "-w0", "-r7", "-L", "s", "0,0.15", "sleep {s}", "--fail-if")
    assert in_process(*words, "slower:5%", status=1).stderr.startswith(
        "ringside: s=0.15 over s=0: slower in wall time"
    )
    assert in_process(*words, "faster", status=0).stderr == ""
