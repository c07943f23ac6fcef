"""Runtimes that are scripts, and a contender on one."""

from pathlib import Path

from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Ready, Runtime, Unavailable, WorkloadEntry


def script(path: Path, text: str) -> Path:
    """A program that a shell carries out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def runtime(*executable: str | Path, minimum: str | None = None, locate: tuple[str, ...] = ()) -> Runtime:
    names = tuple(map(str, executable))
    return Runtime(
        name="r",
        executable=names,
        version=("{runtime}", "--version"),
        minimum=minimum,
        locate=locate,
        install={"debian": ("thing",)},
    )


def contender(folder: Path, one: Runtime, *builds: tuple[str, ...]) -> Contender:
    folder.mkdir(exist_ok=True)
    (folder / "main.txt").write_text("source", encoding="utf-8")
    entry = WorkloadEntry(("{build}/thing",))
    return Contender(
        name="thing", folder=folder, title="T", runtime=one, workloads={"ring": entry}, builds=builds
    )


def ready_of(tools: Toolchain, of: Contender) -> Ready:
    ready = tools.prepare(of)
    assert isinstance(ready, Ready), ready
    return ready


def unavailable_of(tools: Toolchain, of: Contender) -> Unavailable:
    unavailable = tools.prepare(of)
    assert isinstance(unavailable, Unavailable)
    return unavailable
