"""Pages in a real browser: where it is, and what a page did there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

# The longest wait: the tests' conditions end all others, and a host may stand still for minutes.
PATIENCE_MS = 180_000
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


def chromium() -> str:
    """A browser's path. Where there is none the test is skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no chromium to look at the page with")
    return program


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window, whose waits are as long as a busy host needs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(SWITCHES), timeout=300_000)
        yield browser
        browser.close()


@contextmanager
def watched(browser: Browser, faults: list[str], origin: str, **context: Any) -> Iterator[Page]:
    """A page that notes errors, and requests that leave `origin`. `context`: options of the window."""
    window = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
    window.set_default_timeout(PATIENCE_MS)
    page = window.new_page()

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(f"{message.text} ({message.location.get('url')})")

    def on_request(request: Request) -> None:
        if not request.url.startswith((origin, "data:", "blob:")):
            faults.append(request.url)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", on_request)
    yield page
    window.close()


def wait_until_drawn(page: Page) -> None:
    """Open what holds a report's plots and wait until it has drawn all of them."""
    page.evaluate("document.querySelectorAll('details.figures').forEach((each) => { each.open = true; })")
    charts = page.locator("html").get_attribute("data-charts") or "0"
    if charts != "0":
        page.locator(f"html[data-drawn='{charts}']").wait_for(state="attached")
