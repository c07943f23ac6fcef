"""A load that several engines share, on this machine without a cluster: parts, records, one outcome."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringside.cluster.engines import Engines
from ringside.errors import ProbeError
from ringside.load import result
from ringside.probe.process import Probe
from ringside.probe.protocol import EngineMessage, EngineRecord, LoadPlan, LoadRequest, PartOfLoad
from tests.support import ROOT
from tests.support.fake_cluster import MakeSession
from tests.support.fake_cluster import session as session  # a fixture
from tests.support.loads import plan_at
from tests.support.probes import OUTCOME, STARTED, printing


def shared(plan: LoadPlan, engines: int) -> list[list[EngineMessage]]:
    """The messages of the engines, each a thread's; all start when the last is ready."""
    barrier = threading.Barrier(engines)

    def ready() -> None:
        barrier.wait()

    def run(engine: int) -> list[EngineMessage]:
        part = replace(plan, part=PartOfLoad(engine, engines))
        return Probe().load(LoadRequest(part), go=ready)

    with ThreadPoolExecutor(engines) as threads:
        return list(threads.map(run, range(engines)))


def records(answers: list[list[EngineMessage]]) -> list[EngineRecord]:
    return [message for answer in answers for message in answer if isinstance(message, EngineRecord)]


def test_parts_make_the_whole(http: str) -> None:
    whole = plan_at(f"{http}/", connections=5, requests=203)
    answers = shared(whole, 2)
    merged = result.from_messages(Probe().merge(whole, records(answers)))
    own = [result.from_messages(answer).figures for answer in answers]
    assert [answer.requests for answer in own] == [122, 81]
    assert merged.figures.requests == 203
    assert merged.figures.statuses == {"200": 203}
    assert merged.figures.connections["opened"] == 5
    latency = merged.figures.histograms["latency"]
    assert latency.count == sum(count for _, count in merged.counts["latency"]) == 203
    assert latency.max_ns == max(figures.histograms["latency"].max_ns for figures in own)
    assert latency.min_ns == min(figures.histograms["latency"].min_ns for figures in own)


def test_a_part_whose_start_is_called_off_is_ended(http: str) -> None:
    def go() -> None:
        raise ProbeError("called off")

    part = replace(plan_at(f"{http}/", connections=5, requests=5), part=PartOfLoad(0, 2))
    with pytest.raises(ProbeError, match="called off"):
        Probe().load(LoadRequest(part), go=go)


def test_the_start_is_told_once_the_engine_is_ready(tmp_path: Path) -> None:
    steps: list[str] = []
    probe = printing(tmp_path, STARTED, then=f"read -r go && echo '{OUTCOME}'")
    part = LoadRequest(LoadPlan("http", duration_s=0.1, part=PartOfLoad(0, 1)))
    probe.load(part, lambda message: steps.append(type(message).__name__), go=lambda: steps.append("go"))
    assert steps == ["Started", "go", "LoadOutcome"]


def test_loads_ask_nothing_of_a_probe_that_engines_lack(session: MakeSession) -> None:
    engines = Engines(session(), (), print, probe=Probe())
    texts = [
        (ROOT / "src" / "ringside" / file).read_text(encoding="utf-8")
        for file in ("cli/load.py", "load/versus.py")
    ]
    asked = {name for text in texts for name in re.findall(r"\bdriver\.(\w+)", text)} - {"trial"}
    assert {"load", "interrupt", "parts"} <= asked == {name for name in asked if hasattr(engines, name)}
