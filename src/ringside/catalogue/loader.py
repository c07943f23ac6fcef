"""Finds and reads the catalogue: ringside's own, then `contenders/`, `experiments/`, `questions/` and
`published/` of the working directory and of the folders in RINGSIDE_CATALOGUE (separated by `:`)."""

import os
from collections.abc import Iterable
from pathlib import Path

from ringside.catalogue.contenders import MANIFEST, added_contenders, read_contender
from ringside.catalogue.decode import unknown
from ringside.catalogue.experiments import read_experiment, read_published, read_question, read_suite
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import Contender, Published, Question
from ringside.model.design import DEFAULT_BLOCKS, Experiment, Suite
from ringside.text import one_line
from ringside.workloads import WORKLOADS


def own_folder() -> Path:
    """The folder of ringside's own catalogue: in the wheel, or in the checkout that contains this module."""
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
    """All that can be run. Each file is read once, when needed; a broken one affects only its users."""

    def __init__(self, folders: Iterable[Path] | None = None, outside: Iterable[str] = ()) -> None:
        """`folders` hold it [`roots`]; `outside`: words of `--with`. Raises UsageError, CatalogueError."""
        self.folders = list(folders) if folders is not None else roots()
        self._manifests = {file.parent.name: file for file in self._glob("contenders", "*/contender.toml")}
        self._added = added_contenders(outside)
        # The contenders that have been read, by folder.
        self._contenders = dict(self._added)
        for name, (first, *_) in self._added.items():
            own = self._manifests.get(name)
            if own and not (first.has_sources and own.parent.samefile(first.folder)):
                raise UsageError(
                    f"--with: the catalogue has a contender `{name}` too, in {own.parent}: rename one of them"
                )

    def contender_names(self) -> list[str]:
        """Names of the folders that hold a `contender.toml`, sorted; then those from outside."""
        return [*sorted(self._manifests.keys() - self._added.keys()), *self._added]

    def added(self, workload: str | None = None) -> list[str]:
        """Names of the contenders from outside, those that have the workload."""
        return [name for name, (first, *_) in self._added.items() if workload in (None, *first.workloads)]

    def experiment_names(self) -> list[str]:
        """Names of experiments and suites, sorted."""
        return sorted(self._files("experiments"))

    def contender(self, name: str) -> Contender:
        """The contender `name`, `name@runtime` or `name@variant`. Raises UsageError for an unknown one."""
        folder, at, runtime = name.partition("@")
        contenders = {contender.name: contender for contender in self.runtimes(folder)}
        if not at:
            return next(iter(contenders.values()))
        if name not in contenders:
            raise UsageError(
                f"contender `{folder}` has no runtime or variant `{runtime}`; it has: {', '.join(contenders)}"
            )
        return contenders[name]

    def runtimes(self, folder: str) -> list[Contender]:
        """A folder's contender on each runtime, then its variants. Raises UsageError for an unknown one."""
        if folder not in self._contenders:
            if folder not in self._manifests:
                raise self._unknown_contender(folder)
            contenders = read_contender(self._manifests[folder])
            self._contenders[folder] = list(contenders.values())
        return self._contenders[folder]

    def _unknown_contender(self, name: str) -> UsageError:
        if Path(name).is_dir():
            has_manifest = (Path(name) / MANIFEST).is_file()
            hint = f"for the folder add --with ./{name}" if has_manifest else f"its folder has no {MANIFEST}"
            return UsageError(f"there is no contender `{one_line(name)}` in the catalogue; {hint}")
        way_out = "`ringside list contenders` names them; one outside the catalogue needs --with"
        return unknown("contender", name, self.contender_names(), way_out)

    def contenders(self) -> tuple[list[Contender], dict[str, CatalogueError]]:
        """All contenders on each of their runtimes, and the errors of unreadable manifests, by folder."""
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
        files, file = self._named(name)
        if file is not None:
            if not file.is_file():
                raise UsageError(f"there is no experiment file {name}")
            return read_experiment(file, self.contender, self.published_names)
        if name not in WORKLOADS:
            way_out = "`ringside list experiments` names them; the name of a file ends in .toml"
            raise unknown("experiment", name, [*files, *WORKLOADS], way_out)
        title, names = WORKLOADS[name].title or name, tuple(self.added(name))
        baseline = names[0] if names else ""
        return Experiment(name, title, name, names, {}, baseline, blocks=DEFAULT_BLOCKS, until_decided=True)

    def suite(self, name: str) -> Suite | None:
        """The suite of that name or path, None if it is an experiment."""
        files, file = self._named(name)
        return read_suite(file, sorted(files)) if file and file.is_file() else None

    def published(self, name: str) -> Published:
        """The published figures and claims of a source. Raises UsageError for an unknown one."""
        files = self._files("published")
        if name not in files:
            raise unknown("source of published figures", name, files)
        return read_published(files[name], self.contender_names())

    def published_names(self) -> list[str]:
        """Names of the sources of published figures, sorted."""
        return sorted(self._files("published"))

    def questions(self) -> list[Question]:
        """All questions in order: of files, and of other distributions' workloads. Raises CatalogueError."""
        experiments = self._files("experiments")

        def experiment_of(name: str) -> Experiment | None:
            return None if self.suite(name) else self.experiment(name)

        files = self._files("questions").values()
        read = [read_question(file, experiments, experiment_of) for file in files]
        own = [each for workload in WORKLOADS.values() for each in workload.questions]
        return sorted((*read, *own), key=lambda each: (each.order, each.name))

    def _named(self, name: str) -> tuple[dict[str, Path], Path | None]:
        """The files of experiments, and the one of that name or path."""
        files = self._files("experiments")
        return files, Path(name) if name.endswith(".toml") or "/" in name else files.get(name)

    def _files(self, kind: str) -> dict[str, Path]:
        return {file.stem: file for file in self._glob(kind, "*.toml")}

    def _glob(self, kind: str, pattern: str) -> list[Path]:
        """The files, those of the first folder last: a file replaces earlier ones of its name."""
        return [file for root in reversed(self.folders) for file in (root / kind).glob(pattern)]
