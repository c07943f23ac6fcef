"""A contender's files, made from the templates of a language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

from ringside.catalogue.manifests import NAME, NAME_RULE
from ringside.catalogue.names import unknown
from ringside.errors import UsageError
from ringside.scaffold.languages import ALIASES, ALL_WORKLOADS, LANGUAGES, SERVERS, Language


def contender_files(name: str, language: str, workloads: Sequence[str]) -> dict[PurePosixPath, str]:
    """The files of a new contender by their path in its folder. Raises UsageError for a name that no
    contender can have, an unknown language, and a workload without a template."""
    if not NAME.fullmatch(name):
        raise UsageError(f"the name `{name}` {NAME_RULE}")
    chosen = ALIASES.get(language.lower(), language.lower())
    if chosen not in LANGUAGES:
        way_out = (
            "CONTRIBUTING.md of Ringside shows how to write a contender in another one: begin with a copy"
        )
        raise unknown("language", language, LANGUAGES, way_out)
    kind = LANGUAGES[chosen]
    for workload in workloads:
        if workload not in ALL_WORKLOADS:
            raise UsageError(
                f"there is no template of `{workload}`, only of {', '.join(ALL_WORKLOADS)}. "
                "Write its program by docs/PROTOCOL.md and add it to the manifest"
            )
    names = list(dict.fromkeys(workloads))
    sources = dict(kind.shared)
    for helper, (source, users) in kind.helpers.items():
        if not set(users).isdisjoint(names):
            sources[helper] = source
    for workload in names:
        sources[_filled(kind.program, workload)] = _filled(kind.source, workload)
    made = {PurePosixPath(path): _template(kind, source) for path, source in sources.items()}
    made[PurePosixPath("contender.toml")] = _manifest(name, kind, names, list(sources))
    made[PurePosixPath("README.md")] = _readme(name, kind, names)
    return made


def write(folder: Path, made: Mapping[PurePosixPath, str]) -> None:
    """Write the files into a new folder. Raises UsageError where it exists, or cannot be written."""
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists, and nothing is overwritten: choose another name or remove it")
    try:
        for path, text in made.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}") from error


def _template(language: Language, name: str) -> str:
    folder = files("ringside.scaffold") / "templates" / language.name
    return (folder / f"{name}.tmpl").read_text(encoding="utf-8")


def _filled(text: str, workload: str) -> str:
    return text.replace("{workload}", workload).replace("{Workload}", workload.capitalize())


def _words(command: Sequence[str], workload: str = "") -> str:
    """A command as TOML, whose strings are those of JSON."""
    return "[" + ", ".join(json.dumps(_filled(word, workload), ensure_ascii=False) for word in command) + "]"


def _manifest(name: str, language: Language, workloads: Sequence[str], sources: Sequence[str]) -> str:
    words = [word for each in language.build for word in (sources if each == "{sources}" else (each,))]
    builds = [_words(words)] if words else []
    builds += [_words(language.build_each, workload) for workload in workloads if language.build_each]
    computes = bool(language.computing) and not {"batch", "jobs"}.isdisjoint(workloads)
    model = f"{language.model}; {language.computing}" if computes else language.model
    parts = [
        "# What Ringside knows of this contender. docs/KEYS.md of Ringside lists all keys.\n"
        f'title     = "{language.title}, {name}"\n'
        f'family    = "{language.family}"\n'
        f'model     = "{model}"\n'
        f'language  = "{language.title.split(" on ")[0]}"\n'
        f"parallel  = {json.dumps(language.parallel or computes)}\n"
        f'queue     = "{language.queue}"\n'
        f'scheduler = "{language.scheduler}"\n',
        "# {runtime} is the first of these executables that prints a version.\n" + language.runtime,
    ]
    for number, build in enumerate(builds):
        note = "# {build} is a folder for what builds make; nothing is written beside the sources.\n"
        parts.append(f"{note if number == 0 else ''}[[build]]\ncommand = {build}\n")
    for workload in workloads:
        command = language.commands.get(workload, language.command)
        lines = [f"[workload.{workload}]", f"command = {_words(command, workload)}"]
        if workload in SERVERS:
            lines.append("host    = true")
        if workload == "ring":
            lines.append("# The ring's queues have one size; add `capacity` where it can be chosen.")
            lines.append('capabilities = ["hold", "token", "trace", "repeats"]')
            if language.most_threads:
                lines.append(f"most    = {{ nodes = {language.most_threads} }}")
        if workload == "batch":
            lines.append("# The queue of answers has one size too.")
            lines.append('capabilities = ["repeats"]')
        if workload == "jobs":
            lines.append('capabilities = ["hold", "trace", "repeats"]')
        if workload == "sleepers":
            lines.append('capabilities = ["hold"]')
        if workload == "feed" and language.most_threads:
            lines.append("# A thread for each connection.")
            lines.append("most    = { connections = 4000 }")
        if workload == "sleepers" and language.most_threads:
            lines.append("# A thread for each task.")
            lines.append(f"most    = {{ tasks = {language.most_threads} }}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _readme(name: str, language: Language, workloads: Sequence[str]) -> str:
    experiments = " or ".join(f"`ringside run {workload} --with .`" for workload in workloads)
    return f"""# {name}
A contender of Ringside in {language.title}: {language.model}.

```
ringside check .
```

tells whether it keeps the contract (docs/PROTOCOL.md of Ringside), and {experiments} measures it. Say
here which idiom of which community it is, what was chosen, and what is unequal: the bound of queues,
preemption, cores.
"""
