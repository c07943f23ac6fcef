"""The wheel works in an empty folder, in an environment that has nothing of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
        for file in subprocess.run(
            ["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines():
            assert f"ringside/bundled/{file}" in names, file
    assert "ringside/scaffold/templates/go/go.mod.tmpl" in names
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
    done = subprocess.run(
        [*command, "--set", "nodes=5", "--set", "messages=5", "--blocks", "1", "--json"],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert all(cell["outcomes"] == {"ok": 1} for cell in document["cells"])
    assert [path.name for path in empty.iterdir()] == [".ringside"]
