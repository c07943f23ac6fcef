"""The live page of a real run, which `run --serve` shows, in a real browser. Every wait is for a condition;
nothing here depends on how fast the host is."""

import re
import signal
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browsers import PATIENCE_MS, watched
from tests.support.command_line import RINGSIDE, in_process

expect.set_options(timeout=PATIENCE_MS)

# Put before a program: each of its trials waits until the test allows so many.
GATE = """\
import pathlib as _pathlib
import time as _time

_gate = _pathlib.Path({gate!r})
_mine = len(list(_gate.glob("trial-*")))
(_gate / f"trial-{{_mine}}").touch()
while int((_gate / "allowed").read_text() or 0) <= _mine:
    _time.sleep(0.02)
"""


def state_of(page: Page, name: str) -> str:
    """The page's notes about itself: `trials` and `updates`. The page's policy forbids scripts of ours that
    wait inside it."""
    html = page.locator("html")
    expect(html).to_have_attribute(f"data-{name}", re.compile(r"\d+"))
    return html.get_attribute(f"data-{name}") or ""


def test_a_browser_follows_a_run_to_its_report(browser: Browser, workplace: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()

    def allow(trials: int) -> None:
        # A reader sees the old number or the new one.
        (gate / "next").write_text(str(trials))
        (gate / "next").rename(gate / "allowed")

    allow(4)
    in_process("new", "contender", "waits", "--language", "python")
    program = workplace / "waits" / "ring.py"
    program.write_text(GATE.format(gate=str(gate)) + program.read_text())
    words = "run showdown-ring --with ./waits --only python-threads,waits --set nodes=20 --set messages=20"
    words += " --blocks 7 --until end --serve --port 0"
    faults: list[str] = []
    process = subprocess.Popen([*RINGSIDE, *words.split()], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        lines = iter(process.stderr)
        url = next(line for line in lines if "shows the run in progress" in line).split()[0]
        run = next(match[1] for line in lines if (match := re.match(r"run (\S+): ", line)))
        with watched(browser, faults, url) as page:
            # So low that no plot is near.
            page.set_viewport_size({"width": 1280, "height": 150})
            page.goto(url)
            expect(page.locator(".state")).to_have_text("in progress")
            page.get_by_role("link", name=run, exact=True).click()
            expect(page.locator("#interim")).to_be_visible()
            trials = state_of(page, "trials")
            allow(6)
            expect(page.locator("html")).not_to_have_attribute("data-trials", trials)
            allow(1000)
            expect(page.locator("#status .state")).to_have_text("done")
            expect(page.locator("h2").first).to_have_text("Answer")
            # The page ends with the run: its link leads nowhere soon.
            expect(page.locator("#status a")).to_have_attribute("href", f"/runs/{run}")
            for _ in lines:
                pass
            assert process.wait(300) == 0
            # A plot that is scrolled to then is drawn all the same.
            plot = page.locator("[data-plot]").last
            plot.scroll_into_view_if_needed()
            expect(plot.locator("svg").first).to_be_visible()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert faults == []
