"""Files that programs read: made once, kept beside the builds, and known by their hash."""

import errno
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ringside.errors import UsageError
from ringside.files import whole_file
from ringside.model.design import Input, InputFile


class Inputs:
    """The inputs below a folder. Each is checked by its hash when it is first asked for. `on_make` is called
    before one is made, with its name and its largest size in bytes."""

    def __init__(self, folder: Path, on_make: Callable[[str, int], None] | None = None) -> None:
        self.folder = folder
        self._on_make = on_make
        self._checked: dict[str, Input] = {}

    def get(self, file: InputFile) -> Input:
        """The input, made if missing or changed. Raises UsageError without room, or if it is unwritable."""
        if file.name not in self._checked:
            path = (self.folder / file.name).resolve()
            # With its answers, and the record of their hashes.
            paths = path, path.with_name(f"{path.name}.answers"), path.with_name(f"{path.name}.json")
            self._checked[file.name] = _kept(*paths) or self._make(file, *paths)
        return self._checked[file.name]

    def _make(self, file: InputFile, path: Path, answers: Path, record: Path) -> Input:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(path.parent).free
            if free < file.most_bytes:
                raise UsageError(_no_room(file, path.parent, free))
            if self._on_make:
                self._on_make(file.name, file.most_bytes)
            return _write(file, path, answers, record)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise UsageError(_no_room(file, path.parent, 0)) from error
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _kept(path: Path, answers: Path, record: Path) -> Input | None:
    # Reading anything else, a named pipe for instance, may never end.
    if not all(each.is_file() for each in (path, answers, record)):
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(record.read_text(encoding="utf-8"))
        hashes = (_sha256(path), _sha256(answers))
        if (kept["sha256"], kept["answer_sha256"]) == hashes:
            return Input(path, path.stat().st_size, hashes[1], answers)
    return None


def _write(file: InputFile, path: Path, answers: Path, record: Path) -> Input:
    text_hash, answer_hash = hashlib.sha256(), hashlib.sha256()
    with (
        # The text gets its name last: without it the files beside it do not count.
        whole_file(path) as text_path,
        whole_file(answers) as answer_path,
        whole_file(record) as record_path,
    ):
        with text_path.open("wb") as text_file, answer_path.open("wb") as answer_file:
            for text, answer in file.pieces():
                text_file.write(text)
                text_hash.update(text)
                answer_file.write(answer)
                answer_hash.update(answer)
            size = text_file.tell()
        hashes = {"sha256": text_hash.hexdigest(), "answer_sha256": answer_hash.hexdigest()}
        record_path.write_text(json.dumps(hashes) + "\n", encoding="utf-8")
    return Input(path, size, answer_hash.hexdigest(), answers)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _no_room(file: InputFile, folder: Path, free: int) -> str:
    ways_out = ["make room", file.smaller, "or name another folder in RINGSIDE_INPUTS"]
    return (
        f"the input {file.name} takes up to {file.most_bytes / 1e6:,.0f} MB in {folder}, where "
        f"{free / 1e6:,.0f} MB are free: {', '.join(filter(None, ways_out))}"
    )
