"""Contenders, read into the model's types: from their manifests, and from outside the catalogue, as `--with`
names them: a folder with a manifest, or the command of a server that needs none."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec.structs import asdict
from packaging.version import InvalidVersion, Version

from ringside.catalogue.decode import Key, TomlFile, decode, read_toml
from ringside.catalogue.schema import Levels, ManifestFile, RuntimeTable
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import PLACEHOLDER, Contender, KnownWorkload, Runtime, WorkloadEntry
from ringside.model.design import Level
from ringside.text import nearest

# The workloads that there are, by their names.
Workloads = Mapping[str, KnownWorkload]


# Names with less in common are not suggested: `perl` is no misspelt `erlang`.
_NEAR = 0.65


def unknown(kind: str, name: str, known: Iterable[str], way_out: str = "") -> UsageError:
    """The error for a name that is not known, with the nearest ones. `way_out`: what
    helps where no name is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=_NEAR)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    more = f"; {way_out}" if way_out and not near else ""
    return UsageError(f"there is no {kind} `{name}`; {hint}{more}")


def known_workload(file: TomlFile, name: str, known: Workloads, keys: tuple[Key, ...]) -> KnownWorkload:
    """The workload of that name. Raises CatalogueError for an unknown one."""
    if name not in known:
        raise file.error(str(unknown("workload", name, known)), keys)
    return known[name]


def check_factor(
    file: TomlFile, factor: str, name: str, workload: KnownWorkload, keys: tuple[Key, ...]
) -> None:
    """Raise CatalogueError, at `keys`, for a factor that the workload `name` does not have."""
    if factor not in workload.factors:
        raise file.error(str(unknown(f"factor of `{name}` called", factor, workload.factors)), keys)


def check_levels(
    file: TomlFile, factor: str, levels: Levels, workload: KnownWorkload, keys: tuple[Key, ...]
) -> None:
    """Raise CatalogueError, at `keys`, for a level that the factor cannot have on any machine."""
    for level in levels if isinstance(levels, tuple) else (levels,):
        try:
            workload.check(factor, level)
        except UsageError as error:
            raise file.error(str(error), keys) from None


def check_placeholders(
    file: TomlFile, command: Iterable[str], known: Collection[str], keys: tuple[Key, ...]
) -> None:
    for name in (name for word in command for name in PLACEHOLDER.findall(word)):
        if name not in known:
            raise file.error(unknown_placeholder(name, known), keys)


def unknown_placeholder(name: str, known: Collection[str]) -> str:
    """What is wrong with a placeholder that is not known, with the nearest one."""
    near = nearest(name, known)
    hint = f"did you mean `{{{near}}}`? " if near else ""
    return (
        f"unknown placeholder `{{{name}}}`; {hint}known here: "
        f"{', '.join(f'`{{{other}}}`' for other in known)} (`{{ {name} }}` stays as it is)"
    )


def levels_of(
    file: TomlFile, keys: tuple[Key, ...], factors: Mapping[str, Levels]
) -> dict[str, tuple[Level, ...]]:
    """The levels of each factor; one that stands by itself becomes a tuple."""
    levels = {name: value if isinstance(value, tuple) else (value,) for name, value in factors.items()}
    for name, values in levels.items():
        if len(set(values)) != len(values):
            raise file.error(f"a level of `{name}` is given twice", (*keys, name))
    return levels


NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
NAME_RULE = "may hold a-z, 0-9, `.`, `_` and `-` only, and begins with a letter or a digit"


def read_contender(path: Path, known: Workloads | None = None) -> dict[str, Contender]:
    """A manifest: the contender on each of its runtimes, by name. The first runtime has the bare name.
    `known`: the workloads that there are; without them their names are not checked."""
    file = read_toml(path)
    folder = path.parent
    if not NAME.fullmatch(folder.name):
        raise CatalogueError(f"{path}: the folder's name {NAME_RULE}")
    manifest = decode(file, ManifestFile)
    if not manifest.title.strip():
        raise file.error("`title` is empty: write the contender's name in tables", ("title",))
    _check_idiom(file, manifest.idiom, ())
    for index, build in enumerate(manifest.build):
        check_placeholders(file, build.command, ("runtime", "build"), ("build", index, "command"))
    runtimes = {
        name: _runtime(file, name, table, manifest.workload) for name, table in manifest.runtime.items()
    }
    if not runtimes:
        raise file.error("`[runtime.NAME]` is missing: a contender has at least one")
    if not manifest.workload:
        raise file.error("`[workload.NAME]` is missing: a contender takes part in at least one")
    if known is not None:
        _check_workloads(file, manifest, known)
    workloads = {
        name: WorkloadEntry(
            **asdict(table)
            | {
                "kind": table.kind or manifest.kind,
                "only": levels_of(file, ("workload", name, "only"), table.only),
            }
        )
        for name, table in manifest.workload.items()
    }
    contenders = [
        Contender(
            name=folder.name if index == 0 else f"{folder.name}@{name}",
            folder=folder.resolve(),
            title=manifest.title,
            family=manifest.family,
            model=manifest.model,
            queue=manifest.queue,
            language=manifest.language,
            scheduler=manifest.scheduler,
            parallel=manifest.parallel if (own := manifest.runtime[name].parallel) is None else own,
            runtime=runtime,
            builds=(*manifest.runtime[name].build, *(build.command for build in manifest.build)),
            workloads=_on_runtime(workloads, manifest.runtime[name]),
            kind=manifest.kind,
            without=manifest.without | manifest.runtime[name].without,
            teaches=manifest.teaches,
            idiom=manifest.idiom,
            tuning=manifest.tuning,
            unequal=manifest.unequal,
        )
        for index, (name, runtime) in enumerate(runtimes.items())
    ]
    contenders += [_variant(file, name, manifest, contenders[0]) for name in manifest.variant]
    return {contender.name: contender for contender in contenders}


def _check_idiom(file: TomlFile, idiom: str, keys: tuple[Key, ...]) -> None:
    if idiom and not re.fullmatch(r"https://\S+", idiom):
        raise file.error(f"`idiom` must be the address of a page, https://…, not {idiom}", (*keys, "idiom"))


def _variant(file: TomlFile, name: str, manifest: ManifestFile, plain: Contender) -> Contender:
    """The contender on its first runtime with other settings."""
    table, keys = manifest.variant[name], ("variant", name)
    if not NAME.fullmatch(name):
        raise file.error(f"the variant's name `{name}` {NAME_RULE}", keys)
    if name in manifest.runtime:
        raise file.error(f"`{name}` is a runtime already: rename the variant", keys)
    _check_idiom(file, table.idiom, keys)
    for index, workload in enumerate(table.workloads):
        if workload not in plain.workloads:
            raise file.error(
                str(unknown("workload of this manifest", workload, plain.workloads)),
                (*keys, "workloads", index),
            )
    for variable, value in table.environment.items():
        check_placeholders(file, (value,), ("build",), (*keys, "environment", variable))
    for index, build in enumerate(table.build):
        check_placeholders(file, build.command, ("runtime", "build"), (*keys, "build", index, "command"))
    workloads = {
        each: replace(entry, command=(*entry.command, *table.arguments))
        for each, entry in plain.workloads.items()
        if each in table.workloads or not table.workloads
    }
    return replace(
        plain,
        name=f"{plain.name}@{name}",
        title=table.title,
        model=table.model or plain.model,
        queue=table.queue or plain.queue,
        idiom=table.idiom or plain.idiom,
        tuning=table.tuning,
        unequal=table.unequal,
        workloads=workloads,
        builds=(*plain.builds, *(build.command for build in table.build)),
        environment=table.environment,
        built_as="" if table.build else plain.name,
        without={},
        teaches=(),
    )


def _on_runtime(workloads: dict[str, WorkloadEntry], table: RuntimeTable) -> dict[str, WorkloadEntry]:
    """The workloads of a contender on one of its runtimes, with what that takes before a script."""
    return {
        name: replace(entry, command=(entry.command[0], *table.arguments, *entry.command[1:]))
        if entry.command[0] == "{runtime}"
        else entry
        for name, entry in workloads.items()
        if name not in table.without
    }


def _runtime(file: TomlFile, name: str, table: RuntimeTable, workloads: Collection[str]) -> Runtime:
    keys = ("runtime", name)
    if not NAME.fullmatch(name):
        raise file.error(f"the runtime's name `{name}` {NAME_RULE}", keys)
    for key, command in (("version", table.version), ("locate", table.locate)):
        check_placeholders(file, command, ("runtime",), (*keys, key))
    for workload in table.without:
        if workload not in workloads:
            message = f"`{workload}` has no command, so it belongs to `[without]` of the manifest"
            raise file.error(message, (*keys, "without", workload))
    check_placeholders(file, table.brings, ("build",), (*keys, "brings"))
    for index, command in enumerate(table.build):
        check_placeholders(file, command, ("runtime", "build"), (*keys, "build", index))
    if table.minimum is not None:
        try:
            Version(table.minimum)
        except InvalidVersion:
            message = f"`runtime.{name}.minimum` must be a version like 1.19, not {table.minimum}"
            raise file.error(message, (*keys, "minimum")) from None
    fields = asdict(table)
    # Those of the contender on this runtime.
    for key in ("parallel", "build", "arguments", "without"):
        del fields[key]
    return Runtime(name=name, **fields)


def _check_workloads(file: TomlFile, manifest: ManifestFile, known: Workloads) -> None:
    """Workloads, factors and placeholders must be known."""
    for name, table in manifest.workload.items():
        keys = ("workload", name)
        workload = known_workload(file, name, known, keys)
        if table.host and not workload.is_service:
            raise file.error(f"`host` is for servers, and `{name}` has none", (*keys, "host"))
        for key, named in (("most", table.most), ("only", table.only)):
            for factor in named:
                check_factor(file, factor, name, workload, (*keys, key, factor))
        for index, capability in enumerate(table.capabilities):
            if capability not in workload.capabilities:
                known_ones = ", ".join(workload.capabilities) or "none"
                message = f"the workload `{name}` has no capability `{capability}`; it has: {known_ones}"
                raise file.error(message, (*keys, "capabilities", index))
        for factor, levels in table.only.items():
            check_levels(file, factor, levels, workload, (*keys, "only", factor))
        placeholders = ("runtime", "build", *workload.factors)
        check_placeholders(file, table.command, placeholders, (*keys, "command"))
        for variant, settings in manifest.variant.items():
            if name in settings.workloads or not settings.workloads:
                check_placeholders(file, settings.arguments, placeholders, ("variant", variant, "arguments"))
    for index, name in enumerate(manifest.teaches):
        if name not in manifest.workload:
            raise file.error(f"`{name}` has no command, so nothing teaches it", ("teaches", index))
    for name, reason in manifest.without.items():
        known_workload(file, name, known, ("without", name))
        if name in manifest.workload:
            raise file.error(f"`{name}` has a command and a reason why it has none", ("without", name))
        if not reason.strip():
            raise file.error(f"the reason why there is no `{name}` is missing", ("without", name))


MANIFEST = "contender.toml"
# The arguments of every server.
_SERVER_ARGUMENTS = ("port", "host", "seed")
# `mine=./server --port {port}`; a path may have a `=` behind its first `/`.
_COMMAND = re.compile(r"([^/=]*)=(.*)", re.DOTALL)


def added_contenders(words: Iterable[str], known: Workloads | None) -> dict[str, list[Contender]]:
    """The contenders of each `--with`, on each of their runtimes, by the folder's name. `known`: the
    workloads that exist. Raises UsageError, CatalogueError."""
    added: dict[str, list[Contender]] = {}
    places: dict[str, str] = {}
    for word in words:
        command = _COMMAND.fullmatch(word)
        contenders = (
            [_server(command[1], command[2], known)] if command else _of_folder(Path(word), word, known)
        )
        name = contenders[0].name
        if name in added:
            raise UsageError(
                f"--with {places[name]} and --with {word} are both called `{name}`: rename one of them"
            )
        added[name], places[name] = contenders, word
    return added


def _of_folder(path: Path, word: str, known: Workloads | None) -> list[Contender]:
    folder = path.parent if path.name == MANIFEST else path
    if not folder.is_dir():
        raise UsageError(f"there is no folder {word}; a server needs none: 'NAME=COMMAND {{port}}'")
    manifest = folder.resolve() / MANIFEST
    if not manifest.is_file():
        raise UsageError(
            f"--with {word}: the folder has no {MANIFEST}; `ringside new contender` makes one, "
            "and a server needs none: 'NAME=COMMAND {port}'"
        )
    return list(read_contender(manifest, known).values())


def _server(name: str, line: str, known: Workloads | None) -> Contender:
    """A server that is started by a command line and takes part in every workload of servers. It gets no
    `key=value` arguments: what it needs is in its command line."""
    if not NAME.fullmatch(name):
        raise UsageError(f"--with {name}={line}: the name {NAME_RULE}")
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--with {name}={line}: {str(error).lower()}; quote it as for a shell") from None
    if not command:
        raise UsageError(f"--with {name}=: write the server's command behind the `=`")
    placeholders = {match for word in command for match in PLACEHOLDER.findall(word)}
    if "port" not in placeholders:
        raise UsageError(
            f"--with {name}={line}: the command needs `{{port}}`, where the server gets its port; other "
            f"programs need a folder with a {MANIFEST} (`ringside new contender`)"
        )
    workloads = (known or {}).values()
    arguments = [*_SERVER_ARGUMENTS, *(word for workload in workloads for word in workload.server_arguments)]
    factors = {factor for workload in workloads for factor in workload.factors}
    for placeholder in sorted(placeholders):
        if known is not None and placeholder not in factors.union(arguments):
            raise UsageError(f"--with {name}={line}: {unknown_placeholder(placeholder, arguments)}")
    program = command[0]
    if shutil.which(program) is None:
        raise UsageError(f"--with {name}={line}: there is no program {program} that can be executed")
    if "/" in program:
        program = str(Path(program).absolute())
    entry = WorkloadEntry(("{runtime}", *command[1:]), host="host" in placeholders, is_plain=True)
    servers = [workload for workload, each in (known or {}).items() if each.is_service]
    return Contender(
        name=name,
        folder=Path.cwd(),
        title=name,
        parallel=True,
        runtime=Runtime(name="command", executable=(program,), version=()),
        workloads=dict.fromkeys(servers, entry),
        has_sources=False,
    )
