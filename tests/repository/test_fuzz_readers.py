"""A few hundred changed inputs for each reader; `scripts/fuzz_readers.py` does so as long as one wants."""

import random
from pathlib import Path

import pytest

from tests.support.readers import Reader, accepts, all_readers, manifests

# Readers that also analyse are slow.
INPUTS = {"records": 20, "stores": 20}


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return all_readers(tmp_path_factory.mktemp("readers"))


@pytest.mark.parametrize(
    "name",
    [
        *("messages of a trial", "messages of a load", "manifests", "experiments", "published figures"),
        *("records", "stores"),
    ],
)
def test_changed_inputs_are_taken_or_refused(readers: dict[str, Reader], name: str, tmp_path: Path) -> None:
    (place := tmp_path / "input").mkdir()
    dice, reader = random.Random(1), readers[name]
    taken = [accepts(reader, reader.make(dice), place) for _ in range(INPUTS.get(name, 300))]
    # An input that is always refused early would test little.
    assert any(taken)
    assert not all(taken)


def test_another_error_is_found(tmp_path: Path) -> None:
    def fail(data: bytes, folder: Path) -> None:
        raise KeyError(data)

    with pytest.raises(KeyError):
        accepts(Reader(manifests().make, fail, (ValueError,)), b"x", tmp_path)
