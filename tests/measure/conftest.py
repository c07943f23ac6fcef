from functools import partial
from pathlib import Path

import pytest

from ringside.measure.toolchain.builds import Toolchain
from tests.support.fake_contenders import Add
from tests.support.fake_runs import Started, start
from tests.support.toolchains import script


@pytest.fixture
def thing(tmp_path: Path) -> Path:
    """A runtime of version 1.0."""
    return script(tmp_path / "thing", "echo 1.0")


@pytest.fixture
def tools(tmp_path: Path) -> Toolchain:
    return Toolchain(tmp_path / "builds")


@pytest.fixture
def started(add_fake: Add, add_experiment: Add, workplace: Path) -> Started:
    return partial(start, workplace, add_fake, add_experiment)
