"""Runs in progress: the watchers of a run share each look at the store, and get the same bytes."""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from ringside.analysis.run import analysis_of
from ringside.errors import RingsideError
from ringside.model.results import RunState
from ringside.serve import pages
from ringside.serve.source import Signature, Source
from ringside.store import Store
from ringside.store.database import RunProgress
from ringside.text import one_line

# How often the store's files are checked, which takes microseconds; counting the trials takes milliseconds.
LOOK_S = 2.0
# If no file changes, the store itself is queried this often: it may have no files, and another process may
# hold the run.
ASK_S = 4.0
# The least time between two analyses of a run, also as a multiple of the last one's cost: together with
# sending they stay within 2 % of a core.
MIN_PAUSE_S = 3.0
PAUSE_PER_COST = 120.0
_MAX_PAUSE_S = 120.0
# After so many looks comes a line that browsers skip: writing it shows whether a connection is gone.
_KEEP_ALIVE_LOOKS = 7
MAX_WATCHERS = 500
# Runs whose newest analysis is kept.
_MAX_KEPT = 20


@dataclass(frozen=True, slots=True)
class Content:
    """The newest analysis of a run as the page shows it: `values` has HTML and plots; `event`: the same."""

    progress: RunProgress
    values: dict[str, Any]
    event: bytes
    # The time before which no other analysis is made.
    fresh_until_s: float


class Live:
    """One watched run."""

    def __init__(self, run_id: str, hub: "Hub") -> None:
        self.run_id, self.hub = run_id, hub
        self.watchers = 0
        # The progress at the last look at the store, the time of that look, and the store's files then.
        self._progress: RunProgress | None = None
        self._asked_s = -math.inf
        self._seen: Signature | None = None
        self._content: Content | None = None
        # Why it could not be shown. All watchers get that until the next look.
        self._trouble: Exception | None = None
        self._looking = asyncio.Lock()

    async def progress(self, *, at_once: bool = True) -> RunProgress:
        """How far the run is, by the last look at the store or, where `at_once` or something has changed, by
        a new one. Raises RingsideError."""
        async with self._looking:
            signature = self.hub.source.signature()
            age_s = time.monotonic() - self._asked_s
            is_old = age_s >= ASK_S or (age_s >= LOOK_S and signature != self._seen)
            if at_once or is_old or (self._progress is None and self._trouble is None):
                self._trouble, self._asked_s, self._seen = None, time.monotonic(), signature
                self._progress = await self.hub.source.read(lambda store: store.progress(self.run_id))
            elif self._trouble:
                raise self._trouble
            assert self._progress
            return self._progress

    async def newest(self, progress: RunProgress) -> Content:
        """The content of the page, rendered again if the run has changed. Raises RingsideError."""

        def render(store: Store) -> Content:
            began_s = time.thread_time()
            values = pages.content(analysis_of(store, store.run(self.run_id)))
            event = _event("content", values)
            cost_s = time.thread_time() - began_s
            pause_s = min(_MAX_PAUSE_S, max(MIN_PAUSE_S, cost_s * PAUSE_PER_COST))
            # Here, as whoever waits for it may go away.
            self._content = Content(progress, values, event, time.monotonic() + pause_s)
            return self._content

        async with self._looking:
            known = self._content
            if known is None or (
                known.progress != progress
                and (known.progress.state is not progress.state or time.monotonic() >= known.fresh_until_s)
            ):
                known = await self.hub.source.read(render)
            return known

    async def events(self) -> AsyncIterator[bytes]:
        """The events for one watcher: the newest of each kind, and then each change, until the run is over. A
        slow watcher misses states in between."""
        sent: dict[str, bytes] = {}
        self.watchers += 1
        try:
            yield b"retry: 3000\n\n"
            for looks in count(1):
                for kind, event in (await self._news()).items():
                    if sent.get(kind) != event:
                        sent[kind] = event
                        yield event
                if looks % _KEEP_ALIVE_LOOKS == 0:
                    yield b": still here\n\n"
                if "end" in sent:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.hub.stopped.wait(), LOOK_S)
                    return
        finally:
            self.watchers -= 1

    async def _news(self) -> dict[str, bytes]:
        """The newest event of each kind. Trouble stands in place of the progress, and ends with the next."""
        try:
            progress = await self.progress(at_once=False)
            newest = await self.newest(progress)
        # Whatever a store made by others provokes: the watchers are told, and the next look may be good.
        except Exception as error:
            self._trouble = error
            text = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
            return {"progress": _event("trouble", {"text": one_line(text, 600)})}
        news = {"progress": _event("progress", {"trials": progress.trials, "state": progress.state})}
        news["content"] = newest.event
        is_whole = progress.state is RunState.DONE and newest.progress == progress
        return news | ({"end": _event("end", {})} if is_whole else {})


def _event(name: str, values: dict[str, Any]) -> bytes:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


class Hub:
    """The runs that are watched, until `stopped`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stopped = asyncio.Event()
        self._lives: dict[str, Live] = {}

    @property
    def watchers(self) -> int:
        return sum(live.watchers for live in self._lives.values())

    def live(self, run_id: str) -> Live:
        """The run of that id, whether it exists or not."""
        live = self._lives.setdefault(run_id, Live(run_id, self))
        idle = [name for name, each in self._lives.items() if not each.watchers and each is not live]
        for name in idle[: max(0, len(self._lives) - _MAX_KEPT)]:
            del self._lives[name]
        return live
