"""Every contender of the catalogue passes `ringside check`, and none writes into its sources. `make test`
checks each workload of one contender in short, `make integration` all by every rule."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.conformance.subject import files_below
from ringside.measure.host import Executor
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Receipt
from ringside.model.results import Outcome
from ringside.workloads import WORKLOADS
from tests.support import ROOT
from tests.support.command_line import ringside
from tests.support.needed import SAMPLE
from tests.support.programs import CATALOGUE, TOOLCHAIN, carry_out, having, point, ready, skip

CONTENDERS = [one.name for one in CATALOGUE.contenders()[0]]


def dealt() -> dict[str, list[str]]:
    """Each workload once, dealt to those of the sample that take part in it."""
    shares: dict[str, list[str]] = {name: [] for name in SAMPLE}
    for workload in WORKLOADS:
        able = [name for name in SAMPLE if workload in CATALOGUE.contender(name).workloads]
        if able:
            min((shares[name] for name in able), key=len).append(workload)
    return {name: workloads for name, workloads in shares.items() if workloads}


@pytest.mark.parametrize(
    ("name", "chosen"),
    [*dealt().items(), *(pytest.param(name, (), marks=pytest.mark.integration) for name in CONTENDERS)],
)
def test_every_contender_of_the_catalogue_conforms(name: str, chosen: Sequence[str]) -> None:
    one = CATALOGUE.contender(name)
    words = ["--quick"] if chosen else []
    for workload in chosen:
        words += ["--workload", workload]
    receipt = TOOLCHAIN.receipt(one.runtime)
    if not isinstance(receipt, Receipt):
        skip(one, receipt)
    document = json.loads(ringside("check", name, *words, "--json", status=None).stdout)
    workloads = [workload for contender in document["contenders"] for workload in contender["workloads"]]
    assert {workload["workload"] for workload in workloads} == set(chosen or one.workloads)
    assert [each for each in workloads if each["findings"]] == []


@pytest.mark.parametrize("name", ["arguments.py", "service.py", "accounting.py", "settings/settings.go"])
def test_what_contenders_share_is_the_same_in_each_folder(name: str) -> None:
    """A folder stands by itself, so that it can be copied: what is mended in one has to be in all."""
    copies = [path.read_text(encoding="utf-8") for path in ROOT.glob(f"contenders/*/{name}")]
    assert len(copies) > 1
    assert len(set(copies)) == 1


@pytest.mark.parametrize("pom", sorted(ROOT.glob("contenders/*/pom.xml")), ids=lambda pom: pom.parent.name)
def test_the_lock_of_a_maven_build_has_what_its_pom_asks_for(pom: Path) -> None:
    """A version that changes without its hash would fail at the first build elsewhere."""
    text = pom.read_text(encoding="utf-8")
    asked = re.findall(r"<artifactId>(.+)</artifactId>\s+<version>(.+)</version>\s+(?:<scope>|</dep)", text)
    lines = (pom.parent / "jars.sha256").read_text(encoding="utf-8").splitlines()
    locked = {line.split("/")[-1] for line in lines if re.fullmatch(r"[0-9a-f]{64}  \w+/[\w.-]+\.jar", line)}
    assert len(locked) == len(lines)
    assert asked
    assert {f"{name}-{version}.jar" for name, version in asked} <= locked
    assert "://" not in text.replace("http://maven.apache.org/POM/4.0.0", ""), "no address of a repository"


# Their builds take minutes where cores are few, or get libraries by Maven.
SLOW = ["limit", *(path.parent.name for path in ROOT.glob("contenders/*/pom.xml"))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name in SLOW else ()) for name in having("ring")]
)
def test_no_contender_writes_into_its_sources(name: str, tmp_path: Path) -> None:
    """Neither its build nor a trial: a catalogue may lie where nothing can be written."""
    folder = name.partition("@")[0]
    sources = tmp_path / "contenders" / folder
    shutil.copytree(ROOT / "contenders" / folder, sources)
    before = files_below(sources)
    one = ready(name, Catalogue([tmp_path]), Toolchain(tmp_path / "builds"))
    assert one.contender.folder == sources
    trial = carry_out("ring", one, Executor(), point("ring", nodes=10, messages=10))
    assert trial.outcome is Outcome.OK, f"{trial.detail} {trial.report}"
    assert files_below(sources) == before
