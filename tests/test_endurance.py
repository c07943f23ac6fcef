"""scripts/endurance in short: `make soak` runs it for hours."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType

import pytest

from tests.runs import ROOT

SCRIPT = ROOT / "scripts" / "endurance"


def script() -> ModuleType:
    loader = SourceFileLoader("endurance", str(SCRIPT))
    spec = importlib.util.spec_from_loader("endurance", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules["endurance"] = module
    loader.exec_module(module)
    return module


ENDURANCE = script()


def looks(**growing: float) -> list[object]:
    """Fifty looks of a thousand trials each, in which some values grow by so much with each look."""
    base = {
        **{"probe": 7, "ringside_fds": 20, "probe_fds": 10, "ringside_bytes": 60_000_000},
        **{"probe_bytes": 5_000_000, "files": 1, "cgroups": 1},
    }
    return [
        ENDURANCE.Look(
            work=1000.0 * number,
            store_bytes=3_000_000 * number + round(growing.get("store", 0) * number**2),
            **{name: value + round(growing.get(name, 0) * number) for name, value in base.items()},
        )
        for number in range(1, 51)
    ]


def test_nothing_grows() -> None:
    assert ENDURANCE.growth(looks()) == []
    assert ENDURANCE.growth(looks()[:5]) == ["only 5 looks"]


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("ringside_fds", 1),
        ("probe_fds", 0.2),
        ("ringside_bytes", 5e6),
        ("probe_bytes", 5e5),
        ("files", 1),
        ("cgroups", 1),
    ],
)
def test_what_grows_is_named(name: str, by: float) -> None:
    (complaint,) = ENDURANCE.growth(looks(**{name: by}))
    assert complaint.startswith(f"{name} grew by ")


def test_a_store_that_grows_faster_and_faster() -> None:
    (complaint,) = ENDURANCE.growth(looks(store=1e5))
    assert "bytes of the store at first" in complaint


def test_sixty_trials_and_seconds_of_load() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--trials", "60", "--load", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done
    assert "60 trials: nothing grew" in done.stdout
    assert "a load of 3 s: nothing grew" in done.stdout
