"""A run of a store as a part of a report."""

from __future__ import annotations

from ringside.measure.suites import analysis_of
from ringside.model.results import Run
from ringside.render.html.page import Page
from ringside.store import Store


def page_of(store: Store, run: Run) -> Page:
    """A run's part of the report."""
    analysis = analysis_of(store, run)
    hashes = {digest for contender in analysis.contenders.values() for digest in contender.files.values()}
    return Page(analysis, store.sources(sorted(hashes)))
