"""How files become the model's types: what the schema cannot check, and where files are found."""

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ringside.catalogue.contenders import read_contender
from ringside.catalogue.experiments import read_experiment, read_published, read_question, read_suite
from ringside.catalogue.loader import Catalogue
from ringside.errors import CatalogueError, RingsideError, UsageError
from ringside.model.catalogue import Claim, Figure, Question
from ringside.model.claims import ClaimRow
from ringside.model.design import Experiment
from tests.support.cases import cases
from tests.support.errors import error_of

WHOLE = Path(__file__).parent / "whole"
MANIFEST = """
title = "A thing"
family = "threads"
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
PUBLISHED = """
[source]
title = "A post"
date = "2007"
seed = "post.txt"
points = [{ nodes = [1, 2] }]
[[figure]]
workload = "ring"
point = { nodes = 2 }
contender = "erlang"
metric = "cpu_s"
value = 1
[[figure]]
workload = "fanout"
contender = "erlang"
metric = "latency_s"
value = { p50 = 1.5, p90 = 3 }
as_published = "about two"
[[claim]]
id = "faster"
workload = "ring"
text = "Faster"
[claim.test]
never = "no"
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


# --- contenders ------------------------------------------------------------------------------------


def test_a_manifest_gives_one_contender_for_each_runtime(tmp_path: Path) -> None:
    contenders = read_contender(manifest(tmp_path, MANIFEST))
    assert list(contenders) == ["thing", "thing@two"]
    assert contenders["thing@two"].runtime.executable == ("two",)
    assert contenders["thing"].workloads["ring"].most == {"nodes": 10}
    titled = MANIFEST.replace("[runtime.two]", '[runtime.two]\ntitle = "Two"')
    contenders = read_contender(manifest(tmp_path / "titled", titled))
    assert [contender.runtime.title for contender in contenders.values()] == ["", "Two"]
    for of_all, own in (("false", "true"), ("true", "false")):
        text = MANIFEST.replace("[runtime.two]", f"[runtime.two]\nparallel = {own}")
        contenders = read_contender(manifest(tmp_path / own, f"parallel = {of_all}\n{text}"))
        parallel = [str(contender.parallel).lower() for contender in contenders.values()]
        assert parallel == [of_all, own]


def test_a_runtime_can_come_from_a_registry_and_have_words_and_gaps_of_its_own(tmp_path: Path) -> None:
    own = """
build = [["{runtime}", "ci", "--prefix", "{build}"]]
brings = ["{build}/bin/two", "-v"]
arguments = ["run", "-A"]
"""
    text = MANIFEST.replace("[runtime.two]", f"[runtime.two]{own}")
    ring = '[workload.ring]\ncommand = ["{runtime}", "ring"]\n[workload.fib]\ncommand = ["{build}/fib"]\n'
    text = f'{text.partition("[workload")[0]}[[build]]\ncommand = ["make"]\n{ring}'
    one, two = read_contender(manifest(tmp_path, text)).values()
    assert (one.builds, two.builds) == ((("make",),), (("{runtime}", "ci", "--prefix", "{build}"), ("make",)))
    assert two.runtime.brings == ("{build}/bin/two", "-v")
    assert one.workloads["ring"].command == ("{runtime}", "ring")
    assert two.workloads["ring"].command == ("{runtime}", "run", "-A", "ring")
    assert two.workloads["fib"].command == ("{build}/fib",)
    gap = text.replace("arguments", 'without = { fib = "No sockets." }\narguments')
    one, two = read_contender(manifest(tmp_path / "gap", gap)).values()
    assert (set(one.workloads), set(two.workloads)) == ({"ring", "fib"}, {"ring"})
    assert (dict(one.without), dict(two.without)) == ({}, {"fib": "No sockets."})
    with pytest.raises(
        CatalogueError, match="12: `runtime.two.without`: the manifest has no command for `jobs`"
    ):
        read_contender(manifest(tmp_path / "bad", gap.replace("{ fib =", "{ jobs =")))


def as_json(value: object) -> dict[str, object]:
    """A struct or dataclass as in the golden files beside what is read: without its folder, and without what
    is empty, as a key that is left out."""
    values = json.loads(msgspec.json.encode(value, enc_hook=str))
    return {key: each for key, each in values.items() if each and key != "folder"}


def test_all_that_a_manifest_says_is_taken() -> None:
    contender = read_contender(WHOLE / "thing" / "contender.toml")["thing"]
    assert contender.folder == WHOLE / "thing"
    assert as_json(contender) == json.loads((WHOLE / "thing.json").read_text(encoding="utf-8"))


VARIANT = """
[variant.tuned]
title = "A thing, tuned"
queue = "9"
tuning = ["depth 9 (default 1)"]
arguments = ["depth=9", "{cores}"]
environment = { THINGS = "{build}/things" }
"""


def test_a_variant_has_settings_of_its_own_and_the_build_of_the_plain_name(tmp_path: Path) -> None:
    text = f'tuning = ["fast"]\nunequal = ["slow"]\nidiom = "https://x.test/"\n{MANIFEST}'
    contenders = read_contender(manifest(tmp_path, text + VARIANT))
    assert [each.family for each in contenders.values()] == ["threads"] * 3
    plain, _, tuned = (contenders[name] for name in ("thing", "thing@two", "thing@tuned"))
    assert (plain.tuning, plain.unequal, plain.idiom) == (("fast",), ("slow",), "https://x.test/")
    assert (tuned.tuning, tuned.unequal, tuned.idiom) == (("depth 9 (default 1)",), (), "https://x.test/")
    assert (tuned.title, tuned.model, tuned.queue) == ("A thing, tuned", "things", "9")
    assert tuned.workloads["ring"].command == ("{runtime}", "ring", "depth=9", "{cores}")
    assert (tuned.environment, tuned.built_as) == ({"THINGS": "{build}/things"}, "thing")
    build = 'family = "processes"\n[[variant.tuned.build]]\ncommand = ["make"]\n'
    built = read_contender(manifest(tmp_path / "built", text + VARIANT + build))["thing@tuned"]
    assert (built.family, built.builds, built.built_as) == ("processes", (("make",),), "")


@pytest.mark.parametrize(("change", "message"), cases(__file__, "variants_that_cannot_be"))
def test_variants_that_cannot_be(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = MANIFEST + VARIANT.replace(*change)
    with pytest.raises(CatalogueError, match=message):
        read_contender(manifest(tmp_path, text))
    with pytest.raises(CatalogueError, match="the folder's name `A thing` may hold a-z, 0-9"):
        read_contender(manifest(tmp_path, MANIFEST, "A thing"))


def test_braces_around_anything_but_a_word_are_a_programs_own(tmp_path: Path) -> None:
    text = MANIFEST.replace('"ring"]', '"{ok, X}", "{}", "{ nods }", "{Ok}", "{cores}"]')
    assert read_contender(manifest(tmp_path, text))


# --- experiments and suites ------------------------------------------------------------------------


def test_all_that_an_experiment_says_is_taken() -> None:
    kept = json.loads((WHOLE / "trial.json").read_text(encoding="utf-8"))
    assert as_json(read_experiment(WHOLE / "trial.toml")) == kept


@pytest.mark.parametrize(("goal", "decided"), [("", True), ('until = "end"', False)])
def test_what_an_experiment_leaves_out_has_defaults(tmp_path: Path, goal: str, decided: bool) -> None:
    short = Experiment("trial", "An experiment", "ring", ("thing",), {}, "thing", 40)
    made = read_experiment(experiment(tmp_path, f"{EXPERIMENT}{goal}\n"))
    assert made == dataclasses.replace(short, until_decided=decided)


def test_suites(tmp_path: Path) -> None:
    assert read_suite(experiment(tmp_path, EXPERIMENT)) is None
    suite = read_suite(experiment(tmp_path, 'title = "S"\nparts = ["a", "b"]\nnote = "n"\n'))
    assert (suite.title, suite.experiments, suite.note) == ("S", ("a", "b"), "n")
    with pytest.raises(CatalogueError, match=r"trial\.toml:2: `trial` is a part of itself"):
        read_suite(experiment(tmp_path, 'title = "S"\nparts = ["trial"]\n'))
    with pytest.raises(CatalogueError, match=r"trial\.toml:2: this is a suite"):
        read_experiment(tmp_path / "trial.toml")


# --- published figures -----------------------------------------------------------------------------


def test_figures_and_claims_of_a_source(tmp_path: Path) -> None:
    published = read_published(experiment(tmp_path, PUBLISHED))
    erlang = Figure(workload="ring", point={"nodes": 2}, contender="erlang", metric="cpu_s", value=1.0)
    later = replace(erlang, workload="fanout", point={}, as_published="about two")
    assert published.figures == (
        erlang,
        replace(later, metric="latency_s.p50", value=1.5),
        replace(later, metric="latency_s.p90", value=3.0),
    )
    assert published.claims == (Claim("Faster", "faster", "ring", ClaimRow(never="no")),)


@pytest.mark.parametrize(("change", "message"), cases(__file__, "a_source_names_what_exists"))
def test_a_source_names_what_exists(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in PUBLISHED
    file = experiment(tmp_path, PUBLISHED.replace(*change, 1))
    with pytest.raises(CatalogueError, match=rf"toml:{message}"):
        read_published(file, ["erlang", "stackless-pypy"])


def test_a_source_may_name_a_family_of_contenders_and_the_metrics_unit(tmp_path: Path) -> None:
    text = PUBLISHED.replace('"erlang"', '"stackless"').replace("value = 1\n", 'unit = "s"\nvalue = 1\n')
    published = read_published(experiment(tmp_path, text), ["stackless-pypy"])
    assert {figure.contender for figure in published.figures} == {"stackless"}
    runtime = PUBLISHED.replace('"erlang"', '"erlang@old"')
    assert read_published(experiment(tmp_path, runtime), ["erlang"]).figures


# --- where files are found -------------------------------------------------------------------------


def test_the_first_folder_wins(tmp_path: Path) -> None:
    manifest(tmp_path / "a", MANIFEST)
    manifest(tmp_path / "b", MANIFEST.replace("A thing", "Another"))
    manifest(tmp_path / "b", MANIFEST, "other")
    catalogue = Catalogue([tmp_path / "a", tmp_path / "b"])
    assert catalogue.contender_names() == ["other", "thing"]
    assert catalogue.contender("thing").title == "A thing"


def test_unknown_names_come_with_the_nearest() -> None:
    catalogue = Catalogue()
    with pytest.raises(UsageError, match="there is no contender `erlnag`; did you mean erlang"):
        catalogue.contender("erlnag")
    with pytest.raises(UsageError, match="there is no experiment `showdwon`; did you mean showdown"):
        catalogue.experiment("showdwon")
    with pytest.raises(UsageError, match="there is no source of published figures `2006`"):
        catalogue.published("2006")
    for name in ("nope", ""):
        with pytest.raises(UsageError, match=f"has no runtime or variant `{name}`; it has: go"):
            catalogue.contender(f"go@{name}")
    assert "there is no experiment file" in error_of(UsageError, catalogue.experiment, "./none.toml")


def test_a_catalogue_folder_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_CATALOGUE", "/nowhere/at/all")
    assert "/nowhere/at/all, which is not a folder: correct or unset it" in error_of(RingsideError, Catalogue)


QUESTION = """
text = "What does a message cost?"
concerns = ["messages"]
[[figure]]
experiment = "example"
metric = "cpu_s"
words = "a message"
at = { nodes = 2 }
"""


@pytest.mark.parametrize(("old", "new", "message"), cases(__file__, "questions_that_nothing_answers"))
def test_questions_that_nothing_answers(tmp_path: Path, old: str, new: str, message: str) -> None:
    experiment = tmp_path / "example.toml"
    experiment.write_text(EXPERIMENT + '[show]\nmetrics = ["cpu_s"]\n', encoding="utf-8")
    path = tmp_path / "q.toml"

    def read(text: str) -> Question:
        path.write_text(text, encoding="utf-8")
        return read_question(
            path,
            ["example", "suite"],
            lambda name: read_experiment(experiment) if name == "example" else None,
        )

    assert read(QUESTION).figures[0].at == {"nodes": 2}
    assert f"q.toml:{message}" in error_of(CatalogueError, read, QUESTION.replace(old, new))
