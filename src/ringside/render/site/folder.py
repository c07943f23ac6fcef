"""Folders and single files that Ringside writes and later writes again. What is not its own, or was changed
since, is never overwritten: a folder holds a list of its files with their hashes, and pages and badges say in
themselves who made them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.errors import ReportError
from ringside.files import PARTIAL, whole_file
from ringside.render.plots.charts import figures
from ringside.text import one_line

MANIFEST = "ringside.json"
FOLDER_FORMAT = 1
# What hosts and version control keep beside a site; never read and never written.
_OTHERS = {"CNAME"}
_MAX_BYTES = 64 << 20


@dataclass
class Folder:
    """An open folder. `kind`: site, post or figures. `files`: hashes by path, of what is there and ours;
    `about`: what the kind keeps in its list."""

    path: Path
    kind: str
    files: dict[str, set[str]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, kind: str, *, beside_others: bool = False) -> Folder:
        """The folder, which may not exist yet. Raises ReportError where it is a folder of another kind, or
        holds files of others, unless ours may stand beside them."""
        folder = Folder(path, kind)
        try:
            if path.exists() and not path.is_dir():
                raise ReportError(f"{path} is a file: name a folder")
            if (path / MANIFEST).exists():
                folder._read_manifest()
            if not beside_others:
                folder._refuse_others()
        except OSError as error:
            raise ReportError(f"{path} cannot be read: {error.strerror}") from error
        return folder

    def read(self, name: str) -> bytes | None:
        """A file of ours; None where it is missing or was changed."""
        try:
            data = (self.path / name).read_bytes()
        except OSError:
            return None
        return data if _hash(data) in self.files.get(name, ()) else None

    def write(self, files: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        """Write files, then the list. Before the first one the list names all of them, so that a folder whose
        writing was interrupted is still ours. Raises ReportError, before anything is written where a file of
        another stands in the way."""
        for name in files:
            target = self.path / name
            leads_away = target.parent.resolve() != (self.path.resolve() / name).parent
            if leads_away or target.is_symlink() or (target.exists() and not self._is_ours(name)):
                raise ReportError(
                    f"{target} was changed or is not Ringside's: nothing is written; move it away, or name "
                    "another folder"
                )
        hashes = {name: _hash(data) for name, data in files.items()}
        try:
            for name, digest in hashes.items():
                self.files.setdefault(name, set()).add(digest)
            self._write_manifest(about)
            for name, data in files.items():
                _write_whole(self.path / name, data)
            for name, digest in hashes.items():
                self.files[name] = {digest}
            self._write_manifest(about)
        except OSError as error:
            raise ReportError(f"{self.path} cannot be written: {error.strerror}; choose another") from error

    def _is_ours(self, name: str) -> bool:
        return self.read(name) is not None

    def _read_manifest(self) -> None:
        path = self.path / MANIFEST
        if path.stat().st_size > _MAX_BYTES:
            raise ReportError(f"{path} is no list of Ringside's: name another folder")
        try:
            values = json.loads(path.read_bytes())
            kind, version = values["ringside"], values["format"]
            files = {str(name): {str(each) for each in hashes} for name, hashes in values["files"].items()}
            about = dict(values["about"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ReportError(f"{path} is no list of Ringside's: name another folder") from error
        if kind != self.kind or version != FOLDER_FORMAT:
            raise ReportError(
                f"{self.path} is a {one_line(str(kind), 20)} of format {one_line(str(version), 20)}: name "
                f"another folder for a {self.kind} of format {FOLDER_FORMAT}"
            )
        self.files, self.about = files, about

    def _refuse_others(self) -> None:
        if not self.path.exists():
            return
        for parent, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                relative = (Path(parent) / name).relative_to(self.path).as_posix()
                is_known = relative == MANIFEST or relative in self.files or name.endswith(PARTIAL)
                if not is_known and not name.startswith(".") and relative not in _OTHERS:
                    raise ReportError(
                        f"{self.path} holds {one_line(relative, 200)}, which is not Ringside's: name an "
                        f"empty folder, or one that `report --{self.kind}` wrote"
                    )

    def _write_manifest(self, about: Mapping[str, Any]) -> None:
        values = {
            "ringside": self.kind,
            "format": FOLDER_FORMAT,
            "files": {name: sorted(hashes) for name, hashes in sorted(self.files.items())},
            "about": about,
        }
        _write_whole(self.path / MANIFEST, (json.dumps(values, indent=1) + "\n").encode())


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        partial.write_bytes(data)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# In each page, the second in pages of earlier versions; and in each badge.
PAGE_MARKS = (b'<meta name="generator" content="ringside ', b"<footer>Made by ringside ")
BADGE_MARKS = (b'data-generator="ringside"',)


def refuse_others(path: Path, marks: tuple[bytes, ...], option: str) -> None:
    """Raises ReportError where a file of another stands at the path; an empty file is nobody's."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        data = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}; choose another with {option}") from error
    if not any(mark in data for mark in marks):
        raise ReportError(
            f"{path} was not written by ringside: it stays as it is; move it away, or choose another with "
            f"{option}"
        )


def write_file(path: Path, text: str, option: str) -> None:
    """Write a file, or leave what was there."""
    try:
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"{path} cannot be written: {error.strerror}; choose another with {option}"
        ) from error


def write_figures(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write each plot as SVG, PNG and CSV into a folder, which is made; the names of the files. Files of
    others may be in the folder. Raises ReportError, before anything is written where one of them has a name
    of ours."""
    folder = Folder.open(path, "figures", beside_others=True)
    files = {name: data for figure in figures(analyses) for name, data in figure.files.items()}
    folder.write(files, {})
    return sorted(files)
