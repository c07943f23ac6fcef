"""Facts about this machine that stand beside every figure: what could explain it."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

from ringside import __version__


def facts(folder: Path) -> dict[str, Any]:
    """Everything that is known of the machine and of ringside's revision, as JSON values. A fact that
    this machine does not tell is null."""
    cpu = _cpuinfo()
    memory = _meminfo()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {
        "cpu_model": cpu.get("model name") or cpu.get("Model") or platform.machine(),
        "cpus": os.cpu_count(),
        "cpus_usable": sorted(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "hypervisor": _hypervisor(cpu),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _read("/sys/devices/system/cpu/smt/control"),
        "kernel": platform.release(),
        "system": _system(),
        "memory_bytes": memory.get("MemTotal"),
        "memory_available_bytes": memory.get("MemAvailable"),
        "swap_bytes": memory.get("SwapTotal"),
        "load_average": list(os.getloadavg()),
        "pressure_cpu": _pressure(),
        "transparent_hugepages": _chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
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


def memory_available_bytes() -> int:
    """Memory that can be used without swapping."""
    return _meminfo().get("MemAvailable", 1 << 30)


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(path: str) -> int | None:
    text = _read(path)
    return int(text) if text and text.isdigit() else None


def _cpuinfo() -> dict[str, str]:
    """The first processor's entry of /proc/cpuinfo."""
    found: dict[str, str] = {}
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def _meminfo() -> dict[str, int]:
    found = {}
    for line in (_read("/proc/meminfo") or "").splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            found[words[0].rstrip(":")] = int(words[1]) * 1024
    return found


def _hypervisor(cpu: dict[str, str]) -> str | None:
    if "hypervisor" not in cpu.get("flags", "").split():
        return None
    vendor = _read("/sys/class/dmi/id/sys_vendor")
    return vendor or "vendor unknown"


def _turbo() -> str | None:
    text = _read("/sys/devices/system/cpu/intel_pstate/no_turbo")
    return None if text is None else ("off" if text == "1" else "on")


def _chosen(text: str | None) -> str | None:
    """The word in brackets: `always [madvise] never`."""
    return text.split("[", 1)[1].split("]", 1)[0] if text and "[" in text else text


def _pressure() -> float | None:
    """Share of the last ten seconds in which somebody waited for a CPU, percent (PSI)."""
    text = _read("/proc/pressure/cpu")
    if not text or "avg10=" not in text:
        return None
    return float(text.split("avg10=", 1)[1].split()[0])


def _system() -> str:
    for line in (_read("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def _revision(folder: Path) -> str | None:
    """The git revision of the catalogue's checkout, with `+changes` where files differ from it."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+changes", "--abbrev=12", "--exclude=*"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return described.stdout.strip() or None if described.returncode == 0 else None
