"""This machine: facts about it that are kept with every run, since they may explain its figures; its lock, as
two measurements at a time would disturb each other; and its executor, which has the probe do requests."""

import math
import os
import platform
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside import __version__
from ringside.errors import UsageError
from ringside.files import FileLock
from ringside.probe import kernel
from ringside.probe.process import Probe
from ringside.probe.protocol import TrialMessage, TrialRequest

# The checkout that holds this module, or a folder of the Python installation.
SOURCE_FOLDER = Path(__file__).resolve().parents[3]

_NO_TEXT = re.compile("[\ud800-\udfff]")  # What Python makes of bytes that are not UTF-8.
# Names another file for the lock: for runs that need not wait for each other, since each has its own CPUs.
LOCK_VARIABLE = "RINGSIDE_LOCK"
# Not TMPDIR: desktop sessions and cron set it differently, and all processes of a user need the same file.
_LOCK_FOLDER = Path("/tmp")


def facts(folder: Path = SOURCE_FOLDER, cpus: Sequence[int] = ()) -> dict[str, Any]:
    """Everything that is known of the machine, and ringside's version and revision, as JSON values. A fact
    that cannot be had on this machine is null. `folder`: where ringside's checkout may be. `cpus`: those of
    trials, if not all that this process may use."""
    cpu = _fields("/proc/cpuinfo")
    memory = _meminfo()
    pages = read_text("/sys/kernel/mm/transparent_hugepage/enabled")  # always [madvise] never
    # PSI: the share of the last ten seconds in which a task waited for a CPU, percent.
    pressure = re.search(r"avg10=([0-9.]+)", read_text("/proc/pressure/cpu"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {
        "cpu_model": cpu.get("model name") or cpu.get("Model") or platform.machine(),
        "cpus": os.cpu_count(),
        "cpus_usable": list(cpus) or sorted(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "hypervisor": (read_text("/sys/class/dmi/id/sys_vendor") or "vendor unknown")
        if "hypervisor" in cpu.get("flags", "").split()
        else None,
        "governor": read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        "turbo": {"0": "on", "1": "off"}.get(read_text("/sys/devices/system/cpu/intel_pstate/no_turbo")),
        "smt": read_text("/sys/devices/system/cpu/smt/control") or None,
        "kernel": platform.release(),
        "system": os_release().get("PRETTY_NAME") or platform.system(),
        "memory_bytes": memory.get("MemTotal"),
        "memory_available_bytes": memory.get("MemAvailable"),
        "swap_bytes": memory.get("SwapTotal"),
        "load_average": list(os.getloadavg()),
        "pressure_cpu": float(pressure[1]) if pressure else None,
        "transparent_hugepages": pages.partition("[")[2].partition("]")[0] or pages or None,
        "limits": {
            "descriptors_soft": soft,
            "descriptors_hard": hard,
            "threads_max": _number("/proc/sys/kernel/threads-max"),
            "max_map_count": _number("/proc/sys/vm/max_map_count"),
            "somaxconn": _number("/proc/sys/net/core/somaxconn"),
        },
        "python": platform.python_version(),
        "ringside": __version__,
        "revision": _revision(folder),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How this machine differs from the one of these facts, as texts; facts that are not known of both are
    left out. Trials of one run allow no difference."""
    fixed = ("cpu_model", "architecture", "kernel", "cpus_usable")
    known = [name for name in fixed if before.get(name) is not None and now.get(name) is not None]
    return [
        f"{name.replace('_', ' ')} {_short(before[name])}, here {_short(now[name])}"
        for name in known
        if before[name] != now[name]
    ]


def _short(fact: Any) -> str:
    return ",".join(map(str, fact)) if isinstance(fact, list) else str(fact)


@dataclass(frozen=True, slots=True)
class Quota:
    """A cgroup's limit of CPU time: `cpus` on average, and how often its processes were `stopped` by it."""

    cpus: float
    stopped: int


def quota(proc: Path = Path("/proc/self")) -> Quota | None:
    """The smallest quota of the cgroups that this process is in, of either version; None without any."""
    quotas = []
    mounts = [line.split() for line in read_text(proc / "mountinfo").splitlines()]
    for line in read_text(proc / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        kind = "cgroup" if controllers else "cgroup2"
        if controllers and "cpu" not in controllers.split(","):
            continue
        for fields in mounts:
            options = fields[-1].split(",")
            if fields[fields.index("-") + 1] != kind or (controllers and "cpu" not in options):
                continue
            # In a container the mount may begin below the root.
            inside = Path(path).relative_to(fields[3]) if Path(path).is_relative_to(fields[3]) else Path()
            top = Path(fields[4])
            quotas += [quota for folder in (inside, *inside.parents) if (quota := _quota(top / folder))]
    return min(quotas, key=lambda each: each.cpus, default=None)


def _quota(folder: Path) -> Quota | None:
    """The quota of one cgroup: `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1."""
    words = read_text(folder / "cpu.max").split()
    words = words or [read_text(folder / f"cpu.cfs_{each}_us") for each in ("quota", "period")]
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    fields = dict(line.split() for line in read_text(folder / "cpu.stat").splitlines())
    return Quota(int(words[0]) / int(words[1]), int(fields.get("nr_throttled", 0)))


def memory_available_bytes() -> int:
    """Memory that can be used without swapping."""
    return _meminfo().get("MemAvailable", 1 << 30)


def read_text(path: str | Path) -> str:
    """The text of a file of the system; empty if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    return int(text) if (text := read_text(path)).isdigit() else None


def _fields(path: str) -> dict[str, str]:
    """The values of a file of lines such as `MemTotal: 16 kB`; of keys that come again, the first."""
    lines = [line.partition(":") for line in read_text(path).splitlines() if ":" in line]
    return {key.strip(): value.strip() for key, _, value in reversed(lines)}


def _meminfo() -> dict[str, int]:
    sizes = _fields("/proc/meminfo").items()
    return {name: 1024 * int(size.removesuffix("kB")) for name, size in sizes if size.endswith(" kB")}


def os_release() -> dict[str, str]:
    """The entries of this system's os-release (`ID`, `PRETTY_NAME`); empty if there is no such file."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def is_checkout(folder: Path) -> bool:
    """Whether a folder holds ringside's own sources. An installed ringside may lie in another checkout."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return bool(project["name"] == "ringside")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _revision(folder: Path) -> str | None:
    """The git revision of ringside's checkout, with `+changes` where files differ from it. None if the
    folder is not ringside's own, or not under git by itself."""
    if not is_checkout(folder):
        return None
    top = output_of("git", "rev-parse", "--show-toplevel", folder=folder)
    if not top or Path(top).resolve() != folder.resolve():
        return None
    describe = ("git", "describe", "--always", "--dirty=+changes", "--abbrev=12", "--exclude=*")
    return output_of(*describe, folder=folder) or None


def output_of(*command: str, folder: Path | None = None) -> str:
    """The output of a system command; empty if it failed or takes too long."""
    try:
        return subprocess.check_output(
            command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, timeout=10
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def environment(variables: Mapping[str, str] = os.environ) -> tuple[dict[str, str], list[str]]:
    """The environment that measured programs get: the variables whose names and values are text, as requests
    to the probe are UTF-8; and the names of the others."""
    others = [name for name, value in variables.items() if _NO_TEXT.search(name + value)]
    return {name: value for name, value in variables.items() if name not in others}, others


class MachineLock(FileLock):
    """Locks a file while this process measures: no other process of this user measures meanwhile."""

    def __init__(self) -> None:
        super().__init__(Path(os.environ.get(LOCK_VARIABLE) or _LOCK_FOLDER / f"ringside-{os.getuid()}.lock"))

    def take(self, patience_s: float = 0.0) -> bool:
        """Take the lock; whether it became free in time. Raises UsageError if it cannot be opened: without
        it, two runs would disturb each other."""
        try:
            return self.acquire(patience_s)
        except OSError as error:
            raise UsageError(
                f"the lock {self.path} that keeps two measurements apart cannot be opened: {error.strerror}: "
                f"name another file with {LOCK_VARIABLE}"
            ) from error

    def is_of_ancestor(self) -> bool:
        """Whether a process that waits for this one's end has the lock: waiting would deadlock."""
        pid = os.getppid()
        while pid and not self._is_of(pid):
            # Its state, its parent.
            pid = int(next(iter(kernel.fields_of(pid)[1:]), 0))
        return pid > 0

    def _is_of(self, pid: int) -> bool:
        # Another user's process cannot be read, but it does not hold our lock either.
        with suppress(OSError):
            path = os.stat(self.path)
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    is_lock = os.path.samestat(file.stat(), path)
                    if is_lock and "FLOCK" in Path(f"/proc/{pid}/fdinfo/{file.name}").read_text("ascii"):
                        return True
        return False


@contextmanager
def alone(on_busy: Callable[[], None], *, waits: bool = True) -> Iterator[None]:
    """Hold this user's lock of the machine. Where another process has it, call `on_busy` and wait for it, or
    go on without it; also where an ancestor has it, as in `ringside vs "ringside vs …"`."""
    lock = MachineLock()
    if not lock.take() and not lock.is_of_ancestor():
        on_busy()
        if waits:
            lock.take(math.inf)
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class Capacity:
    """The resources for a contender where trials run: CPUs, and open descriptors in one process."""

    cpus: int
    descriptors: int


class Executor:
    """Carries out one trial at a time on this machine. `on_tick` is called every second or so meanwhile.
    `usable`: the CPUs of trials, some of which ringside itself may keep off later."""

    def __init__(self, probe: Probe | None = None, on_tick: Callable[[], None] | None = None) -> None:
        self.probe = probe or Probe()
        self._on_tick = on_tick
        self.usable = tuple(sorted(os.sched_getaffinity(0)))

    def capacity(self) -> Capacity:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return Capacity(len(self.usable), sys.maxsize if hard == resource.RLIM_INFINITY else hard)

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """CPUs for a contender with this many cores, and those left for the probe (empty: shared). The
        contender gets the last ones: the first CPU takes most interrupts."""
        return self.usable[-cores:], self.usable[:-cores]

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        """The probe's messages, the outcome last. Raises ProbeError when there is no outcome."""
        return self.probe.trial(request, self._on_tick)


@contextmanager
def off_contender_cpus(executor: Executor) -> Iterator[None]:
    """Keep ringside itself off the CPU of one-core contenders within the block, if there is another."""
    before = os.sched_getaffinity(0)
    _, others = executor.cpus(1)
    os.sched_setaffinity(0, others or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
