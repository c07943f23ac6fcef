import dataclasses
import shlex
from typing import Any

import pytest

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Outcome
from ringside.render.text.command import command, command_to_repeat, own_command, with_options
from ringside.store.plans import KeptOptions, PlannedContender, SuiteSelection
from ringside.workloads import WORKLOADS
from ringside.workloads.command import COMMAND
from ringside.workloads.target import TARGET
from tests.support.analyses import analysis, point, scaled, with_figures

P = point(nodes=10)


def chosen(**selection: Any) -> RunAnalysis:
    run = analysis({("go", P): {"hop_ns": scaled(1.0)}})
    return with_figures(run, measurement=WORKLOADS["ring"], plan=dataclasses.replace(run.plan, **selection))


NAME = chosen().experiment.name
FULL = SuiteSelection(
    name="mine",
    only=("go", "my own"),
    settings={"nodes": ("10", "20"), "mode": ("serial",)},
    blocks=8,
    until="decided",
    margin=0.03,
    seed=7,
    full=True,
    sandbox=True,
    engines=2,
    outside=("./my own", "b=./b --port {port}"),
    id="1-mine",
)
WORDS = (
    "ringside run mine --full --only 'go,my own' --set nodes=10,20 --set mode=serial --blocks 8 "
    "--until decided --margin 0.03 --seed 7 --sandbox --on auto --engines 2 --with './my own' "
    "--with 'b=./b --port {port}'"
)


@pytest.mark.parametrize("part", ["suite", "selection"])
def test_what_the_command_line_changed_is_in_the_command(part: str) -> None:
    assert command(chosen(**{part: FULL})) == WORDS
    changed = dataclasses.replace(FULL, until="end", full=False)
    assert command(chosen(**{part: changed})) == WORDS.replace(" --full", "").replace("decided", "end")
    assert command(chosen(**{part: SuiteSelection("mine", id="1-mine")})) == "ringside run mine"


def test_a_part_of_a_suite_has_a_command_of_its_own() -> None:
    run = chosen(suite=FULL)
    run = with_figures(run, experiment=dataclasses.replace(run.experiment, factors={"nodes": (10, 20)}))
    # Its own contenders and factors, of those chosen for the suite.
    assert own_command(run) == WORDS.replace("mine --full --only 'go,my own'", f"{NAME} --only go").replace(
        " --set mode=serial", ""
    )
    assert own_command(chosen(suite=dataclasses.replace(FULL, only=()))).startswith(
        f"ringside run {NAME} --set"
    )
    assert own_command(chosen(selection=FULL)) == WORDS


def test_a_trial_is_repeated_with_the_contenders_from_outside() -> None:
    run = with_figures(chosen(selection=FULL), varying=("nodes",))
    cell = CellAnalysis(Cell("my own", point(nodes=20)), {Outcome.CRASHED: 1}, {}, {})
    outside = "--with './my own' --with 'b=./b --port {port}'"
    assert command_to_repeat(run, cell) == f"ringside repeat {run.run.id} 'my own' --set nodes=20 {outside}"
    assert with_options(None) == with_options(SuiteSelection("mine", id="1-mine")) == []


def test_of_commands_and_servers_what_was_compared() -> None:
    titles = {"A": "sleep {n}", "B": "sleep '{n} '"}
    planned = {name: PlannedContender(title=title) for name, title in titles.items()}
    figures = {(name, point(n=n)): {"wall_s": scaled(1.0)} for name in titles for n in (1, 2)}
    run = analysis(figures, measurement=COMMAND, contenders=planned)
    options: KeptOptions = {"-N": (True,), "--warmup": ("0",), "--parameter-list": (("n", "1,2"), ("m", "x"))}
    run = with_figures(run, plan=dataclasses.replace(run.plan, options=options))
    words = ["-N", "--warmup=0", "--parameter-list", "n", "1,2", "--parameter-list", "m", "x"]
    assert shlex.split(command(run)) == ["ringside", "vs", *words, *titles.values()]

    servers = {"A": "http://127.0.0.1:1/", "B": "http://127.0.0.1:2/"}
    planned = {name: PlannedContender(title=title) for name, title in servers.items()}
    of_servers = {(name, point()): {"rate": scaled(1.0)} for name in servers}
    run = analysis(of_servers, measurement=TARGET, contenders=planned)
    assert command(run) == "ringside load http://127.0.0.1:1/ --vs http://127.0.0.1:2/"
