"""`ringside new contender`: what it writes builds, keeps the contract, and is never written over anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.cli import context
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Receipt
from ringside.scaffold.languages import LANGUAGES, WORKLOADS
from tests.command_line import ringside

ROOT = Path(__file__).resolve().parents[1]


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
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "{workload}" not in text.lower(), path
            assert text.endswith("\n"), path
    assert not list(folder.rglob("*.tmpl"))


# These build in a second or two; the others are for `make soak`.
QUICK = ("python",)


@pytest.mark.parametrize(
    "language", [pytest.param(each, marks=() if each in QUICK else pytest.mark.soak) for each in LANGUAGES]
)
def test_it_builds_and_keeps_the_contract(language: str, workplace: Path) -> None:
    folder = made(language)
    runtime = context.catalogue([str(folder)]).contender("mine").runtime
    receipt = Toolchain(workplace / "builds").receipt(runtime)
    if not isinstance(receipt, Receipt):
        assert "CI" not in os.environ, receipt
        pytest.skip(receipt)
    done = ringside("check", str(folder / "contender.toml"), *(["--quick"] if language in QUICK else []))
    assert done.stdout == "".join(f"mine: {workload}: conforms\n" for workload in WORKLOADS)


MORE = [(name, w) for name, one in LANGUAGES.items() for w in one.workloads if w not in WORKLOADS]


@pytest.mark.parametrize(("language", "workload"), MORE)
def test_each_further_workload_builds_and_keeps_the_contract(
    language: str, workload: str, workplace: Path
) -> None:
    folder = made(language, "--workload", workload)
    done = ringside("check", str(folder / "contender.toml"), "--quick")
    assert done.stdout == f"mine: {workload}: conforms\n"


def test_one_workload_elsewhere(workplace: Path) -> None:
    (workplace / "other").mkdir()
    ringside("new", "contender", "m.1", "--language", "JS", "--workload", "ring", "--in", "other")
    assert sorted(path.name for path in (workplace / "other" / "m.1").iterdir()) == [
        "README.md",
        "arguments.js",
        "contender.toml",
        "ring.js",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("mine", "--language", "cobol"), "there is no language `cobol`; known: c, "),
        (("mine", "--language", "pyton"), "did you mean python?"),
        (("Mine", "--language", "c"), "the name `Mine` may hold a-z"),
        (("../mine", "--language", "c"), "the name `../mine` may hold a-z"),
        (("taken", "--language", "c"), "taken exists, and nothing is overwritten"),
        (("mine", "--language", "c", "--in", "file"), "cannot be written: Not a directory"),
        (("mine", "--language", "c", "--workload", "feed"), "there is no template of the workload `feed`"),
    ],
)
def test_wrong_use(complaint: Callable[..., str], words: tuple[str, ...], text: str) -> None:
    Path("taken").mkdir()
    Path("file").write_text("mine", encoding="utf-8")
    assert text in complaint("new", "contender", *words)
    assert list(Path("taken").iterdir()) == []
    assert not Path("mine").exists()


def test_every_template_belongs_to_a_language() -> None:
    templates = ROOT / "src" / "ringside" / "scaffold" / "templates"
    for folder in templates.iterdir():
        language = LANGUAGES[folder.name]
        sources = {language.source.replace("{workload}", each) for each in language.workloads}
        sources = {
            source.replace("{Workload}", each.capitalize())
            for source in sources
            for each in language.workloads
        }
        expected = {f"{name}.tmpl" for name in (*language.shared.values(), *sources)}
        assert {path.name for path in folder.iterdir()} <= expected


def test_the_languages_are_documented() -> None:
    page = (ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    assert f"Languages: {', '.join(f'`{name}`' for name in sorted(LANGUAGES))}." in page
