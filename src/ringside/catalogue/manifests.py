"""A contender's manifest, read into the model's types."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ringside.catalogue import tomlfile
from ringside.catalogue.decode import decode
from ringside.catalogue.names import (
    Workloads,
    check_factor,
    check_levels,
    check_placeholders,
    known_workload,
    levels_of,
)
from ringside.catalogue.schema import ManifestFile, RuntimeTable
from ringside.catalogue.tomlfile import TomlFile
from ringside.errors import CatalogueError
from ringside.model.catalogue import Contender, Runtime, WorkloadEntry

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
NAME_RULE = "may hold a-z, 0-9, `.`, `_` and `-` only, and begins with a letter or a digit"


def read_contender(path: Path, known: Workloads | None = None) -> dict[str, Contender]:
    """A manifest: the contender on each of its runtimes, by name. The first runtime has the bare name.
    `known`: the workloads that there are; without them their names are not checked."""
    file = tomlfile.read(path)
    folder = path.parent
    if not NAME.fullmatch(folder.name):
        raise CatalogueError(f"{path}: the folder's name {NAME_RULE}")
    manifest = decode(file, ManifestFile)
    if not manifest.title.strip():
        raise file.error("`title` is empty: write the contender's name in tables", ("title",))
    for index, build in enumerate(manifest.build):
        check_placeholders(file, build.command, ("runtime", "build"), ("build", index, "command"))
    runtimes = {name: _runtime(file, name, table) for name, table in manifest.runtime.items()}
    if not runtimes:
        raise file.error("`[runtime.NAME]` is missing: a contender has at least one")
    if not manifest.workload:
        raise file.error("`[workload.NAME]` is missing: a contender takes part in at least one")
    if known is not None:
        _check_workloads(file, manifest, known)
    workloads = {
        name: WorkloadEntry(
            command=table.command,
            kind=table.kind or manifest.kind,
            most=table.most,
            only=levels_of(file, ("workload", name, "only"), table.only),
            capabilities=table.capabilities,
            host=table.host,
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
            builds=tuple(build.command for build in manifest.build),
            workloads=workloads,
            kind=manifest.kind,
            without=manifest.without,
            teaches=manifest.teaches,
        )
        for index, (name, runtime) in enumerate(runtimes.items())
    ]
    return {contender.name: contender for contender in contenders}


def _runtime(file: TomlFile, name: str, table: RuntimeTable) -> Runtime:
    keys = ("runtime", name)
    if not NAME.fullmatch(name):
        raise file.error(f"the runtime's name `{name}` {NAME_RULE}", keys)
    for key, command in (("version", table.version), ("locate", table.locate)):
        check_placeholders(file, command, ("runtime",), (*keys, key))
    if table.minimum is not None:
        try:
            Version(table.minimum)
        except InvalidVersion:
            message = f"`runtime.{name}.minimum` must be a version like 1.19, not {table.minimum}"
            raise file.error(message, (*keys, "minimum")) from None
    return Runtime(
        name=name,
        executable=table.executable,
        version=table.version,
        minimum=table.minimum,
        locate=table.locate,
        install=table.install,
        instructions=table.instructions,
        title=table.title,
        optional=table.optional,
    )


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
        check_placeholders(file, table.command, ("runtime", "build", *workload.factors), (*keys, "command"))
    for index, name in enumerate(manifest.teaches):
        if name not in manifest.workload:
            raise file.error(f"`{name}` has no command, so nothing teaches it", ("teaches", index))
    for name, reason in manifest.without.items():
        known_workload(file, name, known, ("without", name))
        if name in manifest.workload:
            raise file.error(f"`{name}` has a command and a reason why it has none", ("without", name))
        if not reason.strip():
            raise file.error(f"the reason why there is no `{name}` is missing", ("without", name))
