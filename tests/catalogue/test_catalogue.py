"""The catalogue that travels with ringside, and the releases of runtimes."""

import tomllib
from pathlib import Path

import pytest

from ringside.catalogue import releases
from ringside.catalogue.experiments import read_experiment, read_suite
from ringside.catalogue.loader import Catalogue
from ringside.catalogue.releases import dated, released
from ringside.cli import context
from ringside.stats.sequential import FIRST_LOOK
from ringside.workloads import WORKLOADS, workload
from tests.support import ROOT


def test_every_manifest_reads_and_its_workloads_and_factors_exist() -> None:
    contenders, errors = context.catalogue().contenders()
    assert errors == {}
    assert {"erlang", "go", "limit", "multitask", "stackless-pypy"} <= {one.name for one in contenders}
    for contender in contenders:
        assert (contender.folder / "README.md").read_text(encoding="utf-8").strip(), contender.name
        assert contender.scheduler, contender.name
        assert contender.language, contender.name


def test_every_server_takes_the_address_where_it_listens() -> None:
    """Otherwise it could not take part in two-sided trials."""
    contenders, _ = context.catalogue().contenders()
    servers = [
        (contender.name, name, entry.host)
        for contender in contenders
        for name, entry in contender.workloads.items()
        if workload(name).is_service
    ]
    assert len(servers) > 40
    assert [server for server in servers if not server[2]] == []


def test_there_is_one_floor() -> None:
    contenders, _ = Catalogue([ROOT]).contenders()
    assert [contender.name for contender in contenders if contender.kind == "floor"] == ["limit"]


def test_every_experiment_and_suite_reads() -> None:
    """Names of workloads, contenders, factors, metrics and sources are checked then."""
    catalogue = context.catalogue()
    for name in catalogue.experiment_names():
        assert catalogue.suite(name) or catalogue.experiment(name)


def test_every_contender_is_in_an_experiment() -> None:
    catalogue = Catalogue()
    names = [name for name in catalogue.experiment_names() if not catalogue.suite(name)]
    measured = {name.partition("@")[0] for each in names for name in catalogue.experiment(each).contenders}
    bundled = {contender.name.partition("@")[0] for contender in Catalogue([ROOT]).contenders()[0]}
    assert bundled == measured


def test_every_problem_is_measured_on_todays_runtimes() -> None:
    catalogue = Catalogue()
    suite = catalogue.suite("today")
    experiments = [catalogue.experiment(name) for name in suite.experiments]
    assert {experiment.workload for experiment in experiments} == set(WORKLOADS)
    for experiment in experiments:
        assert {"go", "rust-tokio", "java-virtual-threads", "node"} <= set(experiment.contenders)


def test_every_published_file_reads() -> None:
    catalogue = context.catalogue()
    for name in catalogue.published_names():
        published = catalogue.published(name)
        assert published.figures or published.claims, name
    figures = catalogue.published("2007-ring-showdown").figures
    assert len(figures) == 27
    assert max(figure.value for figure in figures) == 10948.8


# One block of it takes more than six of the ten minutes that an experiment may: no verdicts without --blocks.
ONE_BLOCK = {"sleepers-million"}
EXPERIMENTS = sorted((ROOT / "experiments").glob("*.toml"))


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_experiments_have_blocks_enough_for_a_first_look(file: Path) -> None:
    if read_suite(file):
        return
    blocks = read_experiment(file).blocks
    assert blocks == 1 if file.stem in ONE_BLOCK else blocks >= FIRST_LOOK


RUNTIMES = tomllib.loads(Path(releases.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("runs_on", "version", "expected"),
    [
        *(("Erlang", "25.2.3", "25"), ("Erlang", None, None), ("Erlang", "", None)),
        *(("Python", "3.1.4", None), ("Python", "3.11.7", "3.11"), ("Perl", "5.36.0", None)),
        *(("Go", "1.26", "1.26"), ("Bun", "1.1.9", "1"), ("Bun", "1.3.2", "1.3")),
    ],
)
def test_a_version_belongs_to_a_release(runs_on: str, version: str | None, expected: str | None) -> None:
    assert released(runs_on, version) == (expected and RUNTIMES[runs_on][expected])


def test_what_is_years_behind_names_the_newest() -> None:
    *_, (latest, day) = RUNTIMES["Erlang"].items()
    assert dated("Erlang", "25.2.3") == f"25.2.3 (2022; {latest} is of {day.year})"
    assert dated("Erlang", f"{latest}.0") == f"{latest}.0 ({day.year})"
    assert dated("Perl", "5.36.0") == "5.36.0"


@pytest.mark.parametrize("runs_on", [name for name, days in RUNTIMES.items() if isinstance(days, dict)])
def test_later_versions_are_of_later_days(runs_on: str) -> None:
    days = [released(runs_on, version) for version in RUNTIMES[runs_on]]
    assert days == sorted(RUNTIMES[runs_on].values())
