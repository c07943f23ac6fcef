"""Contenders from outside the catalogue, as `--with` names them: a folder with a manifest, or the command of
a server that needs none."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from ringside.catalogue.manifests import NAME, NAME_RULE, read_contender
from ringside.catalogue.names import Workloads, unknown_placeholder
from ringside.errors import UsageError
from ringside.model.catalogue import PLACEHOLDER, Contender, Runtime, WorkloadEntry

MANIFEST = "contender.toml"
# The arguments of servers that are no factors.
_SERVER_ARGUMENTS = ("port", "host", "seed", "upstreams", "tick_ms", "timeout_ms")
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
        raise UsageError(
            f"--with {word}: there is no such folder; a server needs none: 'NAME=COMMAND {{port}}'"
        )
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
    factors = sorted({factor for workload in (known or {}).values() for factor in workload.factors})
    for placeholder in sorted(placeholders):
        if known is not None and placeholder not in (*_SERVER_ARGUMENTS, *factors):
            raise UsageError(f"--with {name}={line}: {unknown_placeholder(placeholder, _SERVER_ARGUMENTS)}")
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
