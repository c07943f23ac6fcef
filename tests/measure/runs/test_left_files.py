"""Files that programs leave in the temporary folder or in shared memory, and memory in files that they do not
map: both are reported, and no later program finds them."""

import os
import signal
import stat
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.measure.host import Executor
from ringside.probe.process import Probe
from ringside.probe.protocol import TrialMessage, TrialRequest
from tests.support.attacks import both_ways, has_own_namespaces, last, request
from tests.support.ordinary_user import as_ordinary_user
from tests.support.ordinary_user import readable_probe as readable_probe  # a fixture
from tests.support.processes import own_probes


def program(script: str, temporary: Path, namespaces: str = "auto") -> TrialRequest:
    """A trial of a Python script that has a temporary folder of its own."""
    plain = request("good")
    return msgspec.structs.replace(
        plain,
        argv=(sys.executable, "-S", "-E", "-c", f"import os, sys, time\n{script}"),
        env={**plain.env, "TMPDIR": str(temporary)},
        expect=None,
        awaits=(),
        namespaces=namespaces,
        temporary=True,
    )


def carried_out(script: str, temporary: Path, namespaces: str = "auto") -> list[TrialMessage]:
    executor = Executor()
    messages = executor.trial(program(script, temporary, namespaces))
    executor.probe.close()
    return messages


def left(script: str, temporary: Path, namespaces: str = "auto") -> int:
    """How many files a script leaves, by the probe; in truth there are none after it."""
    final = last(carried_out(script, temporary, namespaces))
    assert (final.outcome, final.interference) == ("ok", ()), final
    assert os.listdir(temporary) == []
    return final.left_files


LEAVES = """
place = os.environ["TMPDIR"]
os.makedirs(place + "/a/b")
open(place + "/a/b/file", "w").close()
os.symlink({outside!r}, place + "/a/outside")
os.symlink({outside!r}, place + "/outside")
os.chmod(place + "/a/b", 0)
os.chmod(place + "/a", 0)
os.chmod(place, 0)
"""


@both_ways
def test_what_is_left_in_the_temporary_folder(tmp_path: Path, namespaces: str) -> None:
    outside, temporary = tmp_path / "outside", tmp_path / "temporary"
    outside.mkdir()
    temporary.mkdir()
    (outside / "kept").touch()
    assert left(LEAVES.format(outside=str(outside)), temporary, namespaces) == 5
    assert os.listdir(outside) == ["kept"]


SHARES = """
import ctypes
libc = ctypes.CDLL(None)
assert os.listdir("/dev/shm") == []
assert stat.S_IMODE(os.stat("/dev/shm").st_mode) == 0o1777
open("/dev/shm/left", "w").close()
os.mkdir("/dev/shm/folder")
assert libc.shmget(0, 4096, 0o1600) >= 0
assert libc.semget(0, 1, 0o1600) >= 0
assert libc.msgget(0, 0o1600) >= 0
"""


def test_what_is_left_in_shared_memory(tmp_path: Path) -> None:
    """No file on a disk, and no object of System V: each ends with the probe."""
    executor = Executor()
    for _ in range(2):
        messages = executor.trial(program(f"import stat\n{SHARES}", tmp_path))
        if not has_own_namespaces(messages):
            pytest.skip("no namespaces can be made here")
        final = last(messages)
        assert (final.outcome, final.left_files) == ("ok", 5), final
    unlinks = program("open('/dev/shm/used', 'w'); os.unlink('/dev/shm/used')", tmp_path)
    harmless = last(executor.trial(unlinks))
    assert (harmless.outcome, harmless.left_files) == ("ok", 0)


# The sampler looks once the shared memory of the host has changed by 16 MiB. Another program that frees as
# much then can hide one write, not both. In 3 s a busy machine sees the files twice.
HIDES = """
for pause_s in 0.5, 3:
    for place in places:
        for _ in range(20):
            os.write(place, bytes(1 << 20))
    time.sleep(pause_s)
"""
MAPS = """
import mmap
file = os.memfd_create("mapped")
os.ftruncate(file, 40 << 20)
memory = mmap.mmap(file, 40 << 20)
memory[:] = bytes(40 << 20)
time.sleep(1)
"""


@both_ways
def test_memory_in_files_that_nobody_maps(tmp_path: Path, namespaces: str) -> None:
    opens = "places = [os.memfd_create('hidden'), os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR)]\n"
    # A file that was there before is an input, not the program's; in a namespace of its own it is not there.
    place = Path(f"/dev/shm/ringside-input-{os.getpid()}")
    place.write_bytes(bytes(60 << 20))
    try:
        time.sleep(0.1)
        given = f"given = os.path.exists('{place}') and open('{place}')\n"
        final = last(carried_out(given + opens + HIDES, tmp_path, namespaces))
    finally:
        place.unlink()
    assert (final.outcome, final.left_files) == ("ok", 0)
    assert final.unmapped_bytes
    assert abs(final.unmapped_bytes - (80 << 20)) < 2 << 20
    assert (final.peak_pss_bytes or 0) < 40 << 20
    mapped = last(carried_out(MAPS, tmp_path, namespaces))
    assert mapped.unmapped_bytes is None
    assert (mapped.peak_pss_bytes or 0) > 40 << 20


def test_memory_in_files_while_others_free_theirs(tmp_path: Path) -> None:
    """The host's shared memory is less at the end of the trial than it was before."""
    hides = "time.sleep(1)\nplaces = [os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR)]\n" + HIDES
    with tempfile.TemporaryFile(dir="/dev/shm") as of_another:
        of_another.write(bytes(60 << 20))
        of_another.flush()
        freed = threading.Timer(0.5, of_another.truncate, (0,))
        freed.start()
        messages = carried_out(hides, tmp_path)
        freed.join()
    if not has_own_namespaces(messages):
        pytest.skip("no namespaces can be made here")
    assert abs((last(messages).unmapped_bytes or 0) - (40 << 20)) < 2 << 20


def test_the_limit_on_memory_includes_such_files(tmp_path: Path) -> None:
    hides = program("places = [os.memfd_create('hidden')]\n" + HIDES, tmp_path)
    limits = msgspec.structs.replace(hides.limits, memory_bytes=30 << 20)
    final = last(Executor().trial(msgspec.structs.replace(hides, limits=limits)))
    assert (final.outcome, final.peak_pss_bytes is not None) == ("out-of-memory", True)


def test_a_temporary_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The program then has the one that all share."""
    nowhere = str(tmp_path / "nowhere")
    messages = carried_out(f"assert os.environ['TMPDIR'] == {nowhere!r}", Path(nowhere))
    assert last(messages).outcome == "ok"
    (started, *_) = messages
    assert any("temporary folder of the program's own" in text for text in started.missing)


@both_ways
def test_a_probe_that_is_killed(tmp_path: Path, namespaces: str) -> None:
    """Its driver has the folder removed."""
    before = own_probes()
    probe = Probe()
    assert last(probe.trial(program("pass", tmp_path, namespaces))).outcome == "ok"
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (idle,) = own_probes() - before
    os.kill(idle, signal.SIGKILL)
    time.sleep(0.1)
    probe.close()
    assert os.listdir(tmp_path) == []


def counted(probe_path: str, folder: str, script: str) -> list[Any]:
    shell = msgspec.structs.replace(program("", Path(folder)), argv=("/bin/sh", "-c", script))
    probe = Probe(probe_path)
    messages = probe.trial(shell)
    probe.close()
    final = last(messages)
    return [final.outcome, final.stderr_tail, final.left_files - has_own_namespaces(messages)]


def test_an_ordinary_user(readable_probe: str) -> None:
    """Folders without permissions, and shared memory in a namespace of the user's own."""
    makes = "mkdir -p $TMPDIR/a/b && echo > $TMPDIR/a/b/file && echo > /dev/shm/left"
    leaves = f"{makes} && chmod 0 $TMPDIR/a/b $TMPDIR/a"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        assert as_ordinary_user(counted, readable_probe, folder, leaves) == ["ok", "", 3]
        assert os.listdir(folder) == []
    Path("/dev/shm/left").unlink(missing_ok=True)
