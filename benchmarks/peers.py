"""Builds the programs of `engine_peers/`: a floor, a server that freezes, a feed."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / ".ringside" / "engine-peers"


def peer(name: str) -> str:
    """The path of one of these programs."""
    _build()
    return str(BUILD / "release" / name)


@functools.cache
def _build() -> None:
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet"],
        cwd=HERE / "engine_peers",
        env={**os.environ, "CARGO_TARGET_DIR": str(BUILD)},
        check=True,
    )
