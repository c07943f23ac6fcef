"""The documents' claims about the repository are true."""

import importlib.metadata
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from scripts import manpage

from ringside.analysis.run import RunAnalysis
from ringside.cli.main import cli
from ringside.model.results import Outcome
from ringside.render.export import documents
from ringside.workloads import WORKLOADS
from tests.render.test_golden import parts as parts  # a fixture
from tests.support import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_verb_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    context = click.Context(cli)
    for name in cli.list_commands(context):
        assert f"`ringside {name}" in page, name
        command = cli.get_command(context, name)
        assert command.get_short_help_str(), name
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) else []:
                if option.startswith("--"):
                    assert f"`{option}" in page, f"{name} {option}"


def test_documented_verbs_and_make_targets_exist() -> None:
    verbs = set(cli.list_commands(click.Context(cli)))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        assert set(re.findall(r"`(?:\.venv/bin/)?ringside ([a-z]+)", text)) <= verbs, document.name
        assert set(re.findall(r"\bmake ([a-z-]+)`", text)) <= targets, document.name


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings, and those that it sets itself."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    )
    made = (re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)
    return {*made, *re.findall(r'<a (?:id|name)="([^"]+)"', text)}


# Phrases that nobody uses who explains something to a colleague.
AVOID = (
    r"\bat the (most|least|best)([,.;:)]| [0-9]|$)|, and nothing else\b|\bfor it is\b|nothing of python runs"
    r"|without a word\b|\bleads nobody\b|\bbrings nothing\b|\bof an? [a-z]+ it is\b|pip install '?ringside"
    r"|\bby the verdict\b|\bstands? behind\b|\bwho is first is\b|\b(is|are) (said|to be)\b|\bthat which\b"
    # A contender's README that counts its programs is soon wrong.
    r"|^(four|five|six|seven|eight|nine|ten) programs\b"
)
# Documents, messages, comments and notes. Programs of contenders are not changed for their comments.
PROSE = ("*.md", "src", "scripts", "benchmarks", "probe", "*.toml", ":!tests", ":!docs/site")


def broken_links(document: Path) -> Iterator[str]:
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", line):
            page = document.parent / target if target else document
            if not page.exists() or (anchor and page.suffix == ".md" and anchor not in anchors(page)):
                yield f"{document.name}:{number}: there is no {target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    assert list(broken_links(document)) == []


def test_readme_is_short() -> None:
    prose = re.sub(
        r"^```.*?^```", "", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert len(prose.split()) <= 900
    assert [line for line in prose.splitlines() if len(line) > 120] == []


def test_the_proof_is_that_of_validation() -> None:
    """README and COMPARED quote its tables."""
    names = ("README.md", "docs/COMPARED.md", "docs/VALIDATION.md")
    readme, compared, table = ((ROOT / name).read_text(encoding="utf-8") for name in names)
    same = dict(re.findall(r"^\| all \| (\w+) \| (\d+, \d+)", table, re.MULTILINE))
    claims = {tool: sum(map(int, counts.split(", "))) for tool, counts in same.items()}
    found = dict(re.findall(r"^\| 5 % \| (\w+) \| (\d+)", table, re.MULTILINE))
    readme = re.sub(r"\s+", " ", readme)
    assert f"a difference in {claims['ringside']} of them, hyperfine's ± in {claims['hyperfine']}" in readme
    assert f"pyperf's t-test in {claims['pyperf']}." in readme
    assert f"Ringside found {found['ringside']} and hyperfine {found['hyperfine']} " in readme
    assert f"difference in {claims['ringside']}, hyperfine's ratio" in compared
    assert f"above 1 in {claims['hyperfine']};" in compared
    assert f"found {found['ringside']} of 20, hyperfine {found['hyperfine']} " in compared


def test_durations_and_costs_are_the_same_in_all_documents() -> None:
    names = ("docs/FAQ", "records/README", "docs/COMPARED", "docs/BENCHMARKS", "README")
    faq, records, compared, costs, readme = (
        (ROOT / f"{name}.md").read_text(encoding="utf-8") for name in names
    )
    durations = re.findall(r"^\| `ringside run \w+` \| (\d+ minutes)", faq, re.MULTILINE)
    assert len(durations) == 3
    assert [each for each in durations if each not in records] == []
    assert "first table after a minute" in faq
    assert "first table after about a minute" in re.sub(r"\s+", " ", readme)
    ((ours, theirs),) = re.findall(r"command `true`.*?\| ([\d.]+) ms \|.*\n.*a run \| ([\d.]+) ms", costs)
    assert f"{float(theirs):.1f} ms beside {float(ours):.1f} for `true`" in compared


def test_the_citation_and_the_changelog_have_this_version() -> None:
    version = importlib.metadata.version("ringside")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_outcomes_are_in_the_glossary_and_the_contract() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    contract = (ROOT / "docs" / "PROBE.md").read_text(encoding="utf-8")
    for outcome in Outcome:
        assert f"`{outcome}`" in glossary, outcome
        assert f"`{outcome}`" in contract, outcome


# Objects whose keys are names: of contenders, metrics, outcomes, machines, facts of a host, factors.
BY_NAME = {"contenders", "outcomes", "metrics", "missing", "ranks", "figures", "ratios"}
FREE = {"host", "point"}


def keys_of(values: Any) -> set[str]:
    """The keys of a document that do not depend on what was measured."""
    if isinstance(values, list):
        return set().union(*map(keys_of, values))
    if not isinstance(values, dict):
        return set()
    inner = (
        list(value.values()) if name in BY_NAME and isinstance(value, dict) else value
        for name, value in values.items()
        if name not in FREE
    )
    return set(values).union(*map(keys_of, inner))


def test_keys_of_a_run_are_described(parts: list[RunAnalysis]) -> None:
    page = (ROOT / "docs" / "JSON.md").read_text(encoding="utf-8").partition("\n## Commands")[0]
    documented = set(re.findall(r"`(?:\{\")?([a-z0-9_]+)", page)) | {"runs", "suite"}
    found = keys_of([documents.document(part) for part in parts])
    assert {"ratio", "overstated", "receipt", "unavailable", "stderr"} <= found
    assert found <= documented, found - documented


def test_metrics_links_to_their_definitions_and_names_none_that_is_not_there() -> None:
    page, known = (ROOT / "docs" / "METRICS.md").read_text(encoding="utf-8"), set[str]()
    for name, workload in WORKLOADS.items():
        assert f"[{name}](../src/ringside/workloads/{name}/metrics.md)" in page
        known |= {one.name.partition(".")[0] for one in workload.metrics}
        known |= {one.name for one in workload.slopes}
    assert set(re.findall(r"`([a-z0-9]+_[a-z0-9_]+)[`.]", page)) <= known


@pytest.mark.parametrize(
    ("pattern", "where", "control"),
    [(AVOID, PROSE, "that which"), (r"/(root|home|work)/[a-z.]", (".", ":!tests", ":!*.lock"), "/work/x")],
    ids=["phrases", "paths of a machine"],
)
def test_texts_have_no(pattern: str, where: Sequence[str], control: str) -> None:
    """A failure names file and line."""

    def lines(*places: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "grep", "-noIiE", pattern, "--", *places]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    # It stands above: a search that does not find it would find nothing elsewhere either.
    assert f":{control}\n" in lines("tests").stdout
    found = lines(*where)
    # Git's status for no line; it is another when git fails.
    assert (found.returncode, found.stdout) == (1, ""), found


def test_the_man_page_is_that_of_the_help() -> None:
    assert manpage.PAGE.read_text(encoding="utf-8") == manpage.page(), "run scripts/manpage.py"


def test_text_is_not_taken_for_a_command_of_troff() -> None:
    assert manpage.roff(".SH\n'x\n\\fB--a") == "\\&.SH\n\\&'x\n\\efB\\-\\-a"


# --- docs/RELIABILITY.md: each item names the test that shows it, and the test is there ---


RELIABILITY = ROOT / "docs" / "RELIABILITY.md"
# If an item names no file, its tests are in these.
TEST_FILES = [*ROOT.glob("tests/measure/runs/test_*.py"), ROOT / "probe/tests/suite/attacks.rs"]
# Whose items name functions, since their files have many; whose items have one test, which the text names.
OF_PROBE, BESIDES = "What a program does to the probe", "What a program does besides its work"
CHAPTERS = {OF_PROBE, BESIDES, "What happens to Ringside itself", "Faults of the environment"}


def reliability_items() -> list[tuple[str, str]]:
    """Each item and the chapter that it is in."""
    chapter, found = "", []
    for line in RELIABILITY.read_text("utf-8").splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.startswith("- **") and chapter in CHAPTERS:
            found.append((chapter, line))
    return found


def names_test(chapter: str, item: str) -> bool:
    """Whether an item names files of tests, or functions that are in one of those that it names."""
    files = [ROOT / file for file in re.findall(r"`((?:tests|probe)/[\w/]+\.(?:py|rs))`", item)]
    if not all(file.is_file() for file in files):
        return False
    text = "".join(file.read_text("utf-8") for file in files or TEST_FILES)
    functions = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", item.rpartition(" (")[2])
    defined = all(re.search(rf"(def|fn) {name}\b", text) for name in functions)
    return defined and bool(functions or chapter == BESIDES or (files and chapter != OF_PROBE))


def test_each_item_names_its_test() -> None:
    assert len(reliability_items()) > 55
    assert [item for chapter, item in reliability_items() if not names_test(chapter, item)] == []
