from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test may fail because a machine was slow.
settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, as a user would."""
    monkeypatch.chdir(tmp_path)
    for name in ("RINGSIDE_CATALOGUE", "RINGSIDE_STORE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def add_fake(workplace: Path) -> Callable[..., None]:
    """Adds a contender to the workplace's own catalogue that is fine but for `how`."""

    def add(name: str, how: str = "good", *more: str) -> None:
        folder = workplace / "contenders" / name
        folder.mkdir(parents=True)
        shutil.copy(FAKES / "fake.py", folder)
        words = ", ".join(f'"{word}"' for word in (f"how={how}", *more))
        manifest = (FAKES / "contender.toml").read_text(encoding="utf-8").replace('"how=HOW"', words)
        (folder / "contender.toml").write_text(manifest, encoding="utf-8")
        (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")

    return add


@pytest.fixture
def add_experiment(workplace: Path) -> Callable[..., None]:
    """Adds an experiment of fakes to the workplace's own catalogue."""

    def add(name: str, *contenders: str, blocks: int = 1, more: str = "") -> None:
        folder = workplace / "experiments"
        folder.mkdir(exist_ok=True)
        names = ", ".join(f'"{contender}"' for contender in contenders)
        text = (
            f'title = "{name}"\nworkload = "ring"\ncontenders = [{names}]\nblocks = {blocks}\n'
            f"[factors]\nnodes = 4\nmessages = 5\n{more}"
        )
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")

    return add
