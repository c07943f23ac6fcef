"""The wheel works in an empty folder, in an environment that has nothing of the repository."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.command_line import captured

pytestmark = pytest.mark.integration


def uv() -> str:
    beside = ROOT / ".ringside" / "uv" / "bin" / "uv"
    return shutil.which("uv") or str(beside)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [uv(), "build", "-q", "--wheel", "--python", sys.executable, "-o", str(out), str(ROOT)], check=True
    )
    (file,) = out.glob("ringside-*.whl")
    return file


def test_the_catalogue_travels_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("contenders", "experiments", "published"):
        for file in captured(["git", "ls-files", folder], cwd=ROOT, check=True).stdout.splitlines():
            assert f"ringside/bundled/{file}" in names, file
    for name in ("page.html.j2", "page.css", "page.js"):
        assert f"ringside/render/html/{name}" in names, name


def test_it_runs_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    """Installed without dependencies beside those of this environment: no network is needed."""
    place = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    dependencies = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    program = (
        "import sys; sys.path[:] = [p for p in sys.path if not p.endswith('/src')]; "
        f"sys.path[:0] = [{str(place)!r}, {str(dependencies)!r}]; "
        "from ringside.cli.main import main; main()"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**os.environ, "RINGSIDE_PROBE": str(Path(sys.executable).parent / "ringside-probe")}
    command = [sys.executable, "-c", program, "run", "showdown-ring", "--only", "python-asyncio,limit"]
    small = ["--set", "nodes=5", "--set", "messages=5", "--blocks", "1", "--json"]
    done = captured([*command, *small], cwd=empty, env=environment)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert all(cell["outcomes"] == {"ok": 1} for cell in document["cells"])
    assert [path.name for path in empty.iterdir()] == [".ringside"]


@pytest.fixture(scope="module")
def index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simple index of both wheels. The probe's is for this system: scripts/wheels has others."""
    out = tmp_path_factory.mktemp("index")
    words = ("build", "-q", "--wheel", "--python", sys.executable, "-o", str(out), str(ROOT / "probe"))
    subprocess.run([uv(), *words], check=True)
    (probe,) = out.glob("ringside_probe-*.whl")
    for name, file in (("ringside", wheel), ("ringside-probe", probe)):
        folder = out / "simple" / name
        folder.mkdir(parents=True)
        shutil.copy(file, folder)
        (folder / "index.html").write_text(f'<a href="{file.name}">{file.name}</a>\n', encoding="utf-8")
    return out / "simple"


def clean(place: Path) -> dict[str, str]:
    """An environment of nobody's: no checkout, a cargo that does not work, an empty home; only how the
    registry is reached, and the cache of what it has sent before."""
    broken = place / "broken"
    broken.mkdir()
    for name in ("cargo", "rustc", "maturin"):
        (broken / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (broken / name).chmod(0o755)
    cache = subprocess.run([uv(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    settings = ("UV_INDEX", "UV_DEFAULT_INDEX", "PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")
    kept = {key: value for key, value in os.environ.items() if key.startswith(settings)}
    return kept | {
        "HOME": str(place / "home"),
        "PATH": f"{broken}:/usr/bin:/bin",
        # Not that of others, who measure meanwhile.
        "RINGSIDE_LOCK": str(place / "lock"),
        "UV_CACHE_DIR": cache,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_TOOL_DIR": str(place / "tools"),
        "UV_TOOL_BIN_DIR": str(place / "bin"),
    }


COMPARED = ("vs", "--blocks", "2", "-N", "--json", "true", "sleep 0.01")


def test_it_installs_from_an_index_where_there_is_no_cargo(index: Path, tmp_path: Path) -> None:
    """As `pipx install` does: an environment of its own, and the command in a folder of the PATH."""
    environment = clean(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    words = ("tool", "install", "-q", "--python", sys.executable, "--index", index.as_uri(), "ringside")
    done = subprocess.run([uv(), *words], cwd=empty, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    program = tmp_path / "bin" / "ringside"
    done = subprocess.run([program, *COMPARED], cwd=empty, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["commands"]] == ["A", "B"]
    pages = [*(tmp_path / "tools").glob("ringside/share/man/man1/ringside.1")]
    assert [page.read_bytes() for page in pages] == [(ROOT / "docs" / "man" / "ringside.1").read_bytes()]
    for shell in ("bash", "zsh", "fish"):
        completing = {**environment, "_RINGSIDE_COMPLETE": f"{shell}_source"}
        done = subprocess.run([program], cwd=empty, env=completing, capture_output=True, check=False)
        assert b"_RINGSIDE_COMPLETE" in done.stdout, (shell, done.stderr)
