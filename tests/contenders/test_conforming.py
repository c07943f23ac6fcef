"""Every contender of the catalogue passes `ringside check`. `make integration` runs these."""

from __future__ import annotations

import json

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Receipt
from tests.support import ROOT
from tests.support.command_line import ringside

CATALOGUE = Catalogue([ROOT])
OPTIONAL = [one.name for one in CATALOGUE.contenders()[0] if one.runtime.optional and "@" in one.name]
CONTENDERS = [*CATALOGUE.contender_names(), *OPTIONAL]


@pytest.mark.integration
@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_of_the_catalogue_conforms(name: str) -> None:
    one = CATALOGUE.contender(name)
    if not isinstance(Toolchain(ROOT / "builds").receipt(one.runtime), Receipt):
        pytest.skip(f"{name} has no runtime here")
    document = json.loads(ringside("check", name, "--json", status=None).stdout)
    workloads = [workload for contender in document["contenders"] for workload in contender["workloads"]]
    assert {workload["workload"] for workload in workloads} == set(one.workloads)
    assert [each for each in workloads if each["findings"] or each["reason"]] == []
