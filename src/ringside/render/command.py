"""The command that makes a run again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ringside.analysis.run import RunAnalysis


def command(analysis: RunAnalysis) -> str:
    """`ringside run showdown --only go,erlang`: of a suite, with what the command line changed; of an
    experiment by itself, its name."""
    suite = analysis.plan.suite
    words = ["ringside", "run", *(_of_suite(suite) if suite else [analysis.experiment.name])]
    return shlex.join(words)


def _of_suite(suite: Mapping[str, Any]) -> list[str]:
    words = [str(suite["name"])]
    if suite.get("full"):
        words.append("--full")
    if suite.get("only"):
        words += ["--only", ",".join(suite["only"])]
    for factor, levels in (suite.get("settings") or {}).items():
        words += ["--set", f"{factor}={','.join(map(str, levels))}"]
    for option in ("blocks", "margin", "seed"):
        if suite.get(option) is not None:
            words += [f"--{option}", str(suite[option])]
    if suite.get("until") is not None:
        until = suite["until"]
        words += ["--until", f"{until * 100:g}%" if isinstance(until, float) else str(until)]
    if suite.get("sandbox"):
        words.append("--sandbox")
    return words
