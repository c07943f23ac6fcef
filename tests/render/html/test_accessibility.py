"""axe-core's findings about the pages, in light and in dark: no serious or critical violation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from ringside.analysis.run import analysis_of
from ringside.model.design import Experiment
from ringside.render.plots.charts import missing
from ringside.render.site.site import render_page, write_site
from ringside.store import Store
from tests.support.browsers import wait_until_drawn, watched
from tests.support.live_pages import serving
from tests.support.runs import experiment, make_run

pytestmark = pytest.mark.skipif(missing() is not None, reason="the `report` extra is not installed")

SERIOUS = ("serious", "critical")
SCHEMES = ("light", "dark")
RING = experiment(
    contenders=("erlang", "go", "python-threads", "limit"), factors={"nodes": 100, "messages": (10, 100)}
)
PARTS: tuple[tuple[Experiment, dict[str, Any]], ...] = (
    (RING, {}),
    (RING, {"seed": 2}),
    (experiment("showdown-fib", blocks=7), {"crashed": {"python-threads": 7}}),
    (experiment("showdown-feed", blocks=7, contenders=("go", "limit")), {}),
    (experiment("showdown-fanout", blocks=7), {"unavailable": ("erlang",)}),
    # The last is a run that was cut off.
    (RING, {"blocks": 3, "ended": False, "seed": 3}),
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    path = tmp_path_factory.mktemp("pages") / "runs.sqlite"
    store = Store(path)
    runs = [make_run(store, of, **options).id for of, options in PARTS]
    store.close()
    return path, runs


def violations(page: Page) -> list[str]:
    """The serious and critical violations, each with the first places that have it."""
    # It would fetch style sheets again, which a page from a folder may not.
    response: dict[str, Any] = Axe().run(page, options={"preload": False}).response
    assert response["testEngine"]["name"] == "axe-core"
    return [
        f"{each['id']} ({each['impact']}, {len(each['nodes'])} places): {each['help']}; "
        + "; ".join(f"{node['target']}: {node['html'][:160]}" for node in each["nodes"][:3])
        for each in response["violations"]
        if each["impact"] in SERIOUS
    ]


def look(
    browser: Browser, urls: dict[str, str], origin: str, ready: Callable[[Page], None] = wait_until_drawn
) -> list[str]:
    """The faults of pages, by their names."""
    wrong = []
    for scheme in SCHEMES:
        faults: list[str] = []
        # Without the page's policy axe-core could not be put into it.
        with watched(browser, faults, origin, color_scheme=scheme, bypass_csp=True) as page:
            for name, url in urls.items():
                page.goto(url)
                ready(page)
                wrong += [f"{name}, {scheme}: {each}" for each in violations(page)]
        wrong += faults
    return wrong


def assert_none(wrong: list[str]) -> None:
    assert not wrong, "\n".join(wrong)


@pytest.mark.integration
def test_reports(browser: Browser, stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    """A suite's with front page, claims and plots; that of one run, opened wherever it can be."""
    path, runs = stored
    store = Store(path, create=False)
    parts = [analysis_of(store, store.run(run)) for run in runs]
    store.close()
    (tmp_path / "suite.html").write_text(render_page(parts[1:5]), encoding="utf-8")
    (tmp_path / "single.html").write_text(render_page(parts[:1]), encoding="utf-8")

    def opened(page: Page) -> None:
        wait_until_drawn(page)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    urls = {name: (tmp_path / f"{name}.html").as_uri() for name in ("suite", "single")}
    assert_none(look(browser, urls, "file://", opened))


@pytest.mark.integration
def test_the_live_page(browser: Browser, stored: tuple[Path, list[str]]) -> None:
    path, runs = stored
    with serving(path) as served:
        origin = f"http://{served.host}:{served.port}"
        paths = {
            "list": "/",
            "empty list": "/?text=nothing",
            "compare": f"/compare?one={runs[0]}&other={runs[1]}",
            "history": f"/history/{RING.name}",
            "not here": "/nowhere",
        }

        def ready(page: Page) -> None:
            page.locator("footer").wait_for()

        wrong = look(browser, {name: origin + place for name, place in paths.items()}, origin, ready)

        def live(page: Page) -> None:
            page.locator("figure").first.scroll_into_view_if_needed()
            page.locator("figure svg").first.wait_for()

        wrong += look(browser, {"live": f"{origin}/runs/{runs[-1]}"}, origin, live)
    # The browser reports that the page is not here, once for each scheme; nothing else may be wrong.
    not_here = (
        "Failed to load resource: the server responded with a status of 404 (Not Found) "
        f"({origin}{paths['not here']})"
    )
    assert [each for each in wrong if each == not_here] == [not_here] * len(SCHEMES)
    assert_none([each for each in wrong if each != not_here])


@pytest.mark.integration
def test_a_site(browser: Browser, stored: tuple[Path, list[str]], tmp_path: Path) -> None:
    path, runs = stored
    store = Store(path, create=False)
    write_site(tmp_path / "site", [analysis_of(store, store.run(run)) for run in runs])
    store.close()
    names = ("index.html", f"history/{RING.name}.html", "data/schema.html")
    assert_none(look(browser, {name: (tmp_path / "site" / name).as_uri() for name in names}, "file://"))
