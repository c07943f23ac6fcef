"""Version receipts and builds. No receipt, no measurement: a runtime that does not tell its version in
time is not there. Builds are kept by the content of the sources, the receipt and the commands."""

from __future__ import annotations

import fcntl
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ringside.errors import BuildError
from ringside.model.catalogue import Contender, Ready, Receipt, Runtime, Unavailable

VERSION_TIMEOUT_S = 60.0
BUILD_TIMEOUT_S = 3600.0
_DONE = ".built"


class Toolchain:
    """Receipts and builds of contenders, below one folder (`.ringside/builds`)."""

    def __init__(self, builds: Path) -> None:
        self.builds = builds
        self._receipts: dict[tuple[object, ...], Receipt | str] = {}

    def receipt(self, runtime: Runtime) -> Receipt | str:
        """The receipt of a runtime, or in words why there is none. Asked once for each runtime."""
        key = (runtime.executable, runtime.version, runtime.minimum, runtime.locate)
        if key not in self._receipts:
            self._receipts[key] = find_receipt(runtime)
        return self._receipts[key]

    def prepare(self, contender: Contender) -> Ready | Unavailable:
        """Receipt and build of a contender; builds only what is not there already."""
        receipt = self.receipt(contender.runtime)
        if isinstance(receipt, str):
            return Unavailable(contender, receipt, remedy(contender.runtime))
        content = content_hash(contender, receipt)
        build = (self.builds / f"{contender.name}-{content[:12]}").resolve()
        try:
            self._build(contender, receipt, build)
        except BuildError as error:
            return Unavailable(contender, str(error), "see the log, mend it, and run again", error.log)
        return Ready(contender, receipt, build, content)

    def is_built(self, contender: Contender, receipt: Receipt) -> bool:
        content = content_hash(contender, receipt)
        return (self.builds / f"{contender.name}-{content[:12]}" / _DONE).exists()

    def _build(self, contender: Contender, receipt: Receipt, build: Path) -> None:
        try:
            self.builds.mkdir(parents=True, exist_ok=True)
            with _locked(self.builds / f"{build.name}.lock"):
                if (build / _DONE).exists():
                    return
                shutil.rmtree(build, ignore_errors=True)
                build.mkdir()
                names = {"runtime": receipt.executable, "build": str(build)}
                log = "".join(
                    run_build(expand(command, names), contender.folder) for command in contender.builds
                )
                # The marker comes last: a build that was cut off is made anew.
                (build / _DONE).write_text(log, encoding="utf-8")
        except OSError as error:
            raise BuildError(f"the build in {build} failed: {error.strerror or error}") from error


def expand(command: Sequence[str], names: Mapping[str, object]) -> list[str]:
    """The command with `{name}` replaced; braces around anything else stay as they are."""
    return [
        re.sub(r"\{([a-z_]+)\}", lambda match: str(names.get(match[1], match[0])), word) for word in command
    ]


def candidates(names: Sequence[str]) -> Iterator[str]:
    """Paths of executables for names and globs, in their order, each once."""
    seen: set[str] = set()
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for name in names:
        if "/" in name:
            found = sorted(glob.glob(name), reverse=True)
        else:
            found = [
                os.path.join(folder, entry)
                for folder in folders
                for entry in sorted(_listing(folder), reverse=True)
                if fnmatch.fnmatchcase(entry, name)
            ]
        for path in found:
            if path not in seen and os.access(path, os.X_OK) and not os.path.isdir(path):
                seen.add(path)
                yield path


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def version_of(text: str) -> str | None:
    """The first thing in a version text that looks like a version: digits with dots."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    return match[0] if match else None


def at_least(version: str, minimum: str) -> bool:
    """Whether a dotted version is not below another one: `3.9` is below `3.11`."""

    def parts(text: str) -> list[int]:
        numbers = [int(part) for part in text.split(".")]
        return numbers + [0] * (8 - len(numbers))

    return parts(version) >= parts(minimum)


def find_receipt(runtime: Runtime) -> Receipt | str:
    """Try the executables in order until one gives a receipt and is new enough; else say why not."""
    reasons: list[str] = []
    for path in candidates(runtime.executable):
        names = {"runtime": path}
        text = _ask(expand(runtime.version, names))
        version = version_of(text) if text else None
        if not text or version is None:
            reasons.append(f"{path} tells no version")
            continue
        if runtime.minimum and not at_least(version, runtime.minimum):
            reasons.append(f"{path} is {version}, below {runtime.minimum}")
            continue
        executable = path
        if runtime.locate:
            located = (_ask(expand(runtime.locate, names)) or "").strip()
            if not os.access(located, os.X_OK):
                reasons.append(f"{path} does not tell where it really is")
                continue
            executable = located
        return Receipt(executable, version, " ".join(text.split())[:200])
    wanted = " or ".join(runtime.executable) + (f" {runtime.minimum} or newer" if runtime.minimum else "")
    return f"needs {wanted}: " + ("; ".join(reasons[:3]) if reasons else "not found")


def _ask(command: Sequence[str]) -> str | None:
    """What a command printed, or None when it failed or took too long. Its whole group is ended."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    except OSError:
        return None
    try:
        output, _ = process.communicate(timeout=VERSION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _end_group(process)
        return None
    return output.decode(errors="replace").strip() if process.returncode == 0 else None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def content_hash(contender: Contender, receipt: Receipt) -> str:
    """A hash over all that decides what a build is: sources, commands, receipt."""
    digest = hashlib.sha256()

    def add(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "big") + data)

    add(contender.runtime.name, receipt.executable, receipt.version, receipt.text)
    for command in contender.builds:
        add(*command)
    for name, data in source_files(contender.folder).items():
        add(name, data)
    return digest.hexdigest()


def source_files(folder: Path) -> dict[str, bytes]:
    """The files of a contender by their path inside its folder, without what tools leave behind."""
    files = {}
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        left = any(part.startswith(".") or part in ("__pycache__", "target") for part in inside.parts)
        if file.is_file() and not left and file.suffix not in (".pyc", ".beam"):
            files[str(inside)] = file.read_bytes()
    return files


def run_build(command: Sequence[str], folder: Path) -> str:
    """Run one build command in a folder; what it printed. Raises BuildError with that as its log."""
    shown = " ".join(command)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
        )
    except OSError as error:
        raise BuildError(f"cannot be built: `{command[0]}`: {error.strerror}") from error
    try:
        output, _ = process.communicate(timeout=BUILD_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _end_group(process)
        raise BuildError(f"cannot be built: `{shown}` took over {BUILD_TIMEOUT_S:.0f} s") from None
    except BaseException:
        _end_group(process)
        raise
    log = f"$ {shown}\n{output.decode(errors='replace')}"
    if process.returncode != 0:
        raise BuildError(f"cannot be built: `{command[0]}` ended with {process.returncode}", log)
    return log


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file: two runs at the same time build a contender once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def system_names() -> list[str]:
    """This system's names, most specific first, from /etc/os-release: `debian-12`, `debian`, or
    `ubuntu-24.04`, `ubuntu`, `debian`."""
    names: list[str] = []
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return names
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    release = {key: found.get(key, "").strip('"') for key in ("ID", "VERSION_ID", "ID_LIKE")}
    if release["ID"] and release["VERSION_ID"]:
        names.append(f"{release['ID']}-{release['VERSION_ID']}")
    return names + release["ID"].split() + release["ID_LIKE"].split()


def packages(runtime: Runtime) -> tuple[str, ...]:
    """The packages of this system that bring the runtime; empty where the manifest names none."""
    for name in system_names():
        if name in runtime.install:
            return runtime.install[name]
    return ()


def remedy(runtime: Runtime) -> str:
    """The command that gets a missing runtime, or who to ask."""
    if names := packages(runtime):
        sudo = "" if os.geteuid() == 0 else "sudo "
        return f"{sudo}apt-get install -y {' '.join(names)}"
    if runtime.install:
        names = next(iter(runtime.install.values()))
        return f"install {' '.join(runtime.executable)} (Debian: {' '.join(names)})"
    return f"install {' or '.join(runtime.executable)}"
