"""`ringside new contender`: a copy builds, keeps the contract, and overwrites nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.catalogue import copying
from ringside.catalogue.contenders import read_contender
from ringside.catalogue.copying import copied_files, languages
from ringside.cli import context
from ringside.model.catalogue import Contender, Receipt
from tests.support import ROOT
from tests.support.cases import cases
from tests.support.command_line import in_process
from tests.support.programs import skip

LANGUAGES = languages()


def written(folder: Path, language: str, *workloads: str) -> Path:
    copying.write(folder, copied_files(folder.name, language, workloads))
    return folder


def missing_sources(contender: Contender) -> list[str]:
    """Sources that a build names and that are not there."""
    words = [word for build in contender.builds for word in build[1:]]
    sources = [word for word in words if "." in word and re.fullmatch(r"(\./)?[\w/-]+(\.[a-z]+)?", word)]
    return [word for word in sources if not (contender.folder / word).exists()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_copy_has_what_was_asked_for_alone(language: str, tmp_path: Path) -> None:
    origin = LANGUAGES[language][0]
    taught = origin.teaches or tuple(origin.workloads)
    for workloads, expected in (((), set(taught)), ((taught[0],), {taught[0]})):
        folder = written(tmp_path / f"mine{len(workloads)}", language, *workloads)
        (contender,) = read_contender(folder / "contender.toml").values()
        assert set(contender.workloads) == expected
        assert (contender.family, contender.model) == (origin.family, origin.model)
        assert missing_sources(contender) == []
        text = (folder / "contender.toml").read_text(encoding="utf-8")
        assert not re.search(r"teaches|\[without\]", text)
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert readme.startswith(f"# {folder.name}\n")
        for other in origin.workloads.keys() - expected:
            assert f"\n## {other}\n" not in readme
            assert not re.search(rf'"{other}[ :,."]', text)
            assert not [path for path in folder.rglob("*") if path.stem.lower().startswith(other)]


@pytest.mark.integration
@pytest.mark.parametrize(("language", "name"), [(name, of[0].name) for name, of in LANGUAGES.items()])
def test_a_copy_builds_and_keeps_the_contract(language: str, name: str, workplace: Path) -> None:
    check_copy(language, ("ring",), "--quick")


@pytest.mark.soak
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_copy_of_everything_keeps_every_rule(language: str, workplace: Path) -> None:
    check_copy(language, tuple(LANGUAGES[language][0].workloads))


def check_copy(language: str, workloads: tuple[str, ...], *words: str) -> None:
    folder = written(Path("mine"), language, *workloads)
    (contender,) = read_contender(folder / "contender.toml").values()
    receipt = context.toolchain().receipt(contender.runtime)
    if not isinstance(receipt, Receipt):
        skip(contender, receipt)
    done = in_process("check", "./mine", *words)
    assert [line for line in done.stdout.splitlines() if line.endswith(": conforms")] == [
        f"mine: {workload}: conforms" for workload in contender.workloads
    ]


def test_one_workload_elsewhere(workplace: Path) -> None:
    (workplace / "other").mkdir()
    in_process("new", "contender", "m.1", "--language", "GoLang", "--workload", "ring", "--in", "other")
    folder = workplace / "other" / "m.1"
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "contender.toml", "go.mod", "ring", "settings"}
    assert "module ringside/contenders/m.1\n" in (folder / "go.mod").read_text()
    assert '"ringside/contenders/m.1/settings"' in (folder / "ring" / "ring.go").read_text()
    assert '"{build}/", "./{workload}"]' in (folder / "contender.toml").read_text()


@pytest.mark.parametrize(("words", "text"), cases(__file__, "wrong_use"))
def test_wrong_use(complaint: Callable[..., str], words: tuple[str, ...], text: str) -> None:
    Path("taken").mkdir()
    Path("file").write_text("mine", encoding="utf-8")
    assert text in complaint("new", "contender", *words)
    assert list(Path("taken").iterdir()) == []
    assert not Path("mine").exists()


def test_the_languages_are_documented() -> None:
    page = (ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    assert f"Languages: {', '.join(f'`{each}`' for each in sorted(LANGUAGES))}." in page
