from __future__ import annotations

from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue, read_contender, read_experiment
from ringside.errors import CatalogueError, RingsideError, UsageError
from ringside.stats.family import blocks_needed
from ringside.workloads import WORKLOADS, workload
from tests.runs import ROOT

MANIFEST = """
title = "A thing"
model = "things"
queue = "1"
[runtime.one]
executable = ["one"]
version = ["{runtime}", "--version"]
[runtime.two]
executable = ["two"]
version = ["{runtime}", "--version"]
[workload.ring]
command = ["{runtime}", "ring"]
most = { nodes = 10 }
"""
EXPERIMENT = """
title = "An experiment"
workload = "ring"
contenders = ["thing"]
"""


def manifest(tmp_path: Path, text: str, name: str = "thing") -> Path:
    folder = tmp_path / "contenders" / name
    folder.mkdir(parents=True)
    (folder / "contender.toml").write_text(text, encoding="utf-8")
    return folder / "contender.toml"


def experiment(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "trial.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_own_catalogue_is_whole() -> None:
    """Every file of the catalogue reads, and experiments name what exists."""
    catalogue = Catalogue()
    assert {"erlang", "go", "limit", "multitask", "stackless-pypy"} <= set(catalogue.contender_names())
    for name in catalogue.experiment_names():
        if suite := catalogue.suite(name):
            assert set(suite.parts) <= set(catalogue.experiment_names())
            continue
        found = catalogue.experiment(name)
        for contender in found.contenders:
            entry = catalogue.contender(contender).workloads[found.workload]
            for factor in entry.most:
                workload(found.workload).factor(factor)
        for factor in found.factors:
            workload(found.workload).factor(factor)
        if found.published:
            catalogue.published(found.published)


def test_every_published_file_reads() -> None:
    catalogue = Catalogue()
    for file in sorted((catalogue.folders[0] / "published").glob("*.toml")):
        found = catalogue.published(file.stem)
        assert found.figures or found.claims, file
    figures = catalogue.published("2007-ring-showdown").figures
    assert len(figures) == 27
    assert max(figure.value for figure in figures) == 10948.8


def test_every_contender_has_a_readme_and_a_workload_that_exists() -> None:
    catalogue = Catalogue()
    for name in catalogue.contender_names():
        for one in catalogue.runtimes(name):
            assert (one.folder / "README.md").read_text(encoding="utf-8").strip(), name
            assert set(one.workloads) <= set(WORKLOADS), name
            assert one.scheduler, name
            assert one.language, name


def test_a_manifest_gives_one_contender_for_each_runtime(tmp_path: Path) -> None:
    found = read_contender(manifest(tmp_path, MANIFEST))
    assert list(found) == ["thing", "thing@two"]
    assert found["thing@two"].runtime.executable == ("two",)
    assert found["thing"].workloads["ring"].most == {"nodes": 10}
    titled = MANIFEST.replace("[runtime.two]", '[runtime.two]\ntitle = "Two"')
    found = read_contender(manifest(tmp_path / "titled", titled))
    assert [one.runtime.title for one in found.values()] == ["", "Two"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title =", "titel ="), r"contender\.toml(:\d+)?: `title` is missing"),
        (('queue = "1"', 'queue = "1"\ncolour = 1'), r"contender\.toml:5: unknown key `colour`"),
        (("command =", "kommand ="), r"`workload\.ring\.command` must be a list with something in it"),
        (
            ('["{runtime}", "ring"]', '"ring"'),
            r"contender\.toml:12: `workload\.ring\.command` must be a list",
        ),
        (("most = { nodes = 10 }", 'most = { nodes = "x" }'), "must be a whole number"),
        (("[workload.ring]", "[workload.ring"), r"contender\.toml:11: broken TOML"),
    ],
)
def test_a_bad_manifest_names_file_and_reason(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = manifest(tmp_path, MANIFEST.replace(*change))
    with pytest.raises(CatalogueError, match=message):
        read_contender(file)


def test_a_manifest_without_runtime_or_workload(tmp_path: Path) -> None:
    head = 'title = "A"\nmodel = "b"\nqueue = "c"\n'
    with pytest.raises(CatalogueError, match=r"\[runtime\.NAME\]` is missing"):
        read_contender(manifest(tmp_path, head, "a"))
    runtime = '[runtime.one]\nexecutable = ["one"]\nversion = ["one"]\n'
    with pytest.raises(CatalogueError, match=r"\[workload\.NAME\]` is missing"):
        read_contender(manifest(tmp_path, head + runtime, "b"))


def test_a_folder_of_the_user_adds_to_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest(tmp_path, MANIFEST)
    monkeypatch.chdir(tmp_path)
    assert {"thing", "go"} <= set(Catalogue().contender_names())


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("blocks = 0", "`blocks` must be 1 to 10000"),
        ("blocks = -1", "`blocks` must be 1 to 10000"),
        ('baseline = "other"', r"trial\.toml:5: the baseline `other` is not one of the contenders"),
        ('contenders = ["a", "a"]', "broken TOML"),
        ("[factors]\nnodes = []", "the levels of `nodes` must be"),
        ("[factors]\nnodes = [1.5]", "the levels of `nodes` must be"),
        ("[factors]\nnodes = [2, 2]", "a level of `nodes` is given twice"),
        ("[limits]\nwall_s = 0", "`wall_s` must be more than 0"),
        ("[limits]\nwall = 3", r"trial\.toml:6: unknown key `limits\.wall`"),
        ('[show]\nratios = ["thing"]', "not of the form A/B"),
    ],
)
def test_a_bad_experiment_names_file_and_reason(tmp_path: Path, addition: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        read_experiment(experiment(tmp_path, EXPERIMENT + addition))


def test_unknown_names_come_with_the_nearest() -> None:
    catalogue = Catalogue()
    with pytest.raises(UsageError, match="there is no contender `erlnag`; did you mean erlang"):
        catalogue.contender("erlnag")
    with pytest.raises(UsageError, match="there is no experiment `showdwon`; did you mean showdown"):
        catalogue.experiment("showdwon")
    with pytest.raises(UsageError, match="has no runtime `nope`"):
        catalogue.contender("go@nope")
    with pytest.raises(UsageError, match="there is no experiment file"):
        catalogue.experiment("./none.toml")


def test_a_catalogue_folder_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_CATALOGUE", "/nowhere/at/all")
    with pytest.raises(RingsideError, match="mend or unset"):
        Catalogue()


@pytest.mark.parametrize("file", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda file: file.stem)
def test_experiments_have_blocks_enough_to_decide_each_comparison(file: Path) -> None:
    """But for the showdown, which is short, and for what runs for half an hour once."""
    if file.stem.startswith("showdown") or file.stem == "feed-long":
        return
    experiment = read_experiment(file)
    assert experiment.blocks >= blocks_needed(len(experiment.contenders) - 1)
