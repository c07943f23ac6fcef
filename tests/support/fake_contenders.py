"""Contenders that only pretend, as folders with a manifest (tests/fakes)."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support import TESTS

FAKES = TESTS / "fakes"
# By its path: to look through a PATH takes long where versions of Python have launchers there.
PYTHON = os.path.realpath(sys.executable)
# The result of the fixtures `add_fake` and `add_experiment`.
Add = Callable[..., None]


def write_fake(folder: Path, how: str = "good", *more: str) -> None:
    """A contender of the ring that is fine but for `how`. `more`: further arguments of its program."""
    folder.mkdir(parents=True)
    for program in ("fake.py", "attacks.py"):
        shutil.copy(FAKES / program, folder)
    words = ", ".join(f'"{word}"' for word in (f"how={how}", *more))
    manifest = (FAKES / "contender.toml").read_text(encoding="utf-8")
    manifest = manifest.replace('"PYTHON"', f'"{PYTHON}"').replace('"how=HOW"', words)
    (folder / "contender.toml").write_text(manifest, encoding="utf-8")
    (folder / "README.md").write_text(f"# {folder.name}\n", encoding="utf-8")


def write_server(folder: Path, *words: str) -> None:
    """A contender of `fib` that does what the first word says (tests/fakes/server.py)."""
    folder.mkdir(parents=True)
    shutil.copy(FAKES / "server.py", folder)
    (folder / "README.md").write_text(f"# {folder.name}\n", encoding="utf-8")
    arguments = ", ".join(f'"{word}"' for word in words)
    (folder / "contender.toml").write_text(
        'title = "A fake"\nfamily = "threads"\nmodel = "none"\nqueue = "none"\n[runtime.python]\n'
        f'executable = ["{PYTHON}"]\nversion = ["{{runtime}}", "-c", "print(1)"]\n'
        f'[workload.fib]\ncommand = ["{{runtime}}", "-B", "server.py", {arguments}]\n',
        encoding="utf-8",
    )


def manifest_of(workplace: Path, name: str) -> Path:
    """The manifest of a contender in the workplace's own catalogue."""
    return workplace / "contenders" / name / "contender.toml"


def edit(file: Path, *changes: tuple[str, str]) -> None:
    """Replace texts that a file has."""
    text = file.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")


def append(file: Path, text: str) -> None:
    """Add a text to the end of a file."""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


def change_workload(manifest: Path, workload: str) -> None:
    """Make a fake of the ring one of another workload, without capabilities."""
    edit(manifest, ("[workload.ring]", f"[workload.{workload}]"))
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(re.sub(r"capabilities = .*\n", "", text), encoding="utf-8")


def add_build(folder: Path, *command: str) -> None:
    """Add a build step to a contender."""
    append(folder / "contender.toml", f"\n[[build]]\ncommand = {json.dumps(command)}\n")
