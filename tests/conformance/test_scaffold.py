"""`ringside new contender`: what it writes builds, keeps the contract, and is never written over anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.cli import context
from ringside.measure.executor import LocalExecutor
from ringside.model.catalogue import Ready, Receipt
from ringside.model.results import Outcome
from ringside.scaffold.languages import ALL_WORKLOADS, LANGUAGES, WORKLOADS
from tests.support import ROOT
from tests.support.command_line import ringside
from tests.support.programs import carry_out, point


def made(language: str, *words: str) -> Path:
    done = ringside("new", "contender", "mine", "--language", language, *words)
    assert "next: ringside check" in done.stderr
    return Path("mine")


def test_the_next_command_names_the_folder(workplace: Path) -> None:
    done = ringside("new", "contender", "mine", "--language", "python")
    assert done.stderr == "ringside: next: ringside check ./mine\n"
    done = ringside("new", "contender", "mine", "--language", "python", "--in", str(workplace / "there"))
    assert done.stderr == f"ringside: next: ringside check {workplace}/there/mine\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_manifests_are_right_and_no_placeholder_is_left(language: str, workplace: Path) -> None:
    folder = made(language)
    contender = context.catalogue([str(folder)]).contender("mine")
    assert set(contender.workloads) == set(WORKLOADS)
    assert contender.workloads["fib"].host
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "{workload}" not in text.lower(), path
            assert text.endswith("\n"), path
    assert not list(folder.rglob("*.tmpl"))


def made_of_all(language: str) -> Path:
    """A contender with all workloads; skips where the language's toolchain is missing."""
    folder = made(language, *(word for each in ALL_WORKLOADS for word in ("--workload", each)))
    runtime = context.catalogue([str(folder)]).contender("mine").runtime
    receipt = context.toolchain().receipt(runtime)
    if not isinstance(receipt, Receipt):
        assert "CI" not in os.environ, receipt
        pytest.skip(receipt)
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("language", LANGUAGES)
def test_all_workloads_build_and_keep_the_contract(language: str, workplace: Path) -> None:
    folder = made_of_all(language)
    # A check of sleepers waits for many seconds; one trial has their evidence.
    workloads = [each for each in ALL_WORKLOADS if each != "sleepers"]
    chosen = [word for each in workloads for word in ("--workload", each)]
    done = ringside("check", str(folder / "contender.toml"), "--quick", *chosen)
    assert done.stdout == "".join(f"mine: {workload}: conforms\n" for workload in workloads)

    ready = context.toolchain().prepare(context.catalogue([str(folder)]).contender("mine"))
    assert isinstance(ready, Ready)
    at = point("sleepers", tasks=100, seconds=2)
    trial = carry_out("sleepers", ready, LocalExecutor(), at, seed=2**31 - 3)
    assert trial.outcome is Outcome.OK, trial.detail


@pytest.mark.soak
@pytest.mark.parametrize("language", LANGUAGES)
def test_all_workloads_keep_every_rule(language: str, workplace: Path) -> None:
    done = ringside("check", str(made_of_all(language) / "contender.toml"))
    expected = "".join(f"mine: {workload}: conforms\n" for workload in ALL_WORKLOADS)
    assert done.stdout == expected


def test_one_workload_elsewhere(workplace: Path) -> None:
    (workplace / "other").mkdir()
    ringside("new", "contender", "m.1", "--language", "JS", "--workload", "ring", "--in", "other")
    assert sorted(path.name for path in (workplace / "other" / "m.1").iterdir()) == [
        "README.md",
        "arguments.js",
        "contender.toml",
        "ring.js",
    ]


def test_a_helper_comes_with_the_programs_that_need_it(workplace: Path) -> None:
    for name, workload in (("web", "feed"), ("plain", "ring")):
        ringside("new", "contender", name, "--language", "erlang", "--workload", workload)
    web, plain = (Path(name, "contender.toml").read_text(encoding="utf-8") for name in ("web", "plain"))
    assert '"{build}", "arguments.erl", "http.erl", "feed.erl"]' in web
    assert '"{build}", "arguments.erl", "ring.erl"]' in plain
    assert Path("web/http.erl").exists()
    assert not Path("plain/http.erl").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("mine", "--language", "cobol"), "there is no language `cobol`; known: c, "),
        (("mine", "--language", "perl"), "CONTRIBUTING.md of Ringside shows how to write a contender"),
        (("mine", "--language", "pyton"), "did you mean python?"),
        (("Mine", "--language", "c"), "the name `Mine` may hold a-z"),
        (("../mine", "--language", "c"), "the name `../mine` may hold a-z"),
        (("taken", "--language", "c"), "taken exists, and nothing is overwritten"),
        (("mine", "--language", "c", "--in", "file"), "cannot be written: Not a directory"),
        (
            ("mine", "--language", "c", "--workload", "chess"),
            "there is no template of `chess`, only of ring, ",
        ),
    ],
)
def test_wrong_use(complaint: Callable[..., str], words: tuple[str, ...], text: str) -> None:
    Path("taken").mkdir()
    Path("file").write_text("mine", encoding="utf-8")
    assert text in complaint("new", "contender", *words)
    assert list(Path("taken").iterdir()) == []
    assert not Path("mine").exists()


def test_nothing_but_contenders_is_made(complaint: Callable[..., str]) -> None:
    assert "`thing` cannot be made, only a contender: ringside new contender NAME" in complaint(
        "new", "thing"
    )


def test_every_template_belongs_to_a_language() -> None:
    templates = ROOT / "src" / "ringside" / "scaffold" / "templates"
    for folder in templates.iterdir():
        language = LANGUAGES[folder.name]
        source = language.source
        sources = {
            source.replace("{workload}", each).replace("{Workload}", each.capitalize())
            for each in ALL_WORKLOADS
        }
        helpers = {template for template, _ in language.helpers.values()}
        expected = {f"{name}.tmpl" for name in (*language.shared.values(), *helpers, *sources)}
        assert {path.name for path in folder.iterdir()} == expected


def test_the_languages_and_the_workloads_are_documented() -> None:
    page = (ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    languages, workloads = (
        ", ".join(f"`{each}`" for each in names) for names in (sorted(LANGUAGES), ALL_WORKLOADS)
    )
    assert f"Languages: {languages}. Each has a template of every bundled workload: {workloads}." in page
