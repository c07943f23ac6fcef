"""Documents that are made from a record: scripts/results.py, with the golden showdown in place of one."""

import importlib
import re
from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.stats.series import steady_state
from tests.render.test_golden import parts as parts  # a fixture

results: Any = importlib.import_module("scripts.results")


def test_claims_are_those_of_each_source_with_figures(parts: list[RunAnalysis]) -> None:
    sources = results.published()
    text = results.claims(parts, sources)
    measured = {part.plan.published.name for part in parts if part.plan.published}
    ordered = [each.name for each in sorted(sources, key=lambda each: each.date) if each.name in measured]
    assert re.findall(r"^\| \[.*\]\(\.\./published/(\S+)\.toml\) \| \d", text, re.MULTILINE) == ordered
    assert re.search(r"Claims of the posts: (\d+ [a-z ]+, )*\d+ not tested here\. Of other", text)


def test_steady_levels_of_the_records_do_not_fall_on() -> None:
    """No runtime has more than 8 % (by two standard errors) of its levels 5 % above the last quarter, unless
    about as many lie below it: that is noise, not a trend."""
    away: dict[str, list[int]] = {}
    for run in (run for record in results.read_records().values() for run in record.suite.runs):
        for warm_up in run.warm_ups:
            runtime = run.contenders[warm_up.cell.contender].runs_on
            for series in warm_up.series:
                state = steady_state(series)
                if state and state.since is not None:
                    last = median(series[-(len(series) // 4) :])
                    away.setdefault(runtime, []).append(
                        (state.level > 1.05 * last) - (last > 1.05 * state.level)
                    )
    most = {runtime: 0.08 * len(each) + 2 * (0.0736 * len(each)) ** 0.5 for runtime, each in away.items()}
    assert len(most) > 5
    chance = {runtime: 2 * sum(map(abs, each)) ** 0.5 for runtime, each in away.items()}
    assert [name for name, own in away.items() if own.count(1) > most[name] and sum(own) > chance[name]] == []


def test_a_record_of_other_figures_than_the_sources_is_refused(parts: list[RunAnalysis]) -> None:
    """With its file and the source's; the record is the golden showdown, some of whose runs have a source."""
    sources = results.published()
    kept = next(part.plan.published for part in parts if part.plan.published)
    suite = SimpleNamespace(suite=SimpleNamespace(runs=parts))
    assert results.strangers({"showdown": suite}, sources) == []
    without = {kept.name: kept.figures[1:]}
    changed = [replace(each, figures=without.get(each.name, each.figures)) for each in sources]
    lines = results.strangers({"showdown": suite}, changed)
    assert lines
    assert all(line.startswith("records/showdown.json.xz: ") for line in lines)
    assert all(f"published/{kept.name}.toml" in line for line in lines)


def test_a_finding_is_a_ratio_of_pairs_that_the_run_shows(parts: list[RunAnalysis]) -> None:
    (run,) = (part for part in parts if part.experiment.name == "showdown-ring")
    label = run.points[0].label(run.varying)
    threads = results.Ratio(f"python-threads at {label}", f"erlang at {label}", least=2)
    finding = results.Finding(
        "any", "showdown-ring", run.headline.name, {"threads": threads}, "It is {threads}."
    )
    value = finding.value(run, "threads")
    assert value.low > 2
    assert finding.sentence(run) == f"- It is {results.units.ratio(value)}. `ringside run showdown-ring`"
    # A finding that the record does not show is not printed.
    too_much = replace(finding, ratios={"threads": replace(threads, most=2.1)})
    with pytest.raises(SystemExit, match="showdown-ring does not show python-threads .* between 2 and 2.1"):
        too_much.sentence(run)


def test_a_ratio_that_two_documents_have_from_two_experiments_is_explained() -> None:
    known = results.posts.Quoted("batch", "batch-cores", "wall_s", "go", "go")
    assert results.unexplained([known, replace(known, workload="ring", experiment="posts-ring")]) == []
    (line,) = results.unexplained([known, replace(known, experiment="batch-capacity")])
    assert "go at cases=20000 cores=1 over go at cases=20000 cores=2" in line
    assert "docs/POSTS.md from batch-capacity" in line


def test_the_documents_are_what_the_record_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert results.main(["--check"]) == 0, capsys.readouterr().err
