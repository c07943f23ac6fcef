"""The routes. Each answer is made in the worker's thread; an error is a page that says what is wrong, and the
next request tries again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.run_diff import RunDiff, diff
from ringside.errors import NoStoreError, RingsideError, StoreError, UsageError
from ringside.model.catalogue import Question
from ringside.model.results import RunState
from ringside.render.export import documents, formats
from ringside.render.html.pictures import drawing
from ringside.render.plots.rows import diff_chart
from ringside.render.text import changes, diagnostics, heading, sentences
from ringside.serve import pages, views
from ringside.serve.guard import Guard
from ringside.serve.live import MAX_WATCHERS, Hub
from ringside.serve.source import Source, Worker
from ringside.store import Store
from ringside.store.runs import runs_of, single_run, suite_of
from ringside.text import minute

# Pixels of a plot of a comparison, of which two stand side by side on a wide screen.
_WIDTH = 620
_A_YEAR = "public, max-age=31536000, immutable"

Handler = Callable[[Request], Awaitable[Response]]


class Pages:
    """What the routes share."""

    def __init__(self, source: Source, questions: Callable[[], Sequence[Question]]) -> None:
        self.source = source
        self.worker = Worker()
        self.reports = views.Reports(questions)
        self.histories = views.Histories()
        self.hub = Hub(source, self.worker, self._content)

    def _content(self, run_id: str) -> dict[str, Any]:
        with self.source.open() as store:
            run = store.run(run_id)
            if not store.progress(run_id)[0]:
                title = str((run.plan.get("experiment") or {}).get("title") or run.experiment)
                return pages.empty(title, "No trial of this run has ended yet.")
            return pages.content(analysis_of(store, run))

    def of_store(self, make: Callable[[Store, Request], Response]) -> Handler:
        """A route whose answer needs the store; a page that says why, where there is none."""

        async def handle(request: Request) -> Response:
            def answer() -> Response:
                try:
                    with self.source.open() as store:
                        return make(store, request)
                except RingsideError as error:
                    return trouble(error)

            return await self.worker.run(answer)

        return handle

    def home(self, store: Store, request: Request) -> Response:
        return _run_list(store, views.Filter.of(request.query_params))

    async def run(self, request: Request) -> Response:
        """The report of a run that is over, the live page of one that is not."""
        run_id = request.path_params["run"]
        live = self.hub.live(run_id)
        try:
            progress = await live.progress()
            if progress.is_over:
                return await self.of_store(self.report)(request)
            newest = await live.newest(progress)
        except NoStoreError as error:
            return trouble(error)
        except UsageError:
            # No id of a run: one of a suite, or a name.
            return await self.of_store(self.suite)(request)
        except RingsideError as error:
            return trouble(error)
        # In the worker: the first page bundles the script that draws plots.
        return await self.worker.run(
            lambda: _html("live.html.j2", run=run_id, progress=progress, content=newest.values)
        )

    def suite(self, store: Store, request: Request) -> Response:
        name = request.path_params["run"]
        runs = runs_of(store, name)
        if suite := suite_of(runs, name):
            return _run_list(store, views.Filter(suite=suite))
        # By the name of its experiment.
        return RedirectResponse(f"/runs/{runs[0].id}")

    async def events(self, request: Request) -> Response:
        run_id = request.path_params["run"]
        if self.hub.watchers >= MAX_WATCHERS:
            return PlainTextResponse("too many pages watch runs: close some\n", 503)
        live = self.hub.live(run_id)
        try:
            await live.progress()
        except RingsideError as error:
            # A store that cannot be read now may be there at the next look, which the stream shows.
            if (answer := trouble(error)).status_code == 404:
                return answer
        stream = live.events()
        return StreamingResponse(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")

    def report(self, store: Store, request: Request) -> Response:
        body, policy = self.reports.report(store, request.path_params["run"])
        return HTMLResponse(body, headers={"Content-Security-Policy": policy})

    def document(self, store: Store, request: Request) -> Response:
        values = documents.document(_analysis(store, request.path_params["run"]))
        return Response(documents.as_json(values), media_type="application/json")

    def figures(self, store: Store, request: Request) -> Response:
        text = formats.as_csv(_analysis(store, request.path_params["run"]))
        return Response(text, media_type="text/csv; charset=utf-8")

    def compare(self, store: Store, request: Request) -> Response:
        names = [request.query_params.get(key, "").strip() for key in ("one", "other")]
        metric = request.query_params.get("metric", "").strip() or None
        wrong, shown = "", None
        if all(names):
            try:
                both = [_analysis(store, name) for name in names]
                shown = _difference(diff(both[0], both[1], metric), metric)
            except UsageError as error:
                wrong = str(error)
        runs = list(reversed(store.summaries()))
        return _html("compare.html.j2", runs=runs, names=names, trouble=wrong, diff=shown)

    def history(self, store: Store, request: Request) -> Response:
        return _html("history.html.j2", **self.histories.page(store, request.path_params["experiment"]))

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = await self.worker.run(lambda: pages.file(name))
        if content is None:
            return _missing()
        body, kind = content
        return Response(body, media_type=kind, headers={"Cache-Control": _A_YEAR})

    async def icon(self, request: Request) -> Response:
        body, kind = pages.file("icon.svg") or (b"", "")
        return Response(body, media_type=kind)


def create(
    source: Source,
    questions: Callable[[], Sequence[Question]],
    *,
    hosts: Sequence[str] = (),
    any_address: bool = False,
) -> tuple[Starlette, Pages]:
    """The application, and the pages that it serves. `questions`: all that the catalogue has;
    `hosts`, `any_address`: see `Guard`."""
    of = Pages(source, questions)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await of.worker.run(source.close)
        of.worker.close()

    routes = [
        Route("/", of.of_store(of.home)),
        Route("/runs/{run}", of.run),
        Route("/runs/{run}/events", of.events),
        Route("/runs/{run}/report", of.of_store(of.report)),
        Route("/runs/{run}/document.json", of.of_store(of.document)),
        Route("/runs/{run}/figures.csv", of.of_store(of.figures)),
        Route("/history/{experiment}", of.of_store(of.history)),
        Route("/compare", of.of_store(of.compare)),
        Route("/static/{name}", of.asset),
        Route("/favicon.ico", of.icon),
    ]
    guard = Middleware(Guard, hosts=list(hosts), any_address=any_address)

    async def not_found(_request: Request, _error: Exception) -> Response:
        return _missing()

    async def broken(_request: Request, error: Exception) -> Response:
        return trouble(StoreError(f"the page cannot be made: {type(error).__name__}: {error}"))

    handlers: Any = {404: not_found, 500: broken}
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan, exception_handlers=handlers), of


def trouble(error: RingsideError) -> Response:
    """A page that says what is wrong; it looks again by itself where that may pass."""
    is_missing = isinstance(error, UsageError) and not isinstance(error, NoStoreError)
    status = 404 if is_missing else 503
    text = str(error)
    html = pages.page("message.html.j2", title="Not here" if is_missing else "Not readable now", text=text)
    return HTMLResponse(html, status, headers={} if is_missing else {"Refresh": "5"})


def _missing() -> Response:
    html = pages.page("message.html.j2", title="Not here", text="There is no such page.")
    return HTMLResponse(html, 404)


def _analysis(store: Store, name: str) -> RunAnalysis:
    return analysis_of(store, single_run(store, name))


def _run_list(store: Store, chosen: views.Filter) -> Response:
    return _html("runs.html.j2", list=views.run_list(store, chosen), states=list(RunState))


def _difference(of: RunDiff, metric: str | None) -> dict[str, Any]:
    """What the template shows of two runs."""
    plots = diff_chart(of)
    return {
        "table": changes.diff_table(of),
        "plots": plots,
        "drawings": [(panel.title, drawing(panel.spec, _WIDTH)) for panel in plots.panels],
        "diagnostics": diagnostics.for_pages(of.diagnostics),
        "metrics": of.first.metrics,
        "metric": metric or "",
        "sides": [
            {
                "analysis": analysis,
                "machine": heading.machine(analysis.run.host),
                "started": minute(analysis.run.started_at),
                "is_over": analysis.run.ended_at is not None,
                "points": [
                    (analysis.label(point), sentences.at_point(analysis, analysis.headline, point))
                    for point in analysis.points
                ],
            }
            for analysis in (of.first, of.second)
        ],
    }


def _html(template: str, **values: Any) -> Response:
    return HTMLResponse(pages.page(template, **values))
