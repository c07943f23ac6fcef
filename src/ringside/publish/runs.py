"""A run of a store as a part of a report, and the report of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.suite import analyse_suite
from ringside.model.results import Run
from ringside.render.html import page
from ringside.store import Store


@dataclass(frozen=True, slots=True)
class Page:
    """A run's part of the report. `sources`: texts by hash, to which the plan's `files` refer."""

    analysis: RunAnalysis
    sources: Mapping[str, str]


def page_of(store: Store, run: Run) -> Page:
    """A run's part of the report."""
    analysis = analysis_of(store, run)
    hashes = {digest for contender in analysis.contenders.values() for digest in contender.files.values()}
    return Page(analysis, store.sources(sorted(hashes)))


def render_pages(pages: Sequence[Page], *, home: str = "") -> str:
    """The whole report, as HTML; `home`: the address of the list of runs that it is one of."""
    sources = {digest: text for each in pages for digest, text in each.sources.items()}
    return page.render(analyse_suite([each.analysis for each in pages]), sources, home=home)
