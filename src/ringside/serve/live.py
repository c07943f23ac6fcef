"""Runs in progress: for each run that somebody watches one producer, which looks at the store and makes what
all watchers get, the same bytes for each."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from ringside.errors import RingsideError
from ringside.model.results import RunState
from ringside.serve.source import Signature, Source, Worker
from ringside.text import one_line

# The store's files are looked at so often, which costs microseconds; to count the trials, milliseconds.
_LOOK_S = 2.0
# Whether another process still holds a run is asked so often where nothing changes.
_HELD_S = 5.0
# A database without files is asked so often.
_QUERY_S = 3.0
# Analyses of one run are at least so far apart, and so many times what the last one cost: together with
# sending they stay within 2 % of a core.
_MIN_PAUSE_S = 3.0
_PAUSE_PER_COST = 120.0
_MAX_PAUSE_S = 120.0
# A line that browsers skip, by which a connection that is gone is noticed.
_KEEP_ALIVE_S = 15.0
_KEEP_ALIVE = b": still here\n\n"
# A producer without watchers goes on so long: a page that is loaded again finds it.
_LINGER_S = 10.0
MAX_WATCHERS = 500


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: trials in the store, and its state."""

    trials: int
    state: RunState

    @property
    def is_over(self) -> bool:
        return self.state is RunState.DONE

    def event(self) -> dict[str, Any]:
        return {"trials": self.trials, "state": str(self.state)}


@dataclass(slots=True)
class Content:
    """The newest analysis of a run as the page shows it: `values` has HTML and plots."""

    progress: RunProgress
    values: dict[str, Any]
    made_at_s: float
    pause_s: float

    def is_fresh(self, progress: RunProgress) -> bool:
        """Whether it is as good as a new one: the run has not changed, or it is too early for another."""
        if self.progress.state is not progress.state:
            return False
        return self.progress.trials == progress.trials or time.monotonic() - self.made_at_s < self.pause_s


@dataclass
class Live:
    """One watched run. `render` makes what the page shows of it, in the worker."""

    run_id: str
    source: Source
    worker: Worker
    render: Callable[[str], dict[str, Any]]
    watchers: int = 0
    content: Content | None = None
    is_over: bool = False
    _events: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    _version: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _task: asyncio.Task[None] | None = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def progress(self) -> RunProgress:
        """Raises RingsideError."""

        def look() -> RunProgress:
            with self.source.open() as store:
                trials, ended_at = store.progress(self.run_id)
                return RunProgress(trials, store.state(self.run_id, ended_at))

        return await self.worker.run(look)

    async def newest(self, progress: RunProgress | None = None) -> Content:
        """What the page shows, rendered again where the run has changed. Raises RingsideError."""
        async with self._making:
            progress = progress or await self.progress()
            if self.content is None or not self.content.is_fresh(progress):
                values, cost_s = await self.worker.timed(lambda: self.render(self.run_id))
                pause_s = min(_MAX_PAUSE_S, max(_MIN_PAUSE_S, cost_s * _PAUSE_PER_COST))
                self.content = Content(progress, values, time.monotonic(), pause_s)
            return self.content

    async def events(self) -> AsyncIterator[bytes]:
        """What one watcher is sent: the newest of each kind, and from then on what changes. A watcher that is
        slow misses states in between."""
        sent: dict[str, int] = {}
        self.watchers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._produce())
        try:
            yield b"retry: 3000\n\n"
            while True:
                known = self._version
                for name, (version, data) in list(self._events.items()):
                    if sent.get(name) != version:
                        sent[name] = version
                        yield data
                if self.is_over:
                    return
                try:
                    async with asyncio.timeout(_KEEP_ALIVE_S), self._changed:
                        while self._version == known and not self.is_over:
                            await self._changed.wait()
                except TimeoutError:
                    yield _KEEP_ALIVE
        finally:
            self.watchers -= 1

    async def stop(self) -> None:
        """End the streams of all watchers."""
        self.is_over = True
        if self._task:
            self._task.cancel()
        async with self._changed:
            self._changed.notify_all()

    async def _publish(self, name: str, values: dict[str, Any]) -> None:
        text = json.dumps(values, separators=(",", ":"), allow_nan=False)
        self._version += 1
        async with self._changed:
            self._events[name] = (self._version, f"event: {name}\ndata: {text}\n\n".encode())
            self._changed.notify_all()

    async def _produce(self) -> None:
        seen: Signature | None = None
        progress: RunProgress | None = None
        asked_s = -_HELD_S
        idle_since_s: float | None = None
        shown: Content | None = None
        trouble = ""
        while True:
            now_s = time.monotonic()
            if self.watchers:
                idle_since_s = None
            elif now_s - (idle_since_s := idle_since_s or now_s) > _LINGER_S:
                return
            signature = self.source.signature()
            waited_s = now_s - asked_s
            is_due = waited_s >= (_QUERY_S if signature is None else _HELD_S) or bool(trouble)
            try:
                if is_due or signature != seen:
                    before, progress, asked_s = progress, await self.progress(), now_s
                    seen = signature
                    if progress != before or trouble:
                        await self._publish("progress", progress.event())
                if progress is not None and (newest := await self.newest(progress)) is not shown:
                    await self._publish("content", newest.values)
                    shown = newest
                trouble = ""
            # Whatever a store made by others provokes: the watchers are told, and the next look may be good.
            except Exception as error:
                seen, progress = None, None
                text = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
                if text != trouble:
                    trouble = text
                    await self._publish("trouble", {"text": one_line(trouble, 600)})
            if progress is not None and progress.is_over and shown and shown.progress == progress:
                await self._publish("end", {})
                self.is_over = True
                async with self._changed:
                    self._changed.notify_all()
                return
            await asyncio.sleep(_LOOK_S)


class Hub:
    """The runs that are watched."""

    def __init__(self, source: Source, worker: Worker, render: Callable[[str], dict[str, Any]]) -> None:
        self._source, self._worker, self._render = source, worker, render
        self._lives: dict[str, Live] = {}

    @property
    def watchers(self) -> int:
        return sum(live.watchers for live in self._lives.values())

    def live(self, run_id: str) -> Live:
        """The run of that id, whether it exists or not."""
        for name in [name for name, live in self._lives.items() if not live.watchers and name != run_id]:
            if len(self._lives) > _MAX_KEPT:
                del self._lives[name]
        if run_id not in self._lives or self._lives[run_id].is_over:
            kept = self._lives.get(run_id)
            live = Live(run_id, self._source, self._worker, self._render)
            live.content = kept.content if kept else None
            self._lives[run_id] = live
        return self._lives[run_id]

    async def stop(self) -> None:
        for live in list(self._lives.values()):
            await live.stop()


# Runs whose newest analysis is kept.
_MAX_KEPT = 20
