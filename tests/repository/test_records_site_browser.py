"""docs/site/ in a real browser, from its folder."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from ringside.analysis.run import analysis_of
from ringside.render.site.site import render_page
from ringside.store import record
from tests.render.html.test_accessibility import SCHEMES, assert_none, violations
from tests.render.html.test_report_browser import PHONE, SHEET, column, is_dark, sideways
from tests.repository.test_records_site import SITE
from tests.support.browsers import watched

ORIGIN = SITE.as_uri()
# The smallest phones.
NARROW: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1300, "height": 900}
PLACES = (
    "index.html",
    "how-to-read.html",
    "today.html",
    "today/today-ring.html",
    "posts/posts-feed.html",
    "sleepers-million/sleepers-million.html",
    "contenders/go.html",
    "workloads/ring.html",
)
# Elements that leave the window, but for those in a box that scrolls.
CUT = """all => all
    .filter(one => !one.closest('.skip, .box, pre, .contract table, details:not([open]) > :not(summary)'))
    .filter(one => {
        const { left, right, width } = one.getBoundingClientRect();
        return width && (right > window.innerWidth + 1 || left < -1);
    })
    .map(one => one.tagName + ': ' + one.textContent.slice(0, 60))"""


def test_it_works_from_its_folder_on_all_windows_and_on_paper(browser: Browser) -> None:
    """No request leaves it, nothing is wrong in the console, nothing is cut."""
    faults: list[str] = []
    with watched(browser, faults, ORIGIN, color_scheme="light") as page:
        for place in PLACES:
            page.goto(f"{ORIGIN}/{place}")
            for window in (NARROW, PHONE, DESK):
                page.set_viewport_size(window)
                assert sideways(page) <= 0, (place, window)
                assert page.locator("body *").evaluate_all(CUT) == [], (place, window)
            page.set_viewport_size(SHEET)
            page.emulate_media(media="print")
            assert sideways(page) <= 0, place
            page.emulate_media(media="screen")
        page.emulate_media(color_scheme="dark")
        assert is_dark(page)
    assert faults == []


@pytest.mark.integration
def test_no_page_is_wider_than_a_phone(browser: Browser) -> None:
    faults: list[str] = []
    with watched(browser, faults, ORIGIN) as page:
        page.set_viewport_size(PHONE)
        for path in sorted(SITE.rglob("*.html")):
            page.goto(path.as_uri())
            assert sideways(page) <= 0, path
    assert faults == []


@pytest.mark.integration
def test_the_page_of_a_whole_suite_is_short(browser: Browser, tmp_path: Path) -> None:
    """Made from today's record: eight problems, up to thirty programs, all folded away but the answers."""
    store = record.read(SITE.parents[1] / "records" / "today.json.xz")
    text = render_page([analysis_of(store, run) for run in store.runs()])
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    with watched(browser, [], "file://") as page:
        page.goto((tmp_path / "report.html").as_uri())
        for window, most in ((DESK, 14_000), (PHONE, 25_000)):
            page.set_viewport_size(window)
            assert page.evaluate("document.documentElement.scrollHeight") < most
            assert sideways(page) <= 0
        assert page.locator(".answer .dots").count() > 7


def test_the_keyboard_reaches_sources_and_sorts_the_overview(browser: Browser) -> None:
    faults: list[str] = []
    with watched(browser, faults, ORIGIN) as page:
        page.goto(f"{ORIGIN}/index.html")
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the figures"
        page.keyboard.press("Tab")
        assert focused(page) == "Ringside"
        # The records follow, the newest first.
        for name in ("today", "posts", "questions"):
            page.keyboard.press("Tab")
            assert focused(page) == name
        for _ in range(2):
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{ORIGIN}/today.html")
        before = column(page, 1)
        head = page.locator("table.overview thead th").nth(1)
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        assert column(page, 1) != before
        page.goto(f"{ORIGIN}/contenders/go.html")
        source = page.locator("details").first
        source.locator("summary").focus()
        page.keyboard.press("Enter")
        source.locator("pre b").first.wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "PRE"
    assert faults == []


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


@pytest.mark.integration
def test_it_can_be_read_by_everybody(browser: Browser) -> None:
    wrong: list[str] = []
    for scheme in SCHEMES:
        with watched(browser, wrong, ORIGIN, color_scheme=scheme, bypass_csp=True) as page:
            for place in PLACES:
                page.goto(f"{ORIGIN}/{place}")
                page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                wrong += [f"{place}, {scheme}: {each}" for each in violations(page)]
    assert_none(wrong)
