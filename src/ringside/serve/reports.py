"""Static reports on request: each is made once for as long as its runs have the same trials."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from html.parser import HTMLParser

from ringside.model.results import Run, RunState
from ringside.publish.runs import page_of, render_pages
from ringside.serve.guard import POLICY
from ringside.store import Store
from ringside.store.runs import runs_of

# Reports that are kept; one has some megabytes.
_MAX_KEPT = 6

# A run's id, its trials, its state: what a report depends on.
_Key = tuple[tuple[str, int, RunState], ...]


class Reports:
    """Used by the worker alone."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[bytes, str]] = OrderedDict()

    def report(self, store: Store, name: str) -> tuple[bytes, str]:
        """The report of a run or of a suite's runs, and its Content-Security-Policy. Raises RingsideError."""
        runs = runs_of(store, name)
        key = tuple((run.id, *_progress(store, run)) for run in runs)
        if key not in self._kept:
            text = whole_report(store, runs)
            self._kept[key] = (text.encode(), policy_of(text))
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _progress(store: Store, run: Run) -> tuple[int, RunState]:
    trials, ended_at = store.progress(run.id)
    return trials, store.state(run.id, ended_at)


def whole_report(store: Store, runs: Sequence[Run]) -> str:
    """The page that `ringside report` writes, with a link to the list of runs."""
    return render_pages([page_of(store, run) for run in runs], home="/")


def policy_of(text: str) -> str:
    """The policy that a report has as an element, for its header. Without one, ours: nothing in it runs."""
    reader = _PolicyReader()
    reader.feed(text[:100_000])
    return f"{reader.policy}; frame-ancestors 'none'" if reader.policy else POLICY


class _PolicyReader(HTMLParser):
    policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "meta" and (attributes.get("http-equiv") or "").lower() == "content-security-policy":
            self.policy = self.policy or (attributes.get("content") or "")
