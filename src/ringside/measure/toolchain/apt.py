"""Installs runtimes by apt, which may know a release with a newer version than its own choice."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ringside.measure import host
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import at_least, entry_of_system, has_apt, version_of
from ringside.model.catalogue import Contender, Runtime
from ringside.model.design import grouped

# Networks fail now and then.
_TRIES = 3
_PAUSE_S = 5.0
# The output of apt-get goes here, below the folder of the store and the builds.
LOG = "setup.log"

# `thing | 2:1.19~1 | http://deb.debian.org/debian bookworm/main amd64 Packages`
_SOURCE = re.compile(
    r"^ *\S+ \| *(?P<version>\S+) \| \S+ (?P<release>[^\s/]+)/\S+ \S+ Packages$", re.MULTILINE
)


class Package(NamedTuple):
    """A package for `apt-get install`; `release`: for `-t`, empty if apt's own choice will do."""

    name: str
    release: str = ""


def packages_of(runtime: Runtime) -> tuple[Package, ...]:
    """The packages that bring a runtime on this system. The first one is taken from the release that has it
    in a version that the runtime asks for, where apt's own choice is older. Empty if the manifest has
    instructions for this system instead, and no release helps."""
    names = entry_of_system(runtime.install)
    if not names:
        return ()
    release = newer_release(names[0], runtime.minimum) if runtime.minimum else ""
    if not release and entry_of_system(runtime.instructions) is not None:
        return ()
    return (Package(names[0], release), *map(Package, names[1:]))


def newer_release(package: str, minimum: str) -> str:
    """The release with the oldest version of a package that is not below `minimum`; empty if no release
    has one that is below it, or none has another. Versions are upstream versions."""

    def is_new_enough(version: str) -> bool:
        upstream = version_of(version.rpartition(":")[2])
        return upstream is not None and at_least(upstream, minimum)

    # The newest version comes first.
    sources = [*_SOURCE.finditer(host.output_of("apt-cache", "madison", package))]
    able = [each["release"] for each in sources if is_new_enough(each["version"])]
    return able[-1] if 0 < len(able) < len(sources) else ""


def install_missing(
    contenders: Sequence[Contender], toolchain: Toolchain, say: Callable[[str], None]
) -> None:
    """Install the packages of runtimes that have no receipt, where there is an apt-get and this is root;
    without root, say with which commands. Elsewhere each contender's remedy says what to install."""
    missing = [each for each in contenders if isinstance(toolchain.receipt(each.runtime), str)]
    wanted = packages_for(missing) if has_apt() else []
    if not wanted:
        return
    if os.geteuid() != 0:
        for command in commands(wanted):
            say(f"missing runtimes; get them with: sudo apt-get install -y {command}")
        return
    say(f"installing runtimes with apt-get: {', '.join(commands(wanted))}")
    log = toolchain.builds.parent / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    if not toolchain.has_package_lists:
        apt_get(log, "update", "-qq", tries=_TRIES)
        toolchain.has_package_lists = True
    # Newer lists may have versions that are new enough.
    packages = packages_for(missing)
    install = ("install", "-y", "-qq", "--no-install-recommends")
    if not all(apt_get(log, *install, *command.split()) for command in commands(packages)):
        for package in packages:
            # One by one: a package that this system lacks must not keep the others out.
            if not apt_get(log, *install, *commands([package])[0].split(), tries=_TRIES):
                say(f"{package.name} could not be installed: {log} has the output of apt-get")
    toolchain.forget_receipts()


def packages_for(contenders: Sequence[Contender]) -> list[Package]:
    """The packages that contain the runtimes of these contenders, each package once."""
    # Each runtime is asked for once: apt takes a moment.
    runtimes = {repr(each.runtime): each.runtime for each in contenders}
    return sorted({package for runtime in runtimes.values() for package in packages_of(runtime)})


def commands(packages: Sequence[Package]) -> list[str]:
    """The arguments of `apt-get install`, one text for each release."""
    by_release = grouped((package.release, package.name) for package in packages)
    return [
        " ".join([*(["-t", release] if release else []), *names]) for release, names in by_release.items()
    ]


def apt_get(log: Path, *words: str, tries: int = 1) -> bool:
    """Whether apt-get succeeded in one of several tries; its output is added to the log."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE_S)
        with log.open("ab") as file:
            status = subprocess.call(
                ["apt-get", *words], stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment
            )
        if status == 0:
            return True
    return False
