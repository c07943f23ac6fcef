"""Makes the pictures of Ringside itself: docs/images/{vs,showdown}.svg, what a terminal shows, and
docs/images/{report,live}.png, two pages in a browser.

    .venv/bin/python scripts/pictures.py [NAME ...]      those that are named: vs, showdown, report, live

`vs` is measured anew. The others show the latest `make showdown` of this clone. Pages need chromium; a
terminal is 100 columns wide.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
IMAGES = ROOT / "docs" / "images"
RINGSIDE = str(Path(sys.executable).with_name("ringside"))
COLUMNS, LINES = 100, 50
PORT = 8078
# A picture must not fetch fonts: the reader's fonts must do.
SVG = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def terminal(*words: str, **environment: str) -> str:
    """The output of a command on a terminal, without its lines of progress."""
    main, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
    command = [RINGSIDE, *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=inner, stderr=subprocess.DEVNULL, env=variables):
        os.close(inner)
        printed = b""
        try:
            while part := os.read(main, 1 << 16):
                printed += part
        except OSError:  # Linux reports in this way that nobody writes to the terminal any more.
            pass
    os.close(main)
    return printed.decode().replace("\r\n", "\n")


def draw(name: str, command: str, printed: str) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {command}\n{printed.strip()}"), highlight=False)
    drawn = console.export_svg(title="", code_format=SVG, unique_id=name)
    (IMAGES / f"{name}.svg").write_text(re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE), encoding="utf-8")


def photograph(name: str, url: str, height: int) -> None:
    from playwright.sync_api import sync_playwright
    from tests.support.browsers import SWITCHES, chromium, wait_until_drawn

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(SWITCHES))
        page = browser.new_page(viewport={"width": 1200, "height": height})
        page.goto(url)
        if name == "report":
            wait_until_drawn(page)
            page.goto(url)
        page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


@contextmanager
def served() -> Iterator[str]:
    words = [RINGSIDE, "serve", "--port", str(PORT)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline() if server.stderr else ""
            yield line.split()[0]
        finally:
            server.terminate()


def vs() -> None:
    words = ("vs", "-n", "plain", "-n", "json", "python3 -c pass", "python3 -c 'import json'")
    with tempfile.TemporaryDirectory() as folder:
        printed = terminal(*words, RINGSIDE_STORE=f"{folder}/s.sqlite", RINGSIDE_LOCK=f"{folder}/lock")
    draw("vs", shlex.join(("ringside", *words)), printed)


def showdown() -> None:
    lines = terminal("show", "showdown").splitlines()
    words = [Text.from_ansi(line).plain for line in lines]
    # The first two problems, and the last table.
    problems = words.index("", words.index("") + 1)
    table = next(number for number, line in enumerate(words) if line.startswith("Times the best"))
    end = next(number for number, line in enumerate(words) if number > table and line.startswith("warning:"))
    draw("showdown", "make showdown", "\n".join([*lines[:problems], "", "…", "", *lines[table:end]]))


def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run([RINGSIDE, "report", "showdown", "-o", str(page)], cwd=ROOT, check=True)
        photograph("report", page.as_uri(), 1100)


def live() -> None:
    with served() as url:
        photograph("live", url, 700)


PICTURES = {"vs": vs, "showdown": showdown, "report": report, "live": live}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
