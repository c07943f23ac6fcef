"""The live page in a real browser, fed by a real run that `run --serve` shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.command_line import RINGSIDE


def chromium() -> str:
    """A browser's path. Where there is none the test is skipped; in CI there must be one."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium to look at the page")
        pytest.skip("there is no chromium to look at the page with")
    return program


@pytest.fixture
def browser() -> Iterator[Browser]:
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=switches)
        yield browser
        browser.close()


def watched(browser: Browser, faults: list[str], origin: str, width: int = 1280) -> Page:
    """A page that notes errors, and requests that go elsewhere."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    def on_request(request: Request) -> None:
        if not request.url.startswith(origin) and not request.url.startswith("data:"):
            faults.append(request.url)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", on_request)
    return page


def test_a_browser_follows_a_real_run_from_its_first_trials_to_its_report(
    browser: Browser, tmp_path: Path
) -> None:
    words = ["run", "showdown-ring", "--only", "limit,python-threads", "--set", "nodes=20", "--set"]
    words += ["messages=20", "--blocks", "10", "--until", "end", "--serve", "--port", "0"]
    faults: list[str] = []
    process = subprocess.Popen([*RINGSIDE, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        said = iter(process.stderr)
        line = next(line for line in said if "shows the run in progress" in line)
        url = line.split()[0]
        run = next(match[1] for line in said if (match := re.match(r"run (\S+): ", line)))
        page = watched(browser, faults, url)
        page.goto(url)
        expect(page.locator(".state")).to_have_text("in progress")
        page.get_by_role("link", name=run).click()
        expect(page.locator("#interim")).to_be_visible()
        expect(page.locator("h2").first).to_contain_text("Interim verdict: time per hop", timeout=30_000)
        trials = int(page.locator("html").get_attribute("data-trials") or 0)
        page.locator("#plots").scroll_into_view_if_needed()
        expect(page.locator("figure svg").first).to_be_visible(timeout=30_000)
        updates = int(page.locator("html").get_attribute("data-updates") or 0)
        page.wait_for_function(
            "([trials, updates]) => document.documentElement.dataset.trials > trials && "
            "document.documentElement.dataset.updates > updates",
            arg=[trials, updates],
            timeout=60_000,
        )
        expect(page.locator("figure svg").first).to_be_visible()
        # Its end comes by itself.
        expect(page.locator("#status .state")).to_have_text("done", timeout=120_000)
        expect(page.locator("#status a")).to_have_attribute("href", f"/runs/{run}")
        expect(page.locator("h2").first).to_contain_text("Verdict")
        expect(page.locator("#interim")).to_be_hidden()
        for _ in said:
            pass
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert faults == []
