"""Folders and files that Ringside writes more than once, and never over others' files: a folder has a list of
its files with hashes, pages and badges name their maker."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringside.analysis.run import RunAnalysis
from ringside.errors import ReportError
from ringside.files import PARTIAL, whole_file
from ringside.render.plots.charts import charts_of, figures
from ringside.text import one_line

MANIFEST = "ringside.json"
FOLDER_FORMAT = 1
# Files that hosts keep beside a site; never read and never written.
_OTHERS = (MANIFEST, "CNAME")


class _Manifest(msgspec.Struct):
    """`ringside`: the kind of the folder."""

    ringside: str
    format: int
    # For each file all hashes that it may have after an interrupted write.
    files: dict[str, set[str]]
    about: msgspec.Raw


class Folder:
    """A folder of a `kind`: site, post or figures. `about`: what the kind keeps in the list, of one type."""

    def __init__(self, path: Path, kind: str, about: Any = None, *, beside_others: bool = False) -> None:
        """Open a folder, which may not exist. Raises ReportError for another kind, or others' files."""
        self.path, self.kind, self.about = path, kind, about
        self._files: dict[str, set[str]] = {}
        try:
            if path.exists() and not path.is_dir():
                raise ReportError(f"{path} is a file: name a folder")
            if (path / MANIFEST).exists():
                self._read_manifest()
            for file in () if beside_others else sorted(path.rglob("*")):
                name = file.relative_to(path)
                is_hidden = any(part.startswith(".") for part in name.parts)
                is_known = name.as_posix() in (*_OTHERS, *self._files) or name.suffix == PARTIAL
                if not (is_hidden or is_known or file.is_dir()):
                    raise ReportError(
                        f"{path} holds {one_line(str(name), 200)}, which is not Ringside's: name an empty "
                        f"folder, or one that `report --{kind}` wrote"
                    )
        except OSError as error:
            raise ReportError(f"{path} cannot be read: {error.strerror}") from error

    def _read_manifest(self) -> None:
        path = self.path / MANIFEST
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=_Manifest)
            if (manifest.ringside, manifest.format) != (self.kind, FOLDER_FORMAT):
                raise ReportError(
                    f"{self.path} is a {one_line(manifest.ringside, 20)} of format {manifest.format}: name "
                    f"another folder for a {self.kind} of format {FOLDER_FORMAT}"
                )
            self.about = msgspec.json.decode(manifest.about, type=type(self.about))
        except (msgspec.DecodeError, RecursionError) as error:
            raise ReportError(f"{path} is no list of Ringside's: name another folder") from error
        self._files = manifest.files

    def read(self, name: str) -> bytes | None:
        """A file of ours; None if it is missing or was changed."""
        try:
            data = (self.path / name).read_bytes()
        except OSError:
            return None
        return data if _hash(data) in self._files.get(name, ()) else None

    def write(self, files: Mapping[str, bytes]) -> list[str]:
        """Write files; their names. The list names them first, so an interrupted folder is still ours. Raises
        ReportError before it would overwrite another's file."""
        for name in files:
            target = self.path / name
            leads_away = target.parent.resolve() != (self.path.resolve() / name).parent
            if leads_away or target.is_symlink() or (target.exists() and self.read(name) is None):
                raise ReportError(
                    f"{target} was changed or is not Ringside's: nothing is written; move it away, or name "
                    "another folder"
                )
        hashes = {name: {_hash(data)} for name, data in files.items()}
        try:
            either = {name: self._files.get(name, set()) | new for name, new in hashes.items()}
            self._write_manifest(self._files | either)
            for name, data in files.items():
                _write_whole(self.path / name, data)
            self._write_manifest(self._files | hashes)
        except OSError as error:
            raise ReportError(f"{self.path} cannot be written: {error.strerror}; choose another") from error
        return sorted(files)

    def _write_manifest(self, files: dict[str, set[str]]) -> None:
        about = msgspec.Raw(msgspec.json.encode(self.about))
        manifest = _Manifest(self.kind, FOLDER_FORMAT, files, about)
        data = msgspec.json.encode(manifest, order="deterministic")
        _write_whole(self.path / MANIFEST, msgspec.json.format(data, indent=1) + b"\n")
        self._files = files


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        partial.write_bytes(data)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# In each page, and in each badge.
PAGE_MARK, BADGE_MARK = b'<meta name="generator" content="ringside ', b'data-generator="ringside"'


def refuse_others(path: Path, mark: bytes, option: str) -> None:
    """Raises ReportError if a file of another stands at the path; an empty file is nobody's."""
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}; choose another with {option}") from error
    if data and mark not in data:
        raise ReportError(
            f"{path} was not written by ringside: it stays as it is; move it away, or choose another with "
            f"{option}"
        )


def write_figures(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write each plot as SVG, PNG and CSV into a folder; the names of the files. Raises ReportError before it
    would overwrite another's file."""
    folder = Folder(path, "figures", beside_others=True)
    return folder.write(figures(itertools.chain(*charts_of(analyses))))
