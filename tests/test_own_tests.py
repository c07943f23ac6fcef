"""The tests that contenders bring of their own parts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_contenders import ready

ROOT = Path(__file__).resolve().parents[1]


def passes(folder: str, *words: str, **more: str) -> None:
    done = subprocess.run(
        words,
        cwd=ROOT / "contenders" / folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pytest_passes(folder: str, python: str, *files: str) -> None:
    # Another Python than ours takes our pytest, which is pure Python, and none of its plugins.
    ours = str(Path(pytest.__file__).resolve().parents[1])
    words = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", *files]
    passes(folder, *words, PYTHONPATH=ours, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_of_multitask() -> None:
    pytest_passes("multitask", sys.executable, "test_multitask.py")


def test_of_the_http_of_asyncio() -> None:
    pytest_passes("python-asyncio", sys.executable, "test_http1.py")


def test_what_python_contenders_share_is_the_same_everywhere() -> None:
    """Each folder has a copy, so that it can be read, and taken away, by itself."""
    for name in ("arguments.py", "service.py", "heartbeat.py", "sleeping.py"):
        copies = {path: path.read_bytes() for path in (ROOT / "contenders").glob(f"*/{name}")}
        assert len(copies) > 3
        first = next(iter(copies.values()))
        assert [str(path) for path, text in copies.items() if text != first] == []


@pytest.mark.parametrize(
    "name", ["settings.c", "settings.h", "settings.hpp", "settings.rb", "input.go", "product.go"]
)
def test_what_two_contenders_share_is_the_same_in_both(name: str) -> None:
    copies = [path.read_bytes() for path in (ROOT / "contenders").rglob(name)]
    assert len(copies) > 1
    assert len(set(copies)) == 1


@pytest.mark.parametrize("name", ["read_cases", "read_count", "read_vector", "smallest_product"])
def test_the_python_batches_read_and_compute_a_case_alike(name: str) -> None:
    copies = []
    for path in (ROOT / "contenders").glob("*/batch.py"):
        text = path.read_text(encoding="utf-8")
        copies += [
            ast.get_source_segment(text, node)
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
    assert len(copies) > 3
    assert len(set(copies)) == 1


def test_uvloop_runs_the_programs_of_asyncio() -> None:
    """Nothing but the loop differs between the two, and what the first lines say of it."""
    for path in (ROOT / "contenders" / "python-uvloop").glob("*.py"):
        lines = path.read_text(encoding="utf-8").replace("uvloop.run(", "asyncio.run(").splitlines()
        theirs = (path.parents[1] / "python-asyncio" / path.name).read_text(encoding="utf-8").splitlines()
        rest = [line for line in lines[1:] if line not in ("", "import uvloop")]
        assert rest == [line for line in theirs[1:] if line], path.name


def test_of_tasklets_and_sockets_on_greenlets() -> None:
    python = ready("stackless-greenlet").build / "venv" / "bin" / "python"
    pytest_passes("stackless-greenlet", str(python), "test_tasklets.py", "test_sockets.py")


def test_of_the_limit() -> None:
    target = str(ready("limit").build.parents[1] / "limit-tests")
    passes("limit", "cargo", "test", "--quiet", "--locked", CARGO_TARGET_DIR=target)
