"""The routes. Each answer is made in the source's thread; an error is a page that says what is wrong, and the
next request tries again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.run_diff import diff
from ringside.errors import NoStoreError, RingsideError, StoreError, UsageError
from ringside.model.results import RunState
from ringside.render.export import documents, formats
from ringside.serve import pages, views
from ringside.serve.guard import Guard
from ringside.serve.live import MAX_WATCHERS, Hub
from ringside.serve.source import Questions, Source
from ringside.store import Store
from ringside.store.database import runs_of, single_run, suite_of

_A_YEAR = "public, max-age=31536000, immutable"

Handler = Callable[[Request], Awaitable[Response]]


class Pages:
    """The routes and their shared state."""

    def __init__(self, source: Source, questions: Questions) -> None:
        self.source = source
        self.views = views.Views(questions)
        self.hub = Hub(source)

    def of_store(self, make: Callable[[Store, Request], Response]) -> Handler:
        """A route whose answer needs the store; a page that says why, where there is none."""

        async def handle(request: Request) -> Response:
            try:
                return await self.source.read(lambda store: make(store, request))
            except RingsideError as error:
                return trouble(error)

        return handle

    def home(self, store: Store, request: Request) -> Response:
        names = ("experiment", "state", "text", "suite")
        chosen = views.Filter(*(request.query_params.get(name, "").strip() for name in names))
        return _html("runs.html.j2", **self.views.run_list(store, chosen))

    async def run(self, request: Request) -> Response:
        """The report of a run that is over, the live page of one that is not."""
        run_id = request.path_params["run"]
        live = self.hub.live(run_id)
        try:
            progress = await live.progress()
            if progress.state is RunState.DONE:
                return await self.of_store(self.report)(request)
            newest = await live.newest(progress)
        except RingsideError as error:
            # No id of a run: one of a suite, or a name.
            return await self.of_store(self.suite)(request) if _is_missing(error) else trouble(error)
        # In the thread: the first page bundles the script that draws plots.
        shown = {"run": run_id, "progress": progress, "content": newest.values}
        return await self.source.run(lambda: _html("live.html.j2", **shown))

    def suite(self, store: Store, request: Request) -> Response:
        name = request.path_params["run"]
        runs = runs_of(store, name)
        if suite := suite_of(runs, name):
            return _html("runs.html.j2", **self.views.run_list(store, views.Filter(suite=suite)))
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
            if _is_missing(error):
                return trouble(error)
        stream = live.events()
        return StreamingResponse(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")

    def report(self, store: Store, request: Request) -> Response:
        # The page has its own policy, all but this, in itself.
        policy = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(self.views.report(store, request.path_params["run"]), headers=policy)

    def document(self, store: Store, request: Request) -> Response:
        values = documents.document(_analysis(store, request.path_params["run"]))
        return Response(documents.as_json(values), media_type="application/json")

    def figures(self, store: Store, request: Request) -> Response:
        text = formats.as_csv(_analysis(store, request.path_params["run"]))
        return Response(text, media_type="text/csv; charset=utf-8")

    def compare(self, store: Store, request: Request) -> Response:
        names = [request.query_params.get(key, "").strip() for key in ("one", "other")]
        metric = request.query_params.get("metric", "").strip() or None
        wrong, compared = "", None
        if all(names):
            try:
                one, other = (_analysis(store, name) for name in names)
                compared = diff(one, other, metric)
            except UsageError as error:
                wrong = str(error)
        runs = list(reversed(store.summaries()))
        return _html("compare.html.j2", runs=runs, names=names, metric=metric, trouble=wrong, diff=compared)

    def history(self, store: Store, request: Request) -> Response:
        return _html("history.html.j2", **self.views.history(store, request.path_params["experiment"]))

    async def asset(self, request: Request) -> Response:
        name = request.path_params.get("name", "icon.svg")
        content = await self.source.run(lambda: pages.file(name))
        if content is None:
            return trouble(UsageError("there is no such page"))
        body, kind = content
        return Response(body, media_type=kind, headers={"Cache-Control": _A_YEAR})

    def app(self, hosts: Sequence[str], *, any_address: bool) -> Starlette:
        """The application. `hosts`, `any_address`: see `Guard`."""

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            yield
            await self.source.close()

        async def not_found(_request: Request, _error: Exception) -> Response:
            return trouble(UsageError("there is no such page"))

        async def broken(_request: Request, error: Exception) -> Response:
            return trouble(StoreError(f"the page cannot be made: {type(error).__name__}: {error}"))

        routes = [
            Route("/", self.of_store(self.home)),
            Route("/runs/{run}", self.run),
            Route("/runs/{run}/events", self.events),
            Route("/runs/{run}/report", self.of_store(self.report)),
            Route("/runs/{run}/document.json", self.of_store(self.document)),
            Route("/runs/{run}/figures.csv", self.of_store(self.figures)),
            Route("/history/{experiment}", self.of_store(self.history)),
            Route("/compare", self.of_store(self.compare)),
            Route("/static/{name}", self.asset),
            Route("/favicon.ico", self.asset),
        ]
        guard = [Middleware(Guard, hosts=hosts, any_address=any_address)]
        handlers: Any = {404: not_found, 500: broken}
        return Starlette(routes=routes, middleware=guard, lifespan=lifespan, exception_handlers=handlers)


def trouble(error: RingsideError) -> Response:
    """A page that describes the error; it looks again automatically if the error may pass."""
    title, status, headers = ("Not readable now", 503, {"Refresh": "5"})
    if _is_missing(error):
        title, status, headers = ("Not here", 404, {})
    return HTMLResponse(pages.page("message.html.j2", title=title, text=str(error)), status, headers=headers)


def _is_missing(error: RingsideError) -> bool:
    return isinstance(error, UsageError) and not isinstance(error, NoStoreError)


def _analysis(store: Store, name: str) -> RunAnalysis:
    return analysis_of(store, single_run(store, name))


def _html(template: str, **values: Any) -> Response:
    return HTMLResponse(pages.page(template, **values))
