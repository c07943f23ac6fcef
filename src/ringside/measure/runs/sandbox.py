"""Contenders under bubblewrap (`run --sandbox`): of the host's files they see the system's, read-only, and
those that they need. /tmp and /dev are private, no other process is visible, and a program that is no server
has its own network, with only a loopback."""

import os
import pwd
import shutil
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from ringside.errors import UsageError
from ringside.probe.protocol import TrialRequest

PROGRAM = "bwrap"
_TEMPORARY = "/tmp"
_SETTINGS = Path("/etc")
# The parts of a system on which programs run. Nothing else of the host is visible: neither /run, where
# services have their sockets, nor anybody's home.
_SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/nix/store", "/gnu/store"),
    *("/etc", "/var/lib/gems", "/var/lib/ghc"),
    # CPUs, limits and huge pages, which runtimes look at.
    *("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"),
)


def check() -> None:
    """Raise UsageError if bubblewrap is not installed."""
    if not shutil.which(PROGRAM):
        raise UsageError("--sandbox needs bubblewrap: apt-get install bubblewrap")


def sandboxed(request: TrialRequest, readable: Sequence[Path], runtime: str | None = None) -> TrialRequest:
    """The request with its program inside a sandbox, whose environment differs in HOME and TMPDIR only.
    `readable`: what it reads; `runtime`: the executable that it runs on, perhaps in somebody's home."""
    program = shutil.which(PROGRAM) or PROGRAM
    programs = {name for name in (request.argv[0], runtime) if name and os.path.isabs(name)}
    needed = dict.fromkeys(chain(readable, *(installation(name) for name in sorted(programs))))
    # The probe drives a server over the host's loopback.
    network = [] if request.service else ["--unshare-net"]
    options = [
        *_system(),
        *("--dev", "/dev"),
        *("--proc", "/proc"),
        *("--tmpfs", _TEMPORARY),
        *("--symlink", _TEMPORARY, "/var/tmp"),
        *(word for path in needed for word in ("--ro-bind", str(path), str(path))),
        *("--remount-ro", "/"),
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *network,
        *("--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session"),
        *("--chdir", request.cwd),
    ]
    changed = {name: _TEMPORARY for name in ("HOME", "TMPDIR") if name == "HOME" or name in request.env}
    return msgspec.structs.replace(
        request,
        argv=(*_without_groups(), program, *options, "--", *request.argv),
        env={**request.env, **changed},
        # /tmp is private, and goes with the sandbox.
        temporary=False,
    )


def _without_groups() -> Sequence[str]:
    """Root can give up its supplementary groups; to others the kernel does not allow it."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or not set(os.getgroups()) - {0} or not setpriv:
        return ()
    return (setpriv, "--clear-groups", "--")


@cache
def _system() -> tuple[str, ...]:
    """Options that show the system's files, without settings that only some users may read: root would read
    them without any capability, since they are root's own."""
    words: list[str] = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    for path in unreadable_for_others(_SETTINGS):
        words += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", os.devnull, str(path)]
    return tuple(words)


def unreadable_for_others(folder: Path) -> Iterator[Path]:
    """Files and folders below a folder that not everybody may read, such as /etc/shadow."""
    for parent, folders, files in os.walk(folder):
        hidden = [name for name in folders if not _is_public(Path(parent, name), stat.S_IROTH | stat.S_IXOTH)]
        folders[:] = [name for name in folders if name not in hidden]
        hidden += [name for name in files if not _is_public(Path(parent, name), stat.S_IROTH)]
        yield from (Path(parent, name) for name in sorted(hidden))


def _is_public(path: Path, bits: int) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True  # It has just gone.
    # What a link leads to has a mode of its own.
    return stat.S_ISLNK(mode) or mode & bits == bits


def installation(program: str) -> Iterator[Path]:
    """The installation's folders of an executable outside of the system, at each link on the way to it."""
    for path in _links(program):
        if not any(path.is_relative_to(each) for each in _SYSTEM):
            yield from (each for each in _parts(path) if each.exists())


def _links(program: str) -> Iterator[Path]:
    path = program
    # The kernel follows as many.
    for _ in range(40):
        yield Path(path)
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    yield Path(os.path.realpath(program))


def _parts(program: Path) -> tuple[Path, ...]:
    """An installation is `PREFIX/bin/PROGRAM`. Where the prefix is a home, or a hidden folder of one such as
    ~/.local and ~/.cargo, it has much that is none of the program's business."""
    folder = program.parent
    if folder.name not in ("bin", "sbin"):
        return (program,) if _is_personal(folder) else (folder,)
    prefix = folder.parent
    return (folder, prefix / "lib") if _is_personal(prefix) else (prefix,)


def _is_personal(folder: Path) -> bool:
    """Whether a folder holds several installations: a home, a hidden folder in one, or one of the root's."""
    homes = _homes()
    hidden = folder.name.startswith(".") and (folder.parent in homes or folder.parent.parent == Path("/home"))
    return hidden or folder in homes or len(folder.parts) <= 2 or folder.parent == Path("/home")


@cache
def _homes() -> frozenset[Path]:
    own = os.environ.get("HOME")
    return frozenset(Path(entry.pw_dir) for entry in pwd.getpwall()) | ({Path(own)} if own else set())
