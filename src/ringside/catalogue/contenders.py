"""Contenders: from manifests, or as `--with` names them: a folder with a manifest, or a server's command."""

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from ringside.catalogue.decode import Key, TomlFile, decode, read_toml
from ringside.errors import UsageError
from ringside.model import catalogue as model
from ringside.model.design import Levels, as_tuple
from ringside.workloads import WORKLOADS
from ringside.workloads.base import Workload

MANIFEST = "contender.toml"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
NAME_RULE = "may hold a-z, 0-9, `.`, `_` and `-` only, and begins with a letter or a digit"
# The arguments of every server.
_SERVER_ARGUMENTS = ("port", "host", "seed")
# The attributes of a workload that hold its parts of each kind.
_PARTS = {"factor": "factors", "metric": "metrics", "capability": "capabilities"}
# `mine=./server --port {port}`; a path may have a `=` behind its first `/`.
_COMMAND = re.compile(r"([^/=]*)=(.*)", re.DOTALL)


def values(keys: type[Struct], table: Struct) -> dict[str, Any]:
    """The values of the keys that a table and the type made from it share."""
    return {name: getattr(table, name) for name in keys.__struct_fields__}


def find_workload(file: TomlFile, name: str, *keys: Key) -> Workload:
    """The workload of that name. Raises CatalogueError if there is none."""
    file.check_known("workload", name, WORKLOADS, *keys)
    return WORKLOADS[name]


def check_part(file: TomlFile, workload: Workload, kind: str, name: str, *keys: Key) -> None:
    """Raise CatalogueError for a factor, a metric or a capability that the workload does not have."""
    names = [part.name for part in getattr(workload, _PARTS[kind])]
    file.check_known(f"{kind} of `{workload.name}` called", name, names, *keys)


def check_levels(file: TomlFile, workload: Workload, factors: Mapping[str, Levels], *keys: Key) -> None:
    """Raise CatalogueError for an unknown factor, and for a level that no machine allows."""
    for factor, levels in factors.items():
        check_part(file, workload, "factor", factor, *keys, factor)
        for level in as_tuple(levels):
            try:
                workload.factor(factor).check(level)
            except UsageError as error:
                raise file.error(error, *keys, factor) from None


def read_contender(path: Path) -> dict[str, model.Contender]:
    """A manifest: the contender on each of its runtimes, by name. The first runtime has the bare name."""
    file, folder = read_toml(path), path.parent.resolve()
    manifest = decode(file, model.Manifest)
    named = [("folder", folder.name), *(("runtime", name) for name in manifest.runtime)]
    for kind, name in [*named, *(("variant", name) for name in manifest.variant)]:
        if not NAME.fullmatch(name):
            raise file.error(f"the {kind}'s name `{name}` {NAME_RULE}", kind, name)
    for name, table in manifest.runtime.items():
        try:
            Version(table.minimum or "1")
        except InvalidVersion:
            message = f"`runtime.{name}.minimum` must be a version like 1.19, not {table.minimum}"
            raise file.error(message, "runtime", name, "minimum") from None
    _check_workloads(file, manifest)
    contenders = [_on_runtime(manifest, folder, name, table) for name, table in manifest.runtime.items()]
    plain = contenders[0] = replace(contenders[0], name=folder.name)
    contenders += [_variant(plain, name, table) for name, table in manifest.variant.items()]
    return {contender.name: contender for contender in contenders}


def _on_runtime(
    manifest: model.Manifest, folder: Path, name: str, table: model.RuntimeTable
) -> model.Contender:
    shared = values(model.ContenderKeys, manifest)
    if table.parallel is not None:
        shared["parallel"] = table.parallel
    return model.Contender(
        **shared | {"without": manifest.without | table.without},
        name=f"{folder.name}@{name}",
        folder=folder,
        runtime=model.Runtime(name=name, **values(model.RuntimeTable, table)),
        builds=(*table.build, *(build.command for build in manifest.build)),
        programs=tuple(manifest.workload),
        workloads={
            workload: _entry(entry, table.arguments)
            for workload, entry in manifest.workload.items()
            if workload not in table.without
        },
    )


def _entry(entry: model.WorkloadEntry, arguments: Iterable[str]) -> model.WorkloadEntry:
    """With the arguments of the runtime."""
    program, *words = entry.command
    return replace(entry, command=(program, *arguments, *words)) if program == "{runtime}" else entry


def _variant(plain: model.Contender, name: str, table: model.VariantTable) -> model.Contender:
    described = values(model.DescriptionKeys, table)
    inherited = ("family", "model", "queue", "idiom", "sharing")
    described |= {key: described[key] or getattr(plain, key) for key in inherited}
    return replace(
        plain,
        **described,
        name=f"{plain.name}@{name}",
        workloads={
            workload: replace(entry, command=(*entry.command, *table.arguments))
            for workload, entry in plain.workloads.items()
            if workload in table.workloads or not table.workloads
        },
        builds=(*plain.builds, *(build.command for build in table.build)),
        environment=table.environment,
        built_as="" if table.build else plain.name,
        without={},
        teaches=(),
    )


def _check_workloads(file: TomlFile, manifest: model.Manifest) -> None:
    """Workloads, factors and placeholders must be known."""
    for name in manifest.without:
        find_workload(file, name, "without", name)
    for name, table in manifest.workload.items():
        workload = find_workload(file, name, "workload", name)
        if table.host and not workload.is_service:
            raise file.error(f"`host` is for servers, and `{name}` has none", "workload", name, "host")
        check_levels(file, workload, table.only, "workload", name, "only")
        for factor in table.most:
            check_part(file, workload, "factor", factor, "workload", name, "most", factor)
        for capability in table.capabilities:
            check_part(file, workload, "capability", capability, "workload", name, "capabilities")
        placeholders = ("runtime", "build", *(factor.name for factor in workload.factors))
        commands = {("workload", name, "command"): table.command}
        for variant, settings in manifest.variant.items():
            if name in settings.workloads or not settings.workloads:
                commands["variant", variant, "arguments"] = settings.arguments
        for keys, command in commands.items():
            try:
                model.check_placeholders(f"`{'.'.join(keys)}`", command, placeholders)
            except ValueError as error:
                raise file.error(error, *keys) from None


def added_contenders(words: Iterable[str]) -> dict[str, list[model.Contender]]:
    """The contenders of each `--with`, by folder. Raises UsageError, CatalogueError."""
    added: dict[str, list[model.Contender]] = {}
    places: dict[str, str] = {}
    for word in words:
        command = _COMMAND.fullmatch(word)
        contenders = [_server(command[1], command[2])] if command else _of_folder(word)
        name = contenders[0].name
        if name in added:
            raise UsageError(
                f"--with {places[name]} and --with {word} are both called `{name}`: rename one of them"
            )
        added[name], places[name] = contenders, word
    return added


def _of_folder(word: str) -> list[model.Contender]:
    folder = Path(word).parent if Path(word).name == MANIFEST else Path(word)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {word}; a server needs none: 'NAME=COMMAND {{port}}'")
    manifest = folder.resolve() / MANIFEST
    if not manifest.is_file():
        raise UsageError(
            f"--with {word}: the folder has no {MANIFEST}; `ringside new contender mine --language c` makes "
            "one, and a server needs none: 'NAME=COMMAND {port}'"
        )
    return list(read_contender(manifest).values())


def _server(name: str, line: str) -> model.Contender:
    """A server started by a command line, for every server workload. It gets no `key=value` arguments."""
    option = f"--with {name}={line}"
    if not NAME.fullmatch(name):
        raise UsageError(f"{option}: the name {NAME_RULE}")
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{option}: {str(error).lower()}; quote it as for a shell") from None
    if not command:
        raise UsageError(f"{option}: write the server's command behind the `=`")
    placeholders = {match for word in command for match in model.PLACEHOLDER.findall(word)}
    if "port" not in placeholders:
        raise UsageError(
            f"{option}: the command needs `{{port}}`, where the server gets its port; other programs need a "
            f"folder with a {MANIFEST} (`ringside new contender mine --language c`)"
        )
    servers = [each for each in WORKLOADS.values() if each.is_service]
    arguments = [word for each in servers for word in each.server_arguments]
    arguments += [factor.name for each in servers for factor in each.factors]
    try:
        model.check_placeholders(option, command, dict.fromkeys([*_SERVER_ARGUMENTS, *arguments]))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if shutil.which(command[0]) is None:
        raise UsageError(f"{option}: there is no program {command[0]} that can be executed")
    program = str(Path(command[0]).absolute()) if "/" in command[0] else command[0]
    entry = model.WorkloadEntry(("{runtime}", *command[1:]), host="host" in placeholders)
    return model.Contender(
        name=name,
        folder=Path.cwd(),
        title=name,
        parallel=True,
        runtime=model.Runtime(name="command", executable=(program,), version=()),
        workloads={each.name: entry for each in servers},
        has_sources=False,
    )
