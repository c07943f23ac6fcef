from __future__ import annotations

import json
import os
from pathlib import Path

from ringside.measure import host


def test_facts_are_json_and_true() -> None:
    facts = host.facts(Path(__file__).parent)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpus"] == os.cpu_count()
    assert facts["kernel"] == os.uname().release
    assert facts["memory_bytes"] > facts["memory_available_bytes"] > 0
    assert facts["cpu_model"]
    assert facts["revision"]


def test_outside_a_checkout_there_is_no_revision(tmp_path: Path) -> None:
    assert host.facts(tmp_path)["revision"] is None
