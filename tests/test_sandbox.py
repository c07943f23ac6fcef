"""Contenders under bubblewrap, seen from inside: a real sandbox around real programs."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import uuid
from pathlib import Path

import msgspec
import pytest

from ringside.errors import UsageError
from ringside.measure import sandbox
from ringside.measure.executor import LocalExecutor
from ringside.probe.protocol import Limits, Service, TrialOutcome, TrialRequest

LIMITS = Limits(wall_s=30, memory_bytes=1 << 30, output_bytes=1 << 20, processes=100)

needs_bubblewrap = pytest.mark.skipif(not shutil.which(sandbox.PROGRAM), reason="bubblewrap is not installed")


def inside(tmp_path: Path, script: str, service: Service | None = None) -> TrialOutcome:
    request = TrialRequest(
        argv=(sys.executable, "-S", "-E", "-c", script),
        cwd=str(tmp_path),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        limits=LIMITS,
        service=service,
    )
    last = LocalExecutor().trial(sandbox.sandboxed(request, [tmp_path]))[-1]
    assert isinstance(last, TrialOutcome)
    return last


def says(tmp_path: Path, script: str) -> str:
    done = inside(tmp_path, script)
    assert done.outcome == "ok", (done.detail, done.stderr_tail)
    return done.stdout_tail.strip()


@needs_bubblewrap
def test_no_other_process_is_visible(tmp_path: Path) -> None:
    script = "import os; print(sorted(int(pid) for pid in os.listdir('/proc') if pid.isdigit()))"
    pids = says(tmp_path, script)
    assert len(pids.split(",")) <= 3
    assert str(os.getpid()) not in pids.strip("[]").split(", ")


@needs_bubblewrap
@pytest.mark.parametrize("folder", ["own", "/etc", "/usr", "/var/tmp"])
def test_the_system_and_its_own_folder_are_read_only(
    tmp_path: Path, folder: str, request: pytest.FixtureRequest
) -> None:
    # A name that nothing has, also after a sandbox that let it be written.
    target = (tmp_path if folder == "own" else Path(folder)) / f"ringside-was-here-{uuid.uuid4().hex}"
    request.addfinalizer(lambda: target.unlink(missing_ok=True))
    path = str(target)
    script = f"""
try:
    open({path!r}, 'w')
except OSError as error:
    print(error.errno)
"""
    assert says(tmp_path, script) in ("30", "13")
    assert not target.exists()


@needs_bubblewrap
def test_temporary_files_and_shared_memory_are_private(tmp_path: Path) -> None:
    names = ["/tmp/ringside-leaves", "/dev/shm/ringside-leaves"]
    script = f"for name in {names!r}: open(name, 'w').write('x')\nprint('written')"
    assert says(tmp_path, script) == "written"
    assert not any(Path(name).exists() for name in names)


@needs_bubblewrap
def test_a_program_has_a_network_of_its_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        script = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {port})))"
        assert says(tmp_path, script) == "111"
    assert says(tmp_path, "import socket; print(len(socket.if_nameindex()))") == "1"


@needs_bubblewrap
def test_a_server_can_be_reached_and_is_ended(tmp_path: Path) -> None:
    script = """
import socket, time
listener = socket.create_server(('127.0.0.1', 0))
print('::ready port=%d' % listener.getsockname()[1], flush=True)
time.sleep(60)
"""
    done = inside(tmp_path, script, Service(ready_s=10, idle_s=0.1))
    assert done.outcome == "ok", (done.detail, done.stderr_tail)


@needs_bubblewrap
def test_nothing_that_it_starts_outlives_it(tmp_path: Path) -> None:
    script = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
print(os.getpid())
"""
    assert inside(tmp_path, script).outcome == "ok"


@needs_bubblewrap
def test_it_has_no_capabilities(tmp_path: Path) -> None:
    script = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')][0])"
    assert int(says(tmp_path, script), 16) == 0


def test_without_bubblewrap_the_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError) as refused:
        sandbox.check()
    assert str(refused.value) == "--sandbox needs bubblewrap: apt-get install bubblewrap"


@pytest.mark.parametrize("service", [None, Service(ready_s=1, idle_s=0.1)])
def test_the_whole_command_line(service: Service | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", {"bwrap": "/usr/bin/bwrap"}.get)
    sandbox.check()
    request = TrialRequest(("prog", "-x"), "/work", {"A": "1", "HOME": "/h"}, LIMITS, service=service)
    inside = sandbox.sandboxed(request, [Path("/tmp/a"), Path("/tmp/b")])
    words = (
        "/usr/bin/bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --ro-bind /tmp/a /tmp/a --ro-bind "
        "/tmp/b /tmp/b --unshare-pid --unshare-ipc --unshare-uts --unshare-net --cap-drop ALL "
        "--die-with-parent --new-session --chdir /work -- prog -x"
    )
    expected = words.replace("--unshare-net ", "") if service else words
    assert inside.argv == tuple(expected.split())
    assert inside.env == {"A": "1", "HOME": "/tmp"}
    # All else is as it was, and the request itself, too.
    assert msgspec.structs.replace(inside, argv=request.argv, env=request.env) == request
    assert request.env["HOME"] == "/h"


def test_a_sandbox_that_was_removed_fails_where_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    request = TrialRequest(("prog",), "/", {}, LIMITS)
    assert sandbox.sandboxed(request, []).argv[0] == "bwrap"
