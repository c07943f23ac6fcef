"""`ringside check`: whether a contender keeps the contract."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside.cli import EXIT_FAILED, params, streams
from ringside.cli.options import flag, option, takes
from ringside.errors import UsageError
from ringside.text import LOG_LINES, last_lines, one_line
from ringside.units import count

if TYPE_CHECKING:
    from ringside.model.catalogue import Contender

_say = partial(streams.say, name="check")


@click.command()
@click.argument("contender", metavar="FOLDER|CONTENDER", required=False)
@takes()
def check(
    contender: str | None,
    *,
    outside: Sequence[str] = params.OUTSIDE,
    chosen: Sequence[str] = option("--workload W", "Only this workload; may be repeated.", multiple=True),
    quick: bool = flag("--quick", "Fewer sizes and invalid inputs: seconds for each workload."),
    as_json: bool = flag("--json", "Print one JSON document."),
) -> int:
    """Check whether the contender in FOLDER, or CONTENDER of the catalogue, keeps the contract.

    Each finding names its rule in docs/PROTOCOL.md and the command that repeats it by hand. Exit status 1 if
    the contender breaks a rule or cannot be built."""
    from ringside.cli import context
    from ringside.conformance import kit
    from ringside.measure.host import Executor, alone
    from ringside.model.catalogue import Unavailable

    contenders = _contenders(contender, outside)
    for each in contenders:
        for name in (name for name in chosen if name not in each.workloads):
            known = ", ".join(each.workloads)
            raise UsageError(f"contender `{each.name}` takes no part in `{name}`; it has: {known}")
    executor = Executor()
    toolchain = context.toolchain(lambda each: _say(f"building {each.name}; this may take a minute"))
    documents: list[dict[str, Any]] = []
    for each in contenders:
        document: dict[str, Any] = {"contender": each.name, "conforms": False, "reason": "", "workloads": []}
        documents.append(document)
        program = chosen[0] if len(chosen) == 1 else ""
        ready = toolchain.prepare(each, program)
        if isinstance(ready, Unavailable):
            for line in last_lines(ready.log, LOG_LINES):
                _say(f"  | {line}")
            document["reason"] = f"{ready.reason}; {ready.remedy}" if ready.remedy else ready.reason
            continue
        workloads = [name for name in each.workloads if name in chosen or not chosen]
        with alone(lambda: _say("another ringside is measuring on this machine: waiting for its end")):
            checked = kit.check(
                ready, workloads, executor, quick=quick, on_workload=lambda name: _say(f"checking {name}")
            )
        document["conforms"] = not any(one.findings for one in checked)
        document["workloads"] = [asdict(one) | {"seconds": round(one.seconds, 1)} for one in checked]
        took = ", ".join(f"{one.workload} {one.seconds:.1f}" for one in checked)
        _say(f"{each.name} took {sum(one.seconds for one in checked):.1f} s ({took})")
    if as_json:
        print(json.dumps({"format": 1, "contenders": documents}, indent=2))
    else:
        for document in documents:
            print_document(document)
    return 0 if all(document["conforms"] for document in documents) else EXIT_FAILED


def _contenders(word: str | None, outside: Sequence[str]) -> list[Contender]:
    """What is to be checked: a folder, a name of the catalogue, and those of --with. Raises UsageError."""
    from ringside.catalogue.contenders import MANIFEST
    from ringside.cli import context

    path = Path(word or "")
    is_path = word is not None and ("/" in word or word in (".", "..") or (path / MANIFEST).is_file())
    if path.name == MANIFEST and path.is_file():
        path, is_path = path.resolve().parent, True
    elif word is not None and path.is_file() and (is_path or path.suffix):
        folder = path.parent
        named = folder if folder.is_absolute() or folder == Path() else f"./{folder}"
        raise UsageError(f"{word} is a file: name its folder, as in `ringside check {named}`")
    words = [str(path.resolve())] if is_path else []
    catalogue = context.catalogue([*words, *outside])
    names = catalogue.added()
    if word is not None and not is_path:
        names.insert(0, word)
    if not names:
        raise UsageError(
            "name the folder of a contender, or a contender of the catalogue: ringside check ./mine"
        )
    contenders = [catalogue.contender(name) for name in dict.fromkeys(names)]
    for contender in contenders:
        if not contender.has_sources:
            raise UsageError(
                f"`{contender.name}` is a command, which need not keep the contract: check takes folders"
            )
    return contenders


def print_document(document: dict[str, Any]) -> None:
    """Print what was found of a contender."""
    if document["reason"]:
        print(one_line(f"{document['contender']} cannot be checked: {document['reason']}", 1000))
    for workload in document["workloads"]:
        findings = workload["findings"]
        state = f"{count(len(findings), 'rule')} broken" if findings else "conforms"
        if workload["not_offered"]:
            state += f"; not offered: {', '.join(workload['not_offered'])}"
        print(f"{document['contender']}: {workload['workload']}: {state}")
        for finding in findings:
            print(f"  {finding['rule']} (docs/PROTOCOL.md#rule-{finding['rule']})")
            print(f"    rule:     {finding['meaning']}")
            print(f"    expected: {one_line(finding['expected'], 600)}")
            print(f"    got:      {one_line(finding['came'], 600)}")
            print(f"    by hand:  {one_line(finding['command'], 4000)}")
