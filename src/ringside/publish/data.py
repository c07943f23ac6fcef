"""A run as data of a site: the JSON document with what its history needs, and back."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import asdict
from typing import Any

from ringside.analysis.history import HistoryRun, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.render.documents import document

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(name: str) -> str:
    """A run's id, or an experiment's name, as the stem of a file on any host."""
    safe = _UNSAFE.sub("_", name).strip(".") or "run"
    return safe if safe == name else f"{safe[:80]}-{zlib.crc32(name.encode()):08x}"


def published(analysis: RunAnalysis) -> dict[str, Any]:
    """The document of `show --json`, with the headline's metric and the medians of the reference
    computations."""
    run = of_analysis(analysis)
    return {
        **document(analysis),
        "headline": asdict(analysis.headline),
        "references_ns": dict(run.references_ns),
    }


def as_bytes(values: Any) -> bytes:
    return (json.dumps(values, allow_nan=False, separators=(",", ":")) + "\n").encode()


def history_run(values: Any) -> tuple[HistoryRun, Metric]:
    """A published run as far as its history needs it, and the metric of its headline. Raises ValueError where
    the values are none of those that `published` makes."""
    try:
        metric = Metric(**values["headline"])
        contenders = values["contenders"]
        run = HistoryRun(
            id=str(values["run"]),
            started_at=str(values["started_at"]),
            host=dict(values["host"]),
            figures={
                (cell["contender"], Point(tuple(cell["point"].items()))): Interval(
                    each["median"], each["low"], each["high"], each["n"]
                )
                for cell in values["cells"]
                for name, each in cell["metrics"].items()
                if name == metric.name
            },
            versions={name: each["version"] or "" for name, each in contenders.items()},
            contents={name: each.get("content") or "" for name, each in contenders.items()},
            references_ns=dict(values["references_ns"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no published run") from error
    return run, metric
