#!/usr/bin/env python3
"""What a new user sees of `make showdown`, in a fresh clone of the last commit: first with empty caches of
cargo, Go, pip and uv, then with full ones. Prints when the first table appears and when all have appeared,
the CPU time of all processes, the longest silence, the lines that stay on a terminal, and how many
comparisons are decided. Arguments: `cold`, `warm` (default: both), `here` (this folder and its caches as they
are), or a Debian suite, as in `first_minute.py bookworm`: a minimal system, where apt fetches the runtimes
(scripts/clean_root; as root). Needs only Python. The exit status is 1 if a target is missed."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 100
MOST_LINES = 120
# Seconds to the first table and to the end.
TARGETS_S, FETCHED_TARGETS_S = (60, 360), (180, 540)
CACHES = ("CARGO_HOME", "GOCACHE", "GOMODCACHE", "PIP_CACHE_DIR", "UV_CACHE_DIR", "npm_config_cache")
_CODE = re.compile(rb"\x1b\[(\d*)(?:;\d+)*([A-Za-z])|\x1b\[\?\d+[hl]")


class Screen:
    """The lines that stay on a terminal of unlimited height."""

    def __init__(self) -> None:
        self.lines = [""]
        self._row = 0
        self._column = 0

    def write(self, data: bytes) -> None:
        for index, text in enumerate(re.split(rb"(\x1b\[[?\d;]*[A-Za-z]|[\r\n])", data)):
            if index % 2 == 0:
                line, word = self.lines[self._row], text.decode(errors="replace")
                end = self._column + len(word)
                self.lines[self._row] = line[: self._column].ljust(self._column) + word + line[end:]
                self._column = end
            elif text == b"\r":
                self._column = 0
            elif text == b"\n":
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif (code := _CODE.fullmatch(text)) and code[2] == b"A":
                self._row = max(0, self._row - int(code[1] or 1))
            elif code and code[2] == b"K":
                self.lines[self._row] = "" if code[1] == b"2" else self.lines[self._row][: self._column]

    def count(self) -> int:
        """The lines after the terminal's line breaks, without empty ones at the end."""
        text = "\n".join(self.lines).rstrip()
        return sum(max(1, -(-len(line) // COLUMNS)) for line in text.split("\n")) if text else 0


def showdown(folder: Path, environment: dict[str, str], targets_s: tuple[int, int]) -> bool:
    """Runs `make showdown` on a terminal; records its tables and progress separately. Returns whether it
    meets its targets."""
    (tables, tables_end), (progress, progress_end) = pty.openpty(), pty.openpty()
    screens = {tables: Screen(), progress: Screen()}
    cpu_before, begun = os.times(), time.monotonic()
    process = subprocess.Popen(
        ["make", "--no-print-directory", "showdown"],
        cwd=folder,
        env={**environment, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=tables_end,
        stderr=progress_end,
    )
    os.close(tables_end)
    os.close(progress_end)
    open_streams, last, first_s, silence_s = {*screens}, begun, None, 0.0
    while open_streams:
        for stream in select.select([*open_streams], [], [])[0]:
            try:
                data = os.read(stream, 65536)
            except OSError:  # The last process that wrote to it has ended.
                open_streams.remove(stream)
                continue
            now = time.monotonic()
            silence_s, last = max(silence_s, now - last), now
            if stream == tables and first_s is None:
                first_s = now - begun
            screens[stream].write(data)
    status, total_s, cpu = process.wait(), time.monotonic() - begun, os.times()
    cpu_s = sum(cpu[2:4]) - sum(cpu_before[2:4])
    lines = sum(screen.count() for screen in screens.values())
    print("\n".join(screens[progress].lines).rstrip(), "\n".join(screens[tables].lines).rstrip(), sep="\n")
    print(
        f"\nfirst table after {first_s or total_s:.0f} s (target {targets_s[0]}), all after {total_s:.0f} s "
        f"(target {targets_s[1]}); CPU {cpu_s:.0f} s; status {status}"
    )
    print(
        f"longest silence {silence_s:.1f} s; {lines} lines (target {MOST_LINES}); {_decided(folder)}",
        flush=True,
    )
    return first_s is not None and first_s <= targets_s[0] and total_s <= targets_s[1] and lines <= MOST_LINES


def _decided(folder: Path) -> str:
    """How many comparisons of the last suite have a verdict, by part."""
    shown = subprocess.run(
        [folder / ".venv/bin/ringside", "show", "showdown", "--json"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if not shown.stdout:
        return "no comparisons"
    document = json.loads(shown.stdout)
    parts = []
    for run in document.get("runs", [document]):
        headline = {(each["metric"]) for each in run["ranks"]}
        verdicts = [each["verdict"] for each in run["comparisons"] if each["metric"] in headline]
        decided = sum(verdict != "inconclusive" for verdict in verdicts)
        parts.append((run["workload"], decided, len(verdicts)))
    total = f"{sum(part[1] for part in parts)} of {sum(part[2] for part in parts)} comparisons are decided"
    return f"{total} ({', '.join(f'{name} {decided}/{count}' for name, decided, count in parts)})"


def main() -> int:
    modes = sys.argv[1:] or ["cold", "warm"]
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    is_met = True
    with tempfile.TemporaryDirectory(prefix="first-minute-") as name:
        place = Path(name)
        environment |= {cache: str(place / cache.lower()) for cache in CACHES} | {"GOFLAGS": "-modcacherw"}
        for mode in modes:
            print(f"== {mode}", flush=True)
            if mode == "here":
                targets_s = FETCHED_TARGETS_S if os.environ.get("FETCHED") else TARGETS_S
                is_met &= showdown(ROOT, dict(os.environ), targets_s)
            elif mode in ("cold", "warm"):
                clone = place / "clone"
                shutil.rmtree(clone, ignore_errors=True)
                subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
                is_met &= showdown(clone, environment, TARGETS_S)
            else:
                is_met &= subprocess.run([ROOT / "scripts/clean_root", mode, "first_minute"]).returncode == 0
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
