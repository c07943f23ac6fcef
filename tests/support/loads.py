"""Results of made-up loads. No two counts are equal, so that a swap shows."""

import json
from typing import Any

from msgspec.structs import replace

from ringside.load import result, target
from ringside.load.options import LoadSettings
from ringside.load.plan import plan
from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.probe.protocol import LoadPlan, engine_message
from tests.support import TESTS

MS = 1_000_000
HTTP = target.parse("http://127.0.0.1:1/")
STREAM = target.parse("stream+http://127.0.0.1:1/")
# Additional keys of an open loop.
OPEN = {"intended": 130, "intended_rate_per_s": 65.0, "late_requests": 7, "unfinished": 23}
# Messages of the engine.
MESSAGES: dict[str, dict[str, Any]] = json.loads(
    (TESTS / "support" / "load_messages.json").read_text(encoding="utf-8")
)


def histogram(scale: int = MS) -> dict[str, Any]:
    """The figures of a histogram, 1 to 7 times `scale` nanoseconds from the least to the largest."""
    names = ("min", "p50", "p90", "p95", "p99", "p99_9", "max")
    return {"count": 100, "mean_ns": 1.5 * scale, "stdev_ns": 0.5 * scale} | {
        f"{name}_ns": (index + 1) * scale for index, name in enumerate(names)
    }


def outcome(**changed: Any) -> dict[str, Any]:
    """The engine's last message."""
    histograms = {
        "latency": histogram(),
        "service": histogram(2 * MS),
        "connect": histogram(MS // 2),
        "schedule_error": histogram(MS // 100),
    }
    return MESSAGES["outcome"] | {"histograms": histograms} | changed


def lines(**changed: Any) -> list[bytes]:
    """A whole answer of the engine. `changed`: keys of the outcome."""
    messages = [
        MESSAGES["started"],
        progress(1),
        {"type": "histogram", "name": "latency", "counts": [[MS, 90], [7 * MS, 10]]},
        {"type": "histogram", "name": "service", "counts": [[2 * MS, 100]]},
        outcome(**changed),
    ]
    return [json.dumps(message).encode() for message in messages]


def progress(second: int, **changed: Any) -> dict[str, Any]:
    """A message about one second of a load."""
    return MESSAGES["progress"] | {"t_ns": second * 10**9} | changed


def load_result(**changed: Any) -> LoadResult:
    """The result of such an answer."""
    return result.from_messages(map(engine_message, lines(**changed)))


def load_plan(*targets: Target | str, **changed: Any) -> LoadPlan:
    """The plan for targets, with these settings of the command line."""
    parsed = [target.parse(each) if isinstance(each, str) else each for each in targets]
    settings = LoadSettings(targets=tuple(each.text for each in parsed), **changed)
    return plan(settings, parsed, settings.seed or 0)


def plan_at(text: str, **changed: Any) -> LoadPlan:
    """The plan for a target that is there, with its addresses."""
    parsed = target.parse(text)
    return replace(load_plan(parsed, **changed), addresses=tuple(target.resolve(parsed)))


def http_plan(**changed: Any) -> LoadPlan:
    """A plan for `HTTP`, a closed loop unless changed."""
    return load_plan(HTTP, **changed)
