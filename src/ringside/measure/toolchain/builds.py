"""Builds of contenders, kept by the content of the sources, the receipt and the commands; and the watch over
their files during a run: programs run as the user who measures, and may change those of another."""

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from ringside.errors import BuildError
from ringside.files import FileLock
from ringside.measure.toolchain.receipts import brought, end_all, expand, find_receipt, remedy, run_group
from ringside.model.catalogue import Contender, Ready, Receipt, Runtime, Unavailable
from ringside.probe import kernel
from ringside.text import one_line

# Some twenty times what the longest of ours takes on two cores.
BUILD_TIMEOUT_S = 600.0
# Compilers use several CPUs in some of their phases only.
BUILDS_AT_A_TIME = 2
_POLL_S = 0.05
_DONE = ".built"
# Texts that package managers print, and the remedy for each.
_WAYS_OUT = (
    (
        r"could not resolve|name resolution|network is unreachable|no such host|unknown host|dns error"
        r"|connection refused|failed to establish a new connection|EAI_AGAIN|ENOTFOUND|ECONNREFUSED",
        "this build needs a network: connect this machine and run again",
    ),
    (
        r"EINTEGRITY|are in sync|--locked was passed|do not match the hashes|hash mismatch|checksum mismatch"
        r"|checksum validation failed|verify the checksum",
        "the lock file does not match its packages: restore the contender's folder, or lock anew",
    ),
)

# How a build's output says what to do.
_REMEDY = re.compile(r"^remedy: (.+)$", re.MULTILINE)
_MAX_PATH = 300
# By path, the inode, size, mode and times of a file: a file that was changed has others.
Stamps = Mapping[str, tuple[int, ...]]


class Toolchain:
    """Receipts and builds of contenders, below one folder (`.ringside/builds`). `on_build` is called before
    the build commands of a contender run, from any thread: they may take minutes."""

    def __init__(self, builds: Path, on_build: Callable[[Contender], None] | None = None) -> None:
        self.builds = builds
        self._on_build = on_build
        # Whether apt's lists of packages were fetched.
        self.has_package_lists = False
        self._receipts: dict[tuple[object, ...], Receipt | str] = {}
        self._is_interrupted = Event()

    def receipt(self, runtime: Runtime) -> Receipt | str:
        """The receipt of a runtime, or in words why there is none. Looked for once for each runtime."""
        key = (runtime.executable, runtime.version, runtime.minimum, runtime.locate)
        if key not in self._receipts:
            self._receipts[key] = find_receipt(runtime)
        return self._receipts[key]

    def forget_receipts(self) -> None:
        """Look for each runtime anew: some may have been installed."""
        self._receipts.clear()

    def prepare(self, contender: Contender, program: str = "") -> Ready | Unavailable:
        """`prepare_all` for one contender."""
        [prepared] = self.prepare_all([contender], program)
        return prepared

    def _prepare(self, contender: Contender, program: str) -> Ready | Unavailable:
        receipt = self.receipt(contender.runtime)
        if isinstance(receipt, str):
            return Unavailable(contender, receipt, remedy(contender.runtime))
        own = None if contender.runtime.brings else receipt
        try:
            content = content_hash(contender, receipt)
        except OSError as error:
            why = f"{error.filename or 'a source'} cannot be read: {error.strerror}"
            return Unavailable(contender, one_line(why, _MAX_PATH), "make it readable", receipt=own)
        whole = self._folder(contender, content)
        build = whole.with_name(f"{whole.name}-{program}")
        has_parts = any("{workload}" in word for command in contender.builds for word in command)
        if not (program and has_parts) or ((whole / _DONE).exists() and not build.exists()):
            build, program = whole, ""
        try:
            self._build(contender, receipt, build.resolve(), program)
        except BuildError as error:
            log: Path | None = None
            if error.log:
                with suppress(OSError):
                    _log_file(build).write_text(error.log, encoding="utf-8")
                    log = _log_file(build)
            return Unavailable(contender, str(error), _way_out(error, log), error.log, own)
        if contender.runtime.brings:
            receipt = brought(contender.runtime, build.resolve())
            if isinstance(receipt, str):
                (build / _DONE).unlink(missing_ok=True)
                # npm silently skips optional packages for other machines, and those that it cannot download.
                reason = f"its build brings no runtime for this machine ({os.uname().machine}): {receipt}"
                return Unavailable(contender, reason, "connect it to a network and run again")
        return Ready(contender, receipt, build.resolve(), content, program)

    def prepare_all(
        self, contenders: Iterable[Contender], program: str = ""
    ) -> Generator[Ready | Unavailable, None, None]:
        """Receipts and builds of contenders, in their order; builds only the missing parts, side by side, and
        ends what builds leave behind. `program`: a workload; its program alone is built if that is possible,
        unless all are there."""
        builds: list[Future[Ready | Unavailable]] = []
        with kernel.adopted() as others, ThreadPoolExecutor(BUILDS_AT_A_TIME) as threads:
            try:
                for each in contenders:
                    builds.append(threads.submit(self._prepare, each, program))
                yield from (build.result() for build in builds)
            except BaseException:  # An interrupt must not wait for builds.
                threads.shutdown(wait=False, cancel_futures=True)
                self._is_interrupted.set()
                # Again and again: a thread may be about to begin a command.
                while not all(build.done() for build in builds):
                    end_all()
                    time.sleep(_POLL_S)
                self._is_interrupted.clear()
                raise
            finally:
                kernel.end_all_but(others)

    def installed(self, contender: Contender, receipt: Receipt) -> Receipt | None:
        """A contender's runtime, or the one that its build brings; None if that is not built, or a source
        cannot be read."""
        if not contender.runtime.brings:
            return receipt
        try:
            build = self._folder(contender, content_hash(contender, receipt)).resolve()
        except OSError:
            return None
        own = brought(contender.runtime, build) if (build / _DONE).exists() else None
        return own if isinstance(own, Receipt) else None

    def _folder(self, contender: Contender, content: str) -> Path:
        return self.builds / f"{contender.built_as or contender.name}-{content[:12]}"

    def _build(self, contender: Contender, receipt: Receipt, build: Path, program: str) -> None:
        try:
            self.builds.mkdir(parents=True, exist_ok=True)
            # Two runs at the same time build a contender once.
            with self._locked(self.builds / f"{build.name}.lock"):
                if (build / _DONE).exists():
                    return
                shutil.rmtree(build, ignore_errors=True)
                build.mkdir()
                if contender.builds and self._on_build:
                    self._on_build(contender)
                names = {"runtime": receipt.executable, "build": str(build)}
                log = ""
                for command in contender.builds:
                    programs = [program] if program else contender.programs
                    steps = [expand(command, names | {"workload": name}) for name in programs]
                    # A command that does not name the workload is run once.
                    for step in steps if steps[0] != steps[-1] else steps[:1]:
                        log += run_build(step, contender.folder, log)
                # The marker comes last: a build that was interrupted is made again.
                (build / _DONE).write_text(log, encoding="utf-8")
                _log_file(build).unlink(missing_ok=True)
        except OSError as error:
            raise BuildError(f"the build in {build} failed: {error.strerror or error}") from error

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        """Hold a lock. Raises BuildError if an interrupt came before it was free."""
        lock = FileLock(path)
        while not lock.acquire(_POLL_S):
            if self._is_interrupted.is_set():
                raise BuildError("interrupted")
        try:
            yield
        finally:
            lock.release()


def _log_file(build: Path) -> Path:
    return build.with_name(f"{build.name}.log")


def _way_out(error: BuildError, log: Path | None) -> str:
    """The remedy for a failed build whose output is in `log`."""
    if own := _REMEDY.search(error.log):
        return one_line(own[1], 300)
    for printed, way_out in _WAYS_OUT:
        if re.search(printed, error.log, re.IGNORECASE):
            return way_out + (f"; {log} has its output" if log else "")
    if isinstance(error.__cause__, subprocess.TimeoutExpired):
        return f"find in {log} what it waits for" if log else "find out what it waits for"
    return f"fix the error in {log} and run again" if log else "fix this and run again"


def content_hash(contender: Contender, receipt: Receipt) -> str:
    """A hash over everything that determines a build: sources, commands, receipt."""
    digest = hashlib.sha256()

    def add(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "big") + data)

    # A lock file decides which packages a package manager brings, whatever its own version.
    own = () if contender.runtime.brings else (receipt.executable, receipt.version, receipt.text)
    add(contender.runtime.name, *own, *contender.runtime.brings)
    for command in contender.builds:
        add(*command)
    for name, data in source_files(contender).items():
        add(name, data)
    if not contender.has_sources:
        for word in next(iter(contender.workloads.values())).command:
            add(word, *([Path(word).read_bytes()] if Path(word).is_file() else []))
    return digest.hexdigest()


def source_files(contender: Contender) -> dict[str, bytes]:
    """A contender's files, by path, without what tools leave; none of a command. Raises OSError."""
    return {str(path.relative_to(contender.folder)): path.read_bytes() for path in source_paths(contender)}


def watched_paths(ready: Ready) -> list[Path]:
    """The files that define a contender, except its build: its sources; for a contender that is only a
    command, the program, and the files that its words name."""
    if ready.contender.has_sources:
        return source_paths(ready.contender)
    words = next(iter(ready.contender.workloads.values())).command
    return [Path(ready.receipt.executable), *(Path(word) for word in words if Path(word).is_file())]


def is_unchanged(ready: Ready) -> bool:
    """Whether the content of a contender is still that with which it was made ready. Raises OSError."""
    runtime = ready.contender.runtime
    # The receipt of a program without a version is its content.
    receipt = ready.receipt if runtime.version else find_receipt(runtime)
    return not isinstance(receipt, str) and content_hash(ready.contender, receipt) == ready.content


def source_paths(contender: Contender) -> list[Path]:
    """The files that `source_files` reads, sorted."""
    paths = []
    for parent, folders, files in os.walk(contender.folder) if contender.has_sources else []:
        # Files that tools make are not even looked at: there may be thousands of them, at each trial.
        folders[:] = [name for name in folders if not _is_left_behind(name)]
        paths += [Path(parent, name) for name in files if not _is_left_behind(name)]
    return sorted(path for path in paths if path.is_file())


def _is_left_behind(name: str) -> bool:
    return name.startswith(".") or name in ("__pycache__", "target") or name.endswith((".pyc", ".beam"))


def has_build(ready: Ready) -> bool:
    """Whether the build of a contender is there as a whole."""
    return (ready.build / _DONE).exists()


def discard(ready: Ready) -> None:
    """Have the next use of a build make it anew. Does nothing if its folder cannot be written."""
    with suppress(OSError):
        (ready.build / _DONE).unlink(missing_ok=True)


def rebuild(ready: Ready) -> None:
    """Make a build anew. Raises BuildError."""
    discard(ready)
    again = Toolchain(ready.build.parent).prepare(ready.contender, program=ready.program)
    if isinstance(again, Unavailable):
        raise BuildError(again.reason, again.log)


def run_build(command: Sequence[str], folder: Path, log: str = "", timeout_s: float | None = None) -> str:
    """Run one build command in a folder; what it printed. Raises BuildError, whose log begins with `log`."""
    shown, timeout_s = " ".join(command), timeout_s or BUILD_TIMEOUT_S
    try:
        output, status = run_group(command, folder, timeout_s)
    except OSError as error:
        raise BuildError(f"cannot be built: `{command[0]}`: {error.strerror}", log) from error
    except subprocess.TimeoutExpired as error:
        printed = f"$ {shown}\n{(error.output or b'').decode(errors='replace')}"
        text = f"cannot be built: `{command[0]}` took over {timeout_s:.0f} s"
        raise BuildError(text, log + printed) from error
    printed = f"$ {shown}\n{output}"
    if status != 0:
        raise BuildError(f"cannot be built: `{command[0]}` ended with {status}", log + printed)
    return printed


class FileWatch:
    """Compares a contender's files by inode, size, mode and times. It may change its build: HOME is there."""

    def __init__(self, ready: Ready) -> None:
        self.ready = ready
        self._sources = _stamps(watched_paths(ready))
        self.end_trial()

    def end_trial(self) -> None:
        """After each trial of the contender."""
        self._build = _stamps_below(self.ready.build)

    def changed_sources(self) -> str | None:
        """The reason why the contender differs from the one at the start of the run, or None."""
        stamps = _stamps(watched_paths(self.ready))
        if stamps == self._sources:
            return None
        with suppress(OSError):
            if is_unchanged(self.ready):
                self._sources = stamps
                return None
        paths = sorted(stamps.keys() | self._sources.keys())
        path = next(each for each in paths if stamps.get(each) != self._sources.get(each))
        what = "its sources have" if self.ready.contender.has_sources else "its program has"
        return f"{what} changed since the run began: {one_line(path, _MAX_PATH)}"

    def mend_build(self) -> str | None:
        """Build anew what another program changed; a sentence that says so, or None. Raises BuildError."""
        if self._build == _stamps_below(self.ready.build) and has_build(self.ready):
            return None
        try:
            rebuild(self.ready)
        except BuildError as error:
            raise BuildError(f"its build was changed, and cannot be built again: {error}") from error
        self.end_trial()
        return "its build was changed, and was built again"

    def discard_changed(self) -> None:
        """At the end of a run: the next makes the build anew if it changed after the last trial."""
        if self._build != _stamps_below(self.ready.build):
            discard(self.ready)


def _stamps(paths: Iterable[Path]) -> Stamps:
    stamps = {}
    for path in paths:
        # A file may go away meanwhile.
        with suppress(OSError):
            stamps[str(path)] = _stamp(path.lstat())
    return stamps


def _stamps_below(folder: Path) -> Stamps:
    """The stamps of all files below a folder, links included. Taken before and after each trial of a
    contender: a build may have thousands of files, so no object is made for each."""
    stamps, pending = {}, [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    continue
                with suppress(OSError):
                    stamps[entry.path] = _stamp(entry.stat(follow_symlinks=False))
    return stamps


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    return state.st_ino, state.st_size, state.st_mode, state.st_mtime_ns, state.st_ctime_ns
