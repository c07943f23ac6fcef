"""Contenders under bubblewrap, seen from inside: a real sandbox around real programs."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ringside.measure.host import Executor
from ringside.measure.runs import sandbox
from ringside.probe.protocol import Limits, Service, TrialOutcome, TrialRequest
from tests.support import ROOT
from tests.support.attacks import last
from tests.support.cases import cases

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
    return last(Executor().trial(sandbox.sandboxed(request, [tmp_path])))


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
@pytest.mark.parametrize("folder", ["own", "/", "/etc", "/usr", "/sys/fs/cgroup"])
def test_what_is_read_only(tmp_path: Path, folder: str, request: pytest.FixtureRequest) -> None:
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
    names = ["/tmp/ringside-leaves", "/var/tmp/ringside-leaves", "/dev/shm/ringside-leaves"]
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
def test_it_has_no_capabilities(tmp_path: Path) -> None:
    script = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')][0])"
    assert int(says(tmp_path, script), 16) == 0


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


def tries(tmp_path: Path, action: str) -> str:
    """The output of an action inside, or its error."""
    body = "\n".join(f"    {line}" for line in action.splitlines())
    return says(
        tmp_path, f"import glob, os, socket\ntry:\n{body}\nexcept OSError as e:\n    print(e.strerror)"
    )


@pytest.fixture
def service_socket() -> Iterator[Path]:
    """A socket below /run, as those of D-Bus and Docker are. Left out where it cannot be made."""
    folder = Path("/run") if os.access("/run", os.W_OK) else Path(f"/run/user/{os.getuid()}")
    if not os.access(folder, os.W_OK):
        pytest.skip("no socket can be made below /run")
    path = folder / f"ringside-test-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield path
    path.unlink()


@needs_bubblewrap
@pytest.mark.parametrize("service", [None, Service(ready_s=10, idle_s=0.1)], ids=["program", "server"])
def test_sockets_of_services(tmp_path: Path, service_socket: Path, service: Service | None) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(service_socket))
    names = [str(service_socket), str(service_socket).replace("/run", "/var/run", 1), "/run", "/var/run"]
    script = f"""
import os, socket, time
seen = [name for name in {names!r} if os.path.exists(name)]
assert not seen, seen
"""
    if service:
        # It can be reached, and is ended.
        script += """
listener = socket.create_server(('127.0.0.1', 0))
print('::ready port=%d' % listener.getsockname()[1], flush=True)
time.sleep(60)
"""
    done = inside(tmp_path, script, service)
    assert done.outcome == "ok", (done.detail, done.stderr_tail)


@needs_bubblewrap
def test_of_homes_it_sees_only_what_it_runs_on(tmp_path: Path) -> None:
    """The Python of the tests may itself lie in one."""
    homes = sorted({one.pw_dir for one in pwd.getpwall() if one.pw_uid >= 1000} | {"/root", str(Path.home())})
    private = [
        str(path)
        for home in homes
        for path in (Path(home).iterdir() if os.access(home, os.R_OK) else ())
        if path.name in (".ssh", ".config", ".netrc", ".bashrc", ".profile", ".bash_history", ".gitconfig")
    ]
    found = says(tmp_path, f"import os; print([name for name in {private!r} if os.path.exists(name)])")
    assert found == "[]"


@needs_bubblewrap
@pytest.mark.skipif(not os.access("/etc/shadow", os.R_OK), reason="/etc/shadow cannot be read here either")
def test_it_cannot_read_what_only_root_may_read(tmp_path: Path) -> None:
    assert tries(tmp_path, "print(open('/etc/shadow').read())") == "Permission denied"
    # Nor can it take away what covers it, with a user namespace of its own.
    uncover = "import os; os.system('unshare -rm sh -c \"umount /etc/shadow; cat /etc/shadow\"')"
    assert ":" not in says(tmp_path, f"{uncover}; print()").replace("umount:", "").replace("cat:", "")
    # Files that everybody may read are there.
    assert tries(tmp_path, "print(len(open('/etc/passwd').read()) > 0)") == "True"


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be in other groups for a test")
def test_roots_other_groups_are_given_up(tmp_path: Path) -> None:
    script = f"""
import os, sys
os.setgroups([0, 4, 999])
sys.path[:0] = {[str(ROOT), *sys.path]!r}
from pathlib import Path
from tests.measure.runs.test_sandbox import says
print(says(Path({str(tmp_path)!r}), "import os; print(os.getgroups())"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "[0]")


def test_what_only_some_may_read_is_hidden(tmp_path: Path) -> None:
    for name, mode in (("open", 0o644), ("secret", 0o640), ("deep/secret", 0o600), ("deep/open", 0o444)):
        path = tmp_path / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(mode)
    closed = tmp_path / "etc" / "closed"
    closed.mkdir()
    (closed / "inside").touch()
    closed.chmod(0o711)
    (tmp_path / "etc" / "link").symlink_to("secret")
    hidden = [path.relative_to(tmp_path / "etc") for path in sandbox.unreadable_for_others(tmp_path / "etc")]
    assert list(map(str, hidden)) == ["closed", "secret", "deep/secret"]


@pytest.mark.parametrize(("program", "parts"), cases(__file__, "what_of_a_home_an_executable_needs"))
def test_what_of_a_home_an_executable_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, parts: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sandbox, "_homes", lambda: frozenset({tmp_path}))
    path = tmp_path / program
    path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".local" / "lib").mkdir(parents=True, exist_ok=True)
    target = tmp_path / ".pyenv" / "versions" / "3.11" / "bin" / "python3"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    if program == "link":
        path.symlink_to(target.relative_to(tmp_path))
    path.touch()
    needed = dict.fromkeys(sandbox.installation(str(path)))
    assert tuple(str(each.relative_to(tmp_path)) for each in needed) == parts


def test_an_executable_of_the_system_needs_nothing() -> None:
    assert list(sandbox.installation("/usr/bin/env")) == []


@pytest.mark.parametrize("service", [None, Service(ready_s=1, idle_s=0.1)])
def test_the_command_line(tmp_path: Path, service: Service | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", {"bwrap": "/usr/bin/bwrap"}.get)
    monkeypatch.setattr(sandbox, "_system", lambda: ("--ro-bind", "/usr", "/usr"))
    sandbox.check()
    runtime = tmp_path / "runtime" / "bin" / "run"
    runtime.parent.mkdir(parents=True)
    runtime.touch()
    request = TrialRequest(("prog", "-x"), "/work", {"A": "1", "HOME": "/h"}, LIMITS, service=service)
    inside = sandbox.sandboxed(request, [Path("/tmp/a"), Path("/tmp/b")], str(runtime))
    prefix = runtime.parents[1]
    words = (
        "/usr/bin/bwrap --ro-bind /usr /usr --dev /dev --proc /proc --tmpfs /tmp --symlink /tmp /var/tmp "
        f"--ro-bind /tmp/a /tmp/a --ro-bind /tmp/b /tmp/b --ro-bind {prefix} {prefix} --remount-ro / "
        "--unshare-pid --unshare-ipc --unshare-uts --unshare-net --cap-drop ALL "
        "--die-with-parent --new-session --chdir /work -- prog -x"
    )
    expected = words.replace("--unshare-net ", "") if service else words
    assert inside.argv == tuple(expected.split())
    assert inside.env == {"A": "1", "HOME": "/tmp"}
    # All else is as it was, and the request itself, too.
    assert msgspec.structs.replace(inside, argv=request.argv, env=request.env) == request
    assert request.env["HOME"] == "/h"
    temporary = msgspec.structs.replace(request, env={"TMPDIR": "/elsewhere"})
    assert sandbox.sandboxed(temporary, []).env == {"HOME": "/tmp", "TMPDIR": "/tmp"}


def test_a_sandbox_that_was_removed_fails_where_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    request = TrialRequest(("prog",), "/", {}, LIMITS)
    assert sandbox.sandboxed(request, []).argv[0] == "bwrap"
