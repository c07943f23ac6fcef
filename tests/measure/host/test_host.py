import json
import os
import platform
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from ringside import __version__
from ringside.measure import host
from tests.support import ROOT
from tests.support.command_line import captured

OWN = '[project]\nname = "ringside"\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit, of a project that is not ringside."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "other"\n', encoding="utf-8")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.mark.parametrize("version", [1, 2])
def test_the_quota_of_a_cgroup(version: int, tmp_path: Path) -> None:
    """The smallest of the cgroup and of those above it; in a container the mount begins below the root."""
    top, inner = tmp_path / "cpu", tmp_path / "cpu" / "in"
    inner.mkdir(parents=True)
    kind, options, controllers = (
        ("cgroup2", "rw", "") if version == 2 else ("cgroup", "rw,cpu", "cpu,cpuacct")
    )
    (tmp_path / "mountinfo").write_text(f"9 1 0:1 /pod {top} rw - {kind} none {options}\n")
    (tmp_path / "cgroup").write_text(f"3:memory:/other\n{0 if version == 2 else 1}:{controllers}:/pod/in\n")
    assert host.quota(tmp_path) is None
    for folder, quota_us in ((top, 150_000), (inner, 50_000)):
        if version == 2:
            (folder / "cpu.max").write_text(f"{quota_us} 100000\n")
        else:
            (folder / "cpu.cfs_quota_us").write_text(f"{quota_us}\n")
            (folder / "cpu.cfs_period_us").write_text("100000\n")
    (inner / "cpu.stat").write_text("nr_periods 9\nnr_throttled 4\n")
    assert host.quota(tmp_path) == host.Quota(0.5, 4)
    (inner / ("cpu.max" if version == 2 else "cpu.cfs_quota_us")).write_text(
        "max 100000" if version == 2 else "-1"
    )
    assert host.quota(tmp_path) == host.Quota(1.5, 0)


def test_facts_are_json_and_true() -> None:
    facts = host.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpus"] == os.cpu_count()
    assert facts["kernel"] == os.uname().release
    assert facts["memory_bytes"] > facts["memory_available_bytes"] > 0
    assert facts["cpu_model"]


def test_the_revision_of_ringsides_own_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "pyproject.toml").write_text(OWN, encoding="utf-8")
    commit(repository)
    # Two checkouts with the same tag may differ.
    subprocess.run(["git", "-c", "tag.gpgsign=false", "tag", "v1"], cwd=repository, check=True)
    head = captured(["git", "rev-parse", "--short=12", "HEAD"], cwd=repository).stdout.strip()
    assert host.facts(repository)["revision"] == head
    (repository / "pyproject.toml").write_text(f"{OWN}# changed\n", encoding="utf-8")
    assert host.facts(repository)["revision"] == f"{head}+changes"
    # Without git, or outside of a repository, there is none.
    monkeypatch.setenv("PATH", "/nonexistent")
    assert host.facts(repository)["revision"] is None
    monkeypatch.undo()
    shutil.rmtree(repository / ".git")
    assert host.facts(repository)["revision"] is None


def test_another_projects_revision_is_not_ringsides(repository: Path) -> None:
    """An installed ringside, with its catalogue, in the environment of a checkout of something else."""
    bundled = repository / ".venv" / "lib" / "ringside" / "bundled"
    bundled.mkdir(parents=True)
    assert host.facts(repository)["revision"] is None
    assert host.facts(bundled)["revision"] is None
    # A copy of ringside's sources in it has no revision of its own.
    (bundled / "pyproject.toml").write_text(OWN, encoding="utf-8")
    assert host.facts(bundled)["revision"] is None


@pytest.mark.parametrize("text", ["", "[project", "project = 1", "[project]\nname = ['ringside']", "[tool]"])
def test_what_is_no_checkout_of_ringside(tmp_path: Path, text: str) -> None:
    assert not host.is_checkout(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert not host.is_checkout(tmp_path)


def test_these_sources_are_a_checkout() -> None:
    assert host.is_checkout(ROOT)
    assert host.SOURCE_FOLDER == ROOT


def test_a_system_without_os_release(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> dict[str, str]:
        raise OSError("no file")

    monkeypatch.setattr(platform, "freedesktop_os_release", missing)
    assert host.os_release() == {}
    assert host.facts()["system"] == "Linux"


def test_what_makes_another_machine() -> None:
    before = {
        "cpu_model": "A",
        "architecture": "x86_64",
        "kernel": "6.1",
        "cpus_usable": [0, 1],
        "load_average": [1.0],
    }
    assert host.differences(before, {**before, "load_average": [2.0]}) == []
    assert host.differences(before, {}) == host.differences({}, before) == []
    assert host.differences(before, {**before, "kernel": "6.2", "cpus_usable": [0]}) == [
        "kernel 6.1, here 6.2",
        "cpus usable 0,1, here 0",
    ]
    assert host.differences(before, {**before, "cpu_model": "B"}) == ["cpu model A, here B"]
    assert host.differences(before, before | {"architecture": "arm64"}) == ["architecture x86_64, here arm64"]


CPUINFO = """processor\t: 0
model name\t: First CPU
flags\t\t: fpu hypervisor sse

processor\t: 1
model name\t: Second CPU
no colon here
"""
MEMINFO = """MemTotal:       1000 kB
MemAvailable:    600 kB
SwapTotal:         8 kB
HugePages_Total:   5
Odd: 1 MB
"""
FILES = {
    "/proc/cpuinfo": CPUINFO,
    "/proc/meminfo": MEMINFO,
    "/sys/class/dmi/id/sys_vendor": "Vendor",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "/sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "/sys/devices/system/cpu/smt/control": "off",
    "/proc/pressure/cpu": "some avg10=1.25 avg60=2.50 avg300=3 total=4\nfull avg10=9.00 avg60=0 total=0",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/proc/sys/kernel/threads-max": "101",
    "/proc/sys/vm/max_map_count": "102",
    "/proc/sys/net/core/somaxconn": "103",
}


def machine(monkeypatch: pytest.MonkeyPatch, **files: str | None) -> None:
    """Another machine than this: one that has these files in place of some, none if they are None."""
    there = {**FILES, **{next(path for path in FILES if path.endswith(end)): files[end] for end in files}}
    monkeypatch.setattr(host, "read_text", lambda path: there.get(path) or "")


def test_all_facts_of_a_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine(monkeypatch)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5, 1, 3} if pid == 0 else set())
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 1.5, 2.5))
    monkeypatch.setattr(resource, "getrlimit", {resource.RLIMIT_NOFILE: (104, 105)}.__getitem__)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0")
    monkeypatch.setattr(platform, "python_version", lambda: "3.11.9")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"PRETTY_NAME": "Debian 12"})
    assert host.facts(tmp_path) == {
        "cpu_model": "First CPU",
        "cpus": 8,
        "cpus_usable": [1, 3, 5],
        "architecture": "x86_64",
        "hypervisor": "Vendor",
        "governor": "performance",
        "turbo": "on",
        "smt": "off",
        "kernel": "6.1.0",
        "system": "Debian 12",
        "memory_bytes": 1_024_000,
        "memory_available_bytes": 614_400,
        "swap_bytes": 8192,
        "load_average": [0.5, 1.5, 2.5],
        "pressure_cpu": 1.25,
        "transparent_hugepages": "madvise",
        "limits": {
            "descriptors_soft": 104,
            "descriptors_hard": 105,
            "threads_max": 101,
            "max_map_count": 102,
            "somaxconn": 103,
        },
        "python": "3.11.9",
        "ringside": __version__,
        "revision": None,
    }
    assert host.memory_available_bytes() == 614_400


@pytest.mark.parametrize(
    ("files", "facts"),
    [
        ({"cpuinfo": "Model\t: Raspberry Pi 4\n"}, {"cpu_model": "Raspberry Pi 4", "hypervisor": None}),
        ({"cpuinfo": None}, {"cpu_model": platform.machine(), "hypervisor": None}),
        ({"cpuinfo": CPUINFO.replace(" hypervisor", "")}, {"hypervisor": None}),
        ({"sys_vendor": None}, {"hypervisor": "vendor unknown"}),
        ({"no_turbo": "1"}, {"turbo": "off"}),
        ({"no_turbo": None}, {"turbo": None}),
        ({"enabled": "none"}, {"transparent_hugepages": "none"}),
        ({"enabled": None}, {"transparent_hugepages": None}),
        ({"enabled": "[always] madvise [x]"}, {"transparent_hugepages": "always"}),
        ({"pressure/cpu": None}, {"pressure_cpu": None}),
        ({"pressure/cpu": ""}, {"pressure_cpu": None}),
        ({"pressure/cpu": "some total=4"}, {"pressure_cpu": None}),
        ({"meminfo": None}, {"memory_bytes": None, "memory_available_bytes": None, "swap_bytes": None}),
        ({"governor": None, "control": None}, {"governor": None, "smt": None}),
    ],
)
def test_facts_that_differ_or_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str | None], facts: dict[str, object]
) -> None:
    machine(monkeypatch, **files)
    found = host.facts()
    assert {name: found[name] for name in facts} == facts


def test_a_gigabyte_is_assumed_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, meminfo=None)
    assert host.memory_available_bytes() == 1 << 30
