"""Texts kept word by word in tests/golden: who changes a sentence, a table or a document reads there what it
makes of them. `GOLDEN=write .venv/bin/pytest tests/render tests/load` writes them anew."""

import os

from tests.support import TESTS


def check(name: str, text: str) -> None:
    """Compare a text with the file of that name, or write the file anew."""
    file = TESTS / "golden" / name
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    hint = "read the difference; if it is meant, run the test again with GOLDEN=write in the environment"
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines(), hint
