"""Runs in progress: for each run that somebody watches one producer, which looks at the store and makes what
all watchers get, the same bytes for each."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from ringside.errors import RingsideError
from ringside.model.results import RunState
from ringside.serve.source import Signature, Source, Worker
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
# Browsers skip this line. Writing it shows whether a connection is gone.
_KEEP_ALIVE_S = 15.0
# A producer without watchers goes on this long, so a page that is loaded again finds it.
_LINGER_S = 10.0
MAX_WATCHERS = 500
# Runs whose newest analysis is kept.
_MAX_KEPT = 20


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: trials in the store, and its state."""

    trials: int
    state: RunState

    @property
    def is_over(self) -> bool:
        return self.state is RunState.DONE


@dataclass(frozen=True, slots=True)
class Content:
    """The newest analysis of a run as the page shows it: `values` has HTML and plots."""

    progress: RunProgress
    values: dict[str, Any]
    # The time before which no other analysis is made.
    fresh_until_s: float

    def is_fresh(self, progress: RunProgress) -> bool:
        """Whether it is as good as a new one."""
        if self.progress.state is not progress.state:
            return False
        return self.progress.trials == progress.trials or time.monotonic() < self.fresh_until_s


class Live:
    """One watched run."""

    def __init__(self, run_id: str, hub: Hub) -> None:
        self.run_id, self.hub = run_id, hub
        self.watchers = 0
        self.content: Content | None = None
        self.is_over = False
        # The newest of each kind; replaced as a whole, so that watchers see that one has come.
        self._events: dict[str, bytes] = {}
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._making = asyncio.Lock()

    async def progress(self) -> RunProgress:
        """Raises RingsideError."""

        def look() -> RunProgress:
            with self.hub.source.open() as store:
                trials, ended_at = store.progress(self.run_id)
                return RunProgress(trials, store.state(self.run_id, ended_at))

        return await self.hub.worker.run(look)

    async def newest(self, progress: RunProgress) -> Content:
        """What the page shows, rendered again where the run has changed. Raises RingsideError."""

        def render() -> tuple[dict[str, Any], float]:
            began_s = time.thread_time()
            values = self.hub.render(self.run_id)
            return values, time.thread_time() - began_s

        async with self._making:
            if self.content is None or not self.content.is_fresh(progress):
                values, cost_s = await self.hub.worker.run(render)
                pause_s = min(_MAX_PAUSE_S, max(MIN_PAUSE_S, cost_s * PAUSE_PER_COST))
                self.content = Content(progress, values, time.monotonic() + pause_s)
            return self.content

    async def events(self) -> AsyncIterator[bytes]:
        """What one watcher is sent: the newest of each kind, and from then on what changes. A slow watcher
        misses states in between."""
        sent: dict[str, bytes] = {}
        self.watchers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._produce())
        try:
            yield b"retry: 3000\n\n"
            while True:
                known = self._events
                for name, data in known.items():
                    if sent.get(name) is not data:
                        sent[name] = data
                        yield data
                if self.is_over:
                    return
                try:
                    async with asyncio.timeout(_KEEP_ALIVE_S), self._changed:
                        while self._events is known and not self.is_over:
                            await self._changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.watchers -= 1

    async def stop(self) -> None:
        """End the streams of all watchers."""
        if self._task:
            self._task.cancel()
        await self._end()

    async def _end(self) -> None:
        self.is_over = True
        async with self._changed:
            self._changed.notify_all()

    async def _publish(self, name: str, values: dict[str, Any]) -> None:
        text = json.dumps(values, separators=(",", ":"), allow_nan=False)
        self._events = {**self._events, name: f"event: {name}\ndata: {text}\n\n".encode()}
        async with self._changed:
            self._changed.notify_all()

    async def _produce(self) -> None:
        """Look at the store until the run is over, or nobody has watched for a while."""
        seen: Signature | None = None
        progress: RunProgress | None = None
        shown: Content | None = None
        trouble = ""
        asked_s, watched_s = -math.inf, time.monotonic()
        while True:
            now_s = time.monotonic()
            if self.watchers:
                watched_s = now_s
            elif now_s - watched_s > _LINGER_S:
                return
            signature = self.hub.source.signature()
            try:
                if progress is None or trouble or signature != seen or now_s - asked_s >= ASK_S:
                    before, progress = progress, await self.progress()
                    seen, asked_s = signature, now_s
                    if progress != before or trouble:
                        await self._publish("progress", {"trials": progress.trials, "state": progress.state})
                if (newest := await self.newest(progress)) is not shown:
                    await self._publish("content", newest.values)
                    shown = newest
                trouble = ""
                if progress.is_over and newest.progress == progress:
                    await self._publish("end", {})
                    return await self._end()
            # Whatever a store made by others provokes: the watchers are told, and the next look may be good.
            except Exception as error:
                progress = None
                text = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
                if text != trouble:
                    trouble = text
                    await self._publish("trouble", {"text": one_line(trouble, 600)})
            await asyncio.sleep(LOOK_S)


class Hub:
    """The runs that are watched. `render` makes what the page shows of a run, in the worker."""

    def __init__(self, source: Source, worker: Worker, render: Callable[[str], dict[str, Any]]) -> None:
        self.source, self.worker, self.render = source, worker, render
        self._lives: dict[str, Live] = {}

    @property
    def watchers(self) -> int:
        return sum(live.watchers for live in self._lives.values())

    def live(self, run_id: str) -> Live:
        """The run of that id, whether it exists or not."""
        kept = self._lives.get(run_id)
        if kept is None or kept.is_over:
            live = self._lives[run_id] = Live(run_id, self)
            live.content = kept.content if kept else None
        idle = [name for name, live in self._lives.items() if not live.watchers and name != run_id]
        for name in idle[: max(0, len(self._lives) - _MAX_KEPT)]:
            del self._lives[name]
        return self._lives[run_id]

    async def stop(self) -> None:
        for live in list(self._lives.values()):
            await live.stop()
