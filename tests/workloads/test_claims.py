"""Claims of sources: each comes out each way where figures are planted, and never from an estimate."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import judge_claims, sources_of
from ringside.cli import context
from ringside.model.catalogue import Claim, Published
from ringside.model.claims import ClaimRow
from ringside.model.design import Point
from ringside.model.results import Answer, ClaimResult, Interval
from ringside.store import Store
from ringside.workloads import WORKLOADS
from ringside.workloads.claims import NO_CODE, band_of, decided_by, elsewhere, evaluate
from tests.support import ROOT, points
from tests.support.analyses import analysis, with_figures
from tests.support.cases import cases, tables
from tests.support.command_line import in_process, parsed
from tests.support.planted import Levels, Planted, Row, run_of
from tests.support.programs import CATALOGUE
from tests.support.runs import experiment, make_run

CONFIRMED, REFUTED, OTHER_CONDITIONS, FAILS_OTHERWISE, INCONCLUSIVE, UNTESTABLE, NOT_TESTED = Answer


def ratio(
    workload: str, experiment: str, metric: str, over: str, under: str, x: float, at: Levels, blocks: int = 9
) -> list[RunAnalysis]:
    """A run in which the metric of one contender is x times that of another."""
    noisy, exact = [(over, at, metric, 0.1 * x)], [(under, at, metric, 0.1)]
    return [run_of(workload, experiment, noisy, exact, blocks)]


def feed(x: float, hibernating: float | None = None) -> list[RunAnalysis]:
    """Go over MochiWeb in memory; where a ratio is given, over the variant that hibernates too."""
    at, metric = {"connections": 10_000}, "bytes_per_connection"
    rows: list[Row] = [("erlang-mochiweb", at, metric, 0.1)]
    if hibernating is not None:
        rows.append(("erlang-mochiweb@tuned", at, metric, 0.1 * x / hibernating))
    return [run_of("feed", "feed-c10k", [("go", at, metric, 0.1 * x)], rows)]


def gateway(x: float, tuned: float | None = None) -> list[RunAnalysis]:
    """Tornado over Go; where a ratio is given, the tuned Tornado over Go too."""
    at, metric = {"kind": "io"}, "latency_s.p50"
    rows: list[Row] = [("tornado", at, metric, 0.1 * x)]
    rows += [] if tuned is None else [("tornado@tuned", at, metric, 0.1 * tuned)]
    return [run_of("fanout", "fanout-io", rows, [("go", at, metric, 0.1)])]


def of_programs(go_lines: int, python_lines: int) -> list[RunAnalysis]:
    """A run with sources: the concurrent programs have so many lines of code more; comments and brackets do
    not count."""
    added = [f"line({number})" for number in range(max(go_lines, python_lines))]
    go, shared = ("fib/fib.go", "service/service.go", "settings/settings.go"), ["package shared", "use()"]
    python = ("fib.py", "service.py", "arguments.py")
    programs = {
        "go-sync": (go, ["package main", "serve()"]),
        "go": (go, ["// More.", "package main", '"fmt"', "}", "serve()", *added[:go_lines]]),
        "python-sync": (python, ["serve()"]),
        POOL: (python, ["import os", "serve()", "", *added[:python_lines]]),
    }
    rows: list[Row] = [(name, {"clients": 1}, "requests_per_s", 1.0) for name in programs]
    (run,) = [run_of("fib", "fib-concurrent", [], rows)]
    contenders = {
        name: dataclasses.replace(run.contenders[name], files={path: name + path for path in paths})
        for name, (paths, _) in programs.items()
    }
    sources = {
        name + path: "\n".join(lines if path.startswith("fib") else shared)
        for name, (paths, lines) in programs.items()
        for path in paths
    }
    return [with_figures(run, contenders=contenders, sources=sources)]


MILLION: Levels = {"nodes": 1000, "messages": 1000}
SWEPT: Levels = {"nodes": 100, "messages": 10_000}
MILLION_TASKS: Levels = {"tasks": 1_000_000, "seconds": 30}
PYPY, ERLANG, POOL = "stackless-pypy", "erlang", "python-coroutines"
# For most claims the rows of runs, and sizes that confirm it, refute it, and decide nothing.
CASES = tables(__file__, "planted_claims.toml")
# A count has no width: it is inside the band or outside.
COUNTED: dict[str, tuple[Callable[[float], list[RunAnalysis]], float, float]] = {
    "2015-python-vs-go/two-letters-make-it-concurrent": (lambda x: of_programs(int(x), 90), 3, 40),
    "2015-python-vs-go/python-takes-a-page": (lambda x: of_programs(3, int(x)), 90, 3),
}


def planted(name: str, x: float) -> list[RunAnalysis]:
    """The runs of a claim's case: a text is a value by x, which varies over blocks unless it begins with
    `=`."""
    runs = []
    for each in CASES[name]["runs"]:
        noisy: list[Row] = []
        exact: list[Row] = []
        for contender, levels, metric, value in each["rows"]:
            number = eval(value.lstrip("= "), {"x": x}) if isinstance(value, str) else value
            varies = isinstance(value, str) and not value.startswith("=")
            (noisy if varies else exact).append((contender, levels, metric, number))
        runs.append(run_of(each["workload"], each["experiment"], noisy, exact))
    return runs


# Tests that no figures could answer: each says why.
NEVER_TESTED = {
    "2009-erlang-vs-stackless/several-hosts": "several hosts",
    "2011-go-code-jam/go-compiles-fast": "edit_cycle.py",
    "2011-go-c10k/flush-is-needed": "a chunk of its own",
    "2016-go-fanout/too-many-open-files": "raised for all",
}


def finding(name: str, runs: Sequence[RunAnalysis]) -> ClaimResult:
    claim = catalogues_claims()[name]
    assert claim.test
    return evaluate(claim.test, name.partition("/")[0], claim.workload, runs)


@cache
def catalogues_claims() -> dict[str, Claim]:
    catalogue = context.catalogue()
    return {
        f"{name}/{claim.id}": claim
        for name in catalogue.published_names()
        for claim in catalogue.published(name).claims
    }


def test_every_claim_has_a_test_and_a_case_here() -> None:
    """The catalogue refuses a claim without a test."""
    assert {*CASES, *COUNTED, *NEVER_TESTED} == set(catalogues_claims())


@pytest.mark.parametrize("name", [*CASES, *COUNTED])
def test_planted_figures_answer_it(name: str) -> None:
    if name in COUNTED:
        runs, *sizes = COUNTED[name]
        answers = ["CONFIRMED", "REFUTED"]
    else:
        runs, sizes = (lambda x: planted(name, x)), CASES[name]["sizes"]
        answers = CASES[name].get("answers", ["CONFIRMED", "REFUTED", "INCONCLUSIVE"])
    for size, expected in zip(sizes, (Answer[each] for each in answers), strict=True):
        found = finding(name, runs(size))
        assert found.answer is expected, (size, found)
        assert found.figure is not None
        assert found.sentence
        assert found.runs
        assert found.experiment


@pytest.mark.parametrize("name", [*CASES, *COUNTED, *NEVER_TESTED])
def test_without_runs_it_is_not_tested(name: str) -> None:
    """The experiment that tests it belongs to its source and has figures of it: else its tables would stand
    without these, or beside another's."""
    found = finding(name, [])
    assert found.answer is NOT_TESTED
    assert found.sentence
    if name in NEVER_TESTED:
        assert NEVER_TESTED[name] in found.sentence
        return
    experiment, source = CATALOGUE.experiment(found.experiment), CATALOGUE.published(name.split("/")[0])
    assert experiment.published == source.name
    workloads = {each.workload for each in source.figures} | {each.workload for each in source.claims}
    assert experiment.workload in workloads


def test_the_pair_that_decides_is_named() -> None:
    """Two of three pairs have the same numerator."""
    name = "2015-python-vs-go/synchronous-servers-are-alike"
    found = finding(name, planted(name, 50))
    assert "python-sync gives 0.0199" in found.sentence
    assert "times the answers of python-sync@pypy;" in found.sentence


def test_lines_are_those_of_the_code_alone() -> None:
    found = finding("2015-python-vs-go/two-letters-make-it-concurrent", of_programs(3, 90))
    assert "lines of code that go-sync has not: go 3;" in found.sentence
    (run,) = of_programs(3, 90)
    without = with_figures(run, sources={})
    assert finding("2015-python-vs-go/python-takes-a-page", [without]).answer is NOT_TESTED


def test_the_two_servers_in_go_differ_in_one_line() -> None:
    """POSTS says so."""
    go = ROOT / "contenders"
    before, after = (
        (go / name / "fib/fib.go").read_text(encoding="utf-8").replace(f"contenders/{name}/", "").splitlines()
        for name in ("go-sync", "go")
    )
    assert {*before[1:]} - {*after} == {"\t\tanswer(connection)"}
    assert {*after[1:]} - {*before} == {"\t\tgo answer(connection)"}
    for shared in ("service/service.go", "settings/settings.go"):
        assert (go / "go-sync" / shared).read_bytes() == (go / "go" / shared).read_bytes()


def test_the_batch_is_longer_in_go() -> None:
    """POSTS says by how much."""
    go = [*(f"go/batch/{name}.go" for name in ("batch", "input", "product")), "go/settings/settings.go"]
    processes = [f"python-processes/{name}.py" for name in ("batch", "arguments", "workers")]
    counts = [
        sum(not NO_CODE.match(line.strip()) for path in paths for line in _lines(ROOT / "contenders" / path))
        for paths in (processes, ["python-threads/batch.py", "python-threads/arguments.py"], go)
    ]
    said = "{} lines in `python-processes`, {} in `python-threads` and {} in `go`".format(*counts)
    assert any(said in line for line in _lines(ROOT / "docs" / "POSTS.md"))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_conditions_of_the_source_decide() -> None:
    """Measured with them and without; with them; only without."""
    seven = "2016-go-fanout/go-7-times-where-it-waits"
    both = finding(seven, gateway(7, 1.1))
    assert both.answer is OTHER_CONDITIONS
    assert "ten calls at a time" in both.sentence
    assert len(both.runs) == 1  # Planted runs all have one id.
    assert finding(seven, gateway(7, 7)).answer is CONFIRMED
    assert finding(seven, gateway(1, 7)).answer is REFUTED
    only = finding(seven, gateway(1.1))
    assert (only.answer, only.sentence.count("tornado@tuned")) == (FAILS_OTHERWISE, 1)
    assert finding(seven, gateway(7)).answer is OTHER_CONDITIONS

    less = "2011-go-c10k/go-takes-less-memory-than-erlang"
    assert finding(less, feed(0.7, 2.5)).answer is OTHER_CONDITIONS
    assert finding(less, feed(2.5)).answer is FAILS_OTHERWISE


def test_other_cores_than_the_posts_do_not_refute_the_post() -> None:
    name = "2015-python-vs-go/go-45-times"

    def on(cores: int, x: float) -> list[RunAnalysis]:
        at: Levels = {"load": "hammer", "clients": 3, "cores": cores}
        return ratio("fib", "fib-concurrent", "requests_per_s", "go", f"{POOL}@four", x, at)

    refuted = finding(name, on(1, 15))
    assert refuted.answer is FAILS_OTHERWISE
    assert "on 1 core" in refuted.sentence
    assert "three cores" in refuted.sentence
    assert finding(name, on(1, 45)).answer is OTHER_CONDITIONS
    assert finding(name, [*on(1, 15), *on(4, 45)]).answer is CONFIRMED
    assert finding(name, [*on(1, 45), *on(4, 15)]).answer is REFUTED


def test_what_was_never_measured_stays_so() -> None:
    nothing, confirmed = ClaimResult(NOT_TESTED, "no run", "x"), ClaimResult(CONFIRMED, "yes", "x", ("a",))
    assert elsewhere(nothing, "with four cores") == nothing
    assert decided_by("here", confirmed, nothing) == dataclasses.replace(confirmed, sentence="here: yes")


def test_printing_needs_both_halves_in_one_run() -> None:
    """They may be in any, and another with more points of one half does not hide them."""
    name = "2009-erlang-vs-stackless/erlang-output-is-slow"
    (both,) = planted(name, 2)
    silent = ratio("ring", "other", "wall_s", PYPY, ERLANG, 1, SWEPT)
    traced = ratio("ring", "ring-fixed-nodes", "wall_s", PYPY, ERLANG, 1, {**SWEPT, "trace": 1})
    assert finding(name, [*silent, both, *traced]).answer is CONFIRMED
    assert finding(name, [*silent, *traced]).answer is NOT_TESTED


def test_a_direction_of_2009_needs_both_sweeps_and_all_stand_ins() -> None:
    name = "2009-erlang-vs-stackless/erlang-ahead-without-output"

    def sweeps(over_messages: float, over_units: float) -> list[RunAnalysis]:
        units: Levels = {"nodes": 10_000, "messages": 100}
        first = ratio("ring", "posts-ring-messages", "wall_s", PYPY, ERLANG, over_messages, SWEPT)
        return first + ratio("ring", "posts-ring-nodes", "wall_s", PYPY, ERLANG, over_units, units)

    assert finding(name, sweeps(1.5, 1.4)).answer is CONFIRMED
    assert finding(name, sweeps(0.5, 0.1)).answer is REFUTED
    differing = finding(name, sweeps(1.5, 0.1))
    assert differing.answer is INCONCLUSIVE
    assert "with a hundred nodes" in differing.sentence
    assert "with a hundred messages" in differing.sentence
    greenlet = run_of(
        "ring",
        "posts",
        [("stackless-greenlet", SWEPT, "wall_s", 0.5)],
        [(PYPY, SWEPT, "wall_s", 1.5), (ERLANG, SWEPT, "wall_s", 1.0)],
    )
    assert finding(name, [greenlet]).answer is INCONCLUSIVE
    # The table of 2007 is another post's.
    assert finding(name, ratio("ring", "x", "wall_s", PYPY, ERLANG, 3, MILLION)).answer is NOT_TESTED


def test_seven_blocks_answer_a_quotient_of_two_runs() -> None:
    """At half the error rate, or with 97 %, seven blocks of each have no interval."""
    name = "2007-ring-showdown/network-narrows-the-gap"
    three: Levels = {"load": "hammer", "clients": 3}
    ring = run_of(
        "ring", "ring-showdown", [("multitask", MILLION, "cpu_s", 0.3)], [(ERLANG, MILLION, "cpu_s", 0.1)], 7
    )
    service = run_of(
        "fib",
        "posts-fib",
        [("multitask", three, "requests_per_s", 100)],
        [(ERLANG, three, "requests_per_s", 100)],
        7,
    )
    found = finding(name, [ring, service])
    assert (found.answer, found.figure and found.figure.n) == (UNTESTABLE, 7)
    assert "3.00 (" in found.sentence


def test_bands_of_ours_are_named_with_their_reasons() -> None:
    seven = finding("2016-go-fanout/go-7-times-where-it-waits", gateway(7, 7))
    assert "(our band: within a factor of two of 7;" in seven.sentence
    less = finding("2011-go-c10k/go-takes-less-memory-than-erlang", feed(0.7, 0.7))
    assert "our band" not in less.sentence


def test_too_few_blocks_answer_nothing() -> None:
    name = "2024-million-tasks/goroutines-twice-virtual-threads"
    place = ("sleepers", "sleepers-million", "peak_pss_bytes", "go", "java-virtual-threads")
    found = finding(name, ratio(*place, 2.5, MILLION_TASKS, blocks=5))
    assert found.answer is INCONCLUSIVE
    assert "5 blocks are too few for an interval" in found.sentence


def test_failed_blocks_answer_nothing() -> None:
    """As they have no verdict: those that are left may be the fast ones."""
    name = "2011-go-c10k/go-takes-less-memory-than-erlang"
    place = points.point(WORKLOADS["feed"], connections=10_000)
    for failed, expected in ((0, CONFIRMED), (1, CONFIRMED), (2, INCONCLUSIVE)):
        times: list[float | None] = [*(None for _ in range(failed)), *(0.5 for _ in range(15 - failed))]
        values: dict[tuple[str, Point], dict[str, Sequence[float | None]]] = {
            ("go", place): {"bytes_per_connection": times},
            ("erlang-mochiweb", place): {"bytes_per_connection": [1.0] * 15},
            ("erlang-mochiweb@tuned", place): {"bytes_per_connection": [1.0] * 15},
        }
        run = analysis(values, measurement=Planted(WORKLOADS["feed"]), name="feed-c10k")
        assert finding(name, [run]).answer is expected, failed


def test_other_runs_do_not_answer() -> None:
    """Points, contenders and workloads that the claim is not about."""
    name = "2007-ring-showdown/stackless-12-times"
    small = ratio("ring", "ring-showdown", "cpu_s", PYPY, ERLANG, 12, {"nodes": 10, "messages": 10})
    traced = ratio("ring", "ring-showdown", "cpu_s", PYPY, ERLANG, 12, {**MILLION, "trace": 1})
    others = ratio("ring", "ring-showdown", "cpu_s", "go", ERLANG, 12, MILLION)
    assert {
        finding(name, runs).answer
        for runs in (small, traced, others, planted("2007-ring-showdown/network-narrows-the-gap", 10))
    } == {NOT_TESTED}


def test_the_claims_own_experiment_comes_first() -> None:
    """Else the run with most points."""
    name = "2007-ring-showdown/stackless-12-times"
    (own,) = ratio("ring", "ring-showdown", "cpu_s", PYPY, ERLANG, 12, MILLION)
    (other,) = ratio("ring", "mine", "cpu_s", PYPY, ERLANG, 2, MILLION)
    for runs in ([own, other], [other, own]):
        assert finding(name, runs).answer is UNTESTABLE
        assert finding(name, runs).experiment == "ring-showdown"
    assert finding(name, [other]).experiment == "mine"


def test_sources_are_those_of_the_runs() -> None:
    never = Claim("x", "never", "ring", ClaimRow(never="No."))
    post = Published("2007-ring-showdown", "A post", "2007", "", {}, "", (), (never,))
    (run,) = ratio("ring", "ring-showdown", "cpu_s", PYPY, ERLANG, 12, MILLION)
    assert sources_of([run]) == ()
    with_source = with_figures(run, plan=dataclasses.replace(run.plan, published=post))
    assert sources_of([with_source, run, with_source]) == (post,)


def test_an_examined_claim_has_its_source_and_the_answer_of_its_own_test() -> None:
    twelve = msgspec.structs.replace(catalogues_claims()["2007-ring-showdown/stackless-12-times"], text="a")
    never = Claim("b", "never", "ring", ClaimRow(never="No."))
    post = Published("2007-ring-showdown", "A post", "2007", "", {}, "", (), (twelve, never))
    runs = ratio("ring", "ring-showdown", "cpu_s", PYPY, ERLANG, 12, MILLION)
    first, second = judge_claims([post], runs)
    assert (first.source, first.claim) == (post, twelve)
    assert first.finding == finding("2007-ring-showdown/stackless-12-times", runs)
    assert (first.finding.answer, first.command) == (UNTESTABLE, "ringside run ring-showdown")
    assert (second.claim, second.finding.answer, second.command) == (never, NOT_TESTED, "")


@pytest.mark.parametrize(("row", "low", "high", "answer"), cases(__file__, "claims_follow_their_bands"))
def test_claims_follow_their_bands(row: dict[str, Any], low: float, high: float, answer: str) -> None:
    expected = Answer[answer]
    assert band_of(ClaimRow(**row)).answer(Interval(1.0, low, high, 7)) is expected
    # The other direction, of the same turned round.
    if "direction" in row:
        assert band_of(ClaimRow(direction="less")).answer(Interval(1.0, 1 / high, 1 / low, 7)) is expected


def test_a_claim_without_an_interval_is_inconclusive() -> None:
    assert band_of(ClaimRow(low=0.1)).answer(Interval(1.0, None, None, 7)) is INCONCLUSIVE


def test_a_claim_of_several_parts_needs_all_of_them() -> None:
    """One server of three that uses its cores refutes that none does; with all below it is confirmed."""
    name = "2015-python-vs-go/python-uses-no-second-core"
    refuted = finding(name, planted(name, 2))
    assert refuted.answer is REFUTED
    assert "python-processes" in refuted.sentence
    assert "of 2 servers" in refuted.sentence


@pytest.fixture
def showdown(workplace: Path) -> Path:
    """A store with a run of the ring of 2007, at a million deliveries."""
    store = Store(workplace / "store.sqlite")
    million = experiment(factors={"nodes": 1000, "messages": 1000}, blocks=9)
    make_run(store, million)
    store.close()
    return workplace / "store.sqlite"


def test_the_command(showdown: Path) -> None:
    printed = in_process("claims", "--store", str(showdown), COLUMNS="400").stdout
    assert "stackless-pypy has" in printed
    assert "not tested here" in printed
    document = parsed("claims", "--store", str(showdown))
    assert document["format"] == 2
    claims = {f"{each['source']}/{each['id']}": each for each in document["claims"]}
    assert set(claims) == set(catalogues_claims())
    twelve = claims["2007-ring-showdown/stackless-12-times"]
    # 620 ns over 95 ns per hop, and start-up.
    assert twelve["answer"] == "cannot be tested as it was"
    assert twelve["figure"]["unit"] == ""
    assert twelve["figure"]["low"] < twelve["figure"]["median"] < twelve["figure"]["high"]
    assert twelve["command"] == "ringside run showdown-ring"
    assert len(twelve["runs"]) == 1
    queue = claims["2011-go-code-jam/queue-has-no-big-effect"]
    assert (queue["answer"], queue["figure"]) == ("not tested here", None)
    assert queue["command"] == "ringside run batch-capacity"
    marked = in_process("claims", "--store", str(showdown), "--markdown").stdout
    assert marked.startswith("## Claims\n")
    tested = [each for each in claims.values() if each["answer"] != "not tested here"]
    assert marked.count("\n| ") == len(tested) + 1


def test_a_report_has_the_claims_of_its_sources(showdown: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    in_process("report", "--store", str(showdown), "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert 'id="claims"' in text
    assert "Stackless needs about 12 times" in text
    assert "background" not in text.split('id="claims"')[1].split("</section>")[0]
