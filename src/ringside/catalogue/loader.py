"""Finds contenders, experiments and published figures, and reads them into the model's types.

The catalogue that travels with ringside comes first; folders `contenders/`, `experiments/`, `questions/` and
`published/` of the working directory, and those named in RINGSIDE_CATALOGUE (separated by `:`), add to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from ringside.catalogue.contenders import Workloads, added_contenders, read_contender
from ringside.catalogue.decode import unknown
from ringside.catalogue.experiments import (
    Known,
    read_experiment,
    read_published,
    read_question,
    read_suite,
)
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import Contender, Published, Question
from ringside.model.design import DEFAULT_BLOCKS, Experiment, Suite


def own_folder() -> Path:
    """Where ringside's own catalogue is: in the wheel, or in the checkout that this module belongs to."""
    bundled = Path(__file__).resolve().parents[1] / "bundled"
    return bundled if bundled.is_dir() else Path(__file__).resolve().parents[3]


def roots() -> list[Path]:
    """The folders that hold a catalogue, ringside's own first."""
    named = [Path(part) for part in os.environ.get("RINGSIDE_CATALOGUE", "").split(":") if part]
    for folder in named:
        if not folder.is_dir():
            raise UsageError(f"RINGSIDE_CATALOGUE names {folder}, which is not a folder: correct or unset it")
    return list(dict.fromkeys(folder.resolve() for folder in [own_folder(), *named, Path.cwd()]))


class Catalogue:
    """All that can be run. A file is read when it is asked for, so a broken one hurts only its users."""

    def __init__(
        self,
        folders: Iterable[Path] | None = None,
        workloads: Workloads | None = None,
        outside: Iterable[str] = (),
    ) -> None:
        """`folders`: where to look, those of `roots` by default. `workloads`: those that there are; manifests
        and published figures are checked against them where they are known. `outside`: further contenders, as
        `--with` names them. Raises UsageError and CatalogueError for these."""
        self.folders = list(folders) if folders is not None else roots()
        self._workloads = workloads
        self._added = added_contenders(outside, workloads)
        self._check_added()
        self._kept: dict[tuple[object, ...], dict[str, Contender]] = {}

    def contender_names(self) -> list[str]:
        """Names of the folders that hold a `contender.toml`, sorted; then those from outside."""
        return [*sorted(self._manifests().keys() - self._added.keys()), *self._added]

    def added(self, workload: str | None = None) -> list[str]:
        """Names of the contenders from outside, those that have the workload."""
        return [
            name
            for name, contenders in self._added.items()
            if workload is None or workload in contenders[0].workloads
        ]

    def experiment_names(self) -> list[str]:
        """Names of experiments and suites, sorted."""
        return sorted(self._files("experiments"))

    def contender(self, name: str, manifests: Mapping[str, Path] | None = None) -> Contender:
        """The contender `name`, `name@runtime` or `name@variant`; `manifests` as for `runtimes`. Raises
        UsageError for an unknown one."""
        folder, _, runtime = name.partition("@")
        contenders = {contender.name: contender for contender in self.runtimes(folder, manifests)}
        if runtime and name not in contenders:
            raise UsageError(
                f"contender `{folder}` has no runtime or variant `{runtime}`; it has: {', '.join(contenders)}"
            )
        return contenders[name] if runtime else next(iter(contenders.values()))

    def runtimes(self, folder: str, manifests: Mapping[str, Path] | None = None) -> list[Contender]:
        """The contender of a folder on each of its runtimes, the first runtime's first, then its variants.
        `manifests`: by folder, if they have been found already. Raises UsageError for an unknown one."""
        if folder in self._added:
            return self._added[folder]
        manifests = self._manifests() if manifests is None else manifests
        if folder not in manifests:
            raise unknown("contender", folder, manifests, "one outside the catalogue needs --with")
        return list(self._read(manifests[folder]).values())

    def _read(self, manifest: Path) -> dict[str, Contender]:
        """The contenders of a manifest, read again only where the file has changed: experiments name the same
        ones again and again."""
        try:
            state = manifest.stat()
        except OSError:
            return read_contender(manifest, self._workloads)
        key = (manifest, state.st_mtime_ns, state.st_size, state.st_ino)
        if key not in self._kept:
            self._kept[key] = read_contender(manifest, self._workloads)
        return self._kept[key]

    def contenders(self) -> tuple[list[Contender], dict[str, CatalogueError]]:
        """All contenders on each of their runtimes; and the errors of manifests that cannot be read, by the
        folder's name."""
        contenders: list[Contender] = []
        errors: dict[str, CatalogueError] = {}
        for folder in self.contender_names():
            try:
                contenders += self.runtimes(folder)
            except CatalogueError as error:
                errors[folder] = error
        return contenders, errors

    def experiment(self, name: str) -> Experiment:
        """The experiment `name`, or the one in the file of that path, or a workload at its defaults."""
        if _is_path(name):
            if not Path(name).is_file():
                raise UsageError(f"there is no experiment file {name}")
            return read_experiment(Path(name), self._known())
        files = self._files("experiments")
        if name not in files and name in (self._workloads or {}):
            return self._of_workload(name)
        if name not in files:
            raise unknown("experiment", name, [*files, *(self._workloads or {})])
        return read_experiment(files[name], self._known())

    def _of_workload(self, name: str) -> Experiment:
        """A workload at its defaults, with the contenders from outside; there may be none."""
        assert self._workloads is not None
        title, names = self._workloads[name].title or name, tuple(self.added(name))
        baseline = names[0] if names else ""
        return Experiment(name, title, name, names, {}, baseline, blocks=DEFAULT_BLOCKS, until_decided=True)

    def _known(self) -> Known | None:
        """What experiments may name; None where the workloads are not known."""
        if self._workloads is None:
            return None
        # An experiment names many contenders: manifests are looked for once.
        contender = partial(self.contender, manifests=self._manifests())
        return Known(self._workloads, contender, self.published_names)

    def suite(self, name: str) -> Suite | None:
        """The suite of that name or path, None where it is an experiment."""
        files = self._files("experiments")
        file = Path(name) if _is_path(name) else files.get(name)
        return read_suite(file, sorted(files)) if file and file.is_file() else None

    def published(self, name: str) -> Published:
        """The published figures and claims of a source. Raises UsageError for an unknown one."""
        files = self._files("published")
        if name not in files:
            raise unknown("source of published figures", name, files)
        return read_published(files[name], self._workloads, self.contender_names())

    def published_names(self) -> list[str]:
        """Names of the sources of published figures, sorted."""
        return sorted(self._files("published"))

    def questions(self) -> list[Question]:
        """All questions, in their order: those of files, and those that workloads of other distributions
        bring. Raises CatalogueError for a file that cannot be read."""
        known, experiments = self._workloads or {}, self._files("experiments")

        def experiment_of(name: str) -> Experiment | None:
            return None if self.suite(name) else self.experiment(name)

        files = self._files("questions").values()
        read = [read_question(file, known, experiments, experiment_of) for file in files]
        own = [each for workload in known.values() for each in workload.questions]
        return sorted((*read, *own), key=lambda each: (each.order, each.name))

    def _check_added(self) -> None:
        """Raises UsageError where one from outside has the name of another folder of the catalogue."""
        manifests = self._manifests() if self._added else {}
        for name, contenders in self._added.items():
            own = manifests.get(name)
            if own and not (contenders[0].has_sources and own.parent.samefile(contenders[0].folder)):
                raise UsageError(
                    f"--with: the catalogue has a contender `{name}` too, in {own.parent}: rename one of them"
                )

    def _manifests(self) -> dict[str, Path]:
        return {file.parent.name: file for file in self._glob("contenders", "*/contender.toml")}

    def _files(self, kind: str) -> dict[str, Path]:
        return {file.stem: file for file in self._glob(kind, "*.toml")}

    def _glob(self, kind: str, pattern: str) -> list[Path]:
        """The files, those of the first folder last: by name, they stand in place of others."""
        return [file for root in reversed(self.folders) for file in (root / kind).glob(pattern)]


def _is_path(name: str) -> bool:
    return name.endswith(".toml") or "/" in name
