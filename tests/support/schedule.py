"""In which order tests run, and which of them one worker of pytest-xdist does in a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringside.catalogue.loader import Catalogue
from tests.support import ROOT

# What takes long comes last, so that a host that gives little of its CPUs gets to all others. First what one
# worker does alone; the contenders, of which there are many, then keep all workers busy to the end.
LAST = (
    *("test_plots", "test_process", "test_executor", "test_prepare", "test_load", "test_versus"),
    *("test_own_tests", "test_suites", "test_old_store", "test_html", "test_kills", "test_faults"),
    *("test_accessibility", "test_serve_browser", "test_cli", "test_wheel", "test_hostile_run"),
)
CONTENDERS = (
    *("test_contenders", "test_batch_contenders", "test_jobs_contenders", "test_sleepers_contenders"),
    *("test_fib_contenders", "test_feed_contenders", "test_fanout_contenders"),
    *("test_fanout_http_contenders", "test_service_contenders", "test_conforming_contenders"),
)


def rank(module: str) -> int:
    """The place of a test's module."""
    order = (*LAST, *CONTENDERS)
    return order.index(module) if module in order else -1


def unit_of(contenders: list[str]) -> Callable[[str], str]:
    """What a test belongs to, by its name: its file, or its file and its contender, whose server the tests of
    a file share."""
    # `go-workers` before `go`.
    alternatives = "|".join(map(re.escape, sorted(contenders, key=len, reverse=True)))
    name = re.compile(rf"(?:\[|-)({alternatives})(?:-|\]$)")

    def unit(test: str) -> str:
        file = test.partition("::")[0]
        found = name.search(test) if Path(file).stem in CONTENDERS else None
        return f"{file} {found[1]}" if found else file

    return unit


def all_contenders() -> list[str]:
    catalogue = Catalogue([ROOT])
    return [each.name for folder in catalogue.contender_names() for each in catalogue.runtimes(folder)]


def scheduler(config: Any, log: Any) -> object:
    """Hands out one unit after another, in the order of the tests. With xdist alone."""
    from xdist.scheduler import LoadScopeScheduling

    # It would begin with the units that have the most tests.
    config.option.loadscopereorder = False
    by_unit = LoadScopeScheduling(config, log)
    by_unit._split_scope = unit_of(all_contenders())
    return by_unit
