"""Records: compressed runs for repositories; every reading command takes one as a store (docs/STORE.md)."""

import json
import lzma
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringside.errors import StoreError
from ringside.files import whole_file
from ringside.model.results import Run
from ringside.store.connection import FORMAT
from ringside.store.database import Store
from ringside.text import one_line

SUFFIX = ".json.xz"


def write(store: Store, runs: Sequence[Run], path: Path) -> None:
    """Write runs with all of their trials, samples and sources, or leave the old file. Paths below the user's
    home begin with `~`: a record is meant to be published. Raises StoreError."""
    tables = ",".join(f'"{name}":{_table_text(name, rows)}' for name, rows in store.rows_of(runs).items())
    text = f'{{"record":{FORMAT},"tables":{{{tables}}}}}'
    try:
        # Preset 6 is xz's own default; a higher one needs much more memory for a few per cent.
        with whole_file(path) as partial, lzma.open(partial, "wt", encoding="utf-8", preset=6) as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; choose another with -o") from error


def _table_text(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
    home = os.path.expanduser("~")
    # A source keeps the text of its hash; samples name no paths, but base64 can look like one. A home of `/`
    # is no prefix that says anything.
    if name in ("source", "timeline") or not home.strip("/~"):
        return text
    # From the beginning of a path (also after a line break in JSON's form) to the end of a name in it.
    return re.sub(rf"(?:(?<![\w.~/-])|(?<=\\[nrt])){re.escape(home)}(?![\w.-])", "~", text)


def read(path: Path) -> Store:
    """A store in memory of a record's runs. Raises StoreError for no record, or one of an unknown format."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise StoreError(f"the record {path} cannot be read: {error.strerror or error}") from error
    except (lzma.LZMAError, EOFError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} is no record, or it is cut off: write it again with `export`") from error
    version = document.get("record") if isinstance(document, dict) else None
    if version is None:
        raise StoreError(f"{path} is no record: `ringside export --format record -o run.json.xz` writes one")
    if version != FORMAT:
        raise StoreError(
            f"the record {path} has format {one_line(str(version), 20)}, this ringside knows {FORMAT}: use "
            "the ringside that wrote it"
        )
    tables: Any = document.get("tables")
    store = Store(None)
    store.where = str(path)
    store.add_rows(tables)
    return store
