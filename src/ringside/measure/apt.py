"""What apt can install here: some releases that it knows have newer versions of a package than the one that
it would install by itself."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from ringside.measure.toolchain import at_least, entry_of_system, version_of
from ringside.model.catalogue import Runtime

# ` *** 2:1.19~1 500`: a version, below it where it comes from: `500 http://… bookworm/main amd64 Packages`.
_VERSION = re.compile(r"^ (?:\*\*\*|   ) (?P<version>\S+)(?: -?\d+)?$")
_SOURCE = re.compile(r"^ +-?\d+ \S+ (?P<release>[^\s/]+)/\S+ \S+ Packages$")
_CANDIDATE = re.compile(r"^ +Candidate: (?P<version>\S+)$")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """What `apt-get install` is told; `release`: with `-t`, empty where apt's own choice will do."""

    name: str
    release: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return ("-t", self.release, self.name) if self.release else (self.name,)


def packages_of(runtime: Runtime) -> tuple[Package, ...]:
    """The packages that bring a runtime on this system. The first one is taken from the release that has it
    in a version that the runtime asks for, where apt's own choice is older. Empty where the manifest has
    instructions for this system instead, and no release helps."""
    names = entry_of_system(runtime.install)
    if not names:
        return ()
    release = newer_release(names[0], runtime.minimum) if runtime.minimum else ""
    if not release and entry_of_system(runtime.instructions) is not None:
        return ()
    return (Package(names[0], release), *map(Package, names[1:]))


def newer_release(package: str, minimum: str) -> str:
    """The release with the oldest version of a package that is not below `minimum`; empty where apt's own
    choice is not below it either, and where no release has one. Versions are those of upstream."""
    candidate, by_version = _policy(package)
    if candidate and _is_new_enough(candidate, minimum):
        return ""
    # The newest version comes first.
    for version, release in reversed(by_version.items()):
        if _is_new_enough(version, minimum):
            return release
    return ""


def _is_new_enough(version: str, minimum: str) -> bool:
    upstream = version_of(version.rpartition(":")[2])
    return upstream is not None and at_least(upstream, minimum)


def _policy(package: str) -> tuple[str | None, dict[str, str]]:
    """The version that apt would install, and by version the first release that has it."""
    try:
        done = subprocess.run(
            ["apt-cache", "policy", package],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
            text=True,
            check=False,
        )
    except OSError:
        return None, {}
    candidate = version = None
    releases: dict[str, str] = {}
    for line in done.stdout.splitlines():
        if match := _CANDIDATE.match(line):
            candidate = match["version"]
        elif match := _VERSION.match(line):
            version = match["version"]
        elif version and (match := _SOURCE.match(line)):
            releases.setdefault(version, match["release"])
    return candidate, releases
