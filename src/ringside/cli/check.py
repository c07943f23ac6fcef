"""`ringside check`: whether a contender keeps the contract."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ringside.catalogue.contenders import MANIFEST
from ringside.cli import EXIT_FAILED, context, streams
from ringside.conformance import kit
from ringside.errors import UsageError
from ringside.measure.host import Executor, alone
from ringside.model.catalogue import Contender, Unavailable
from ringside.text import LOG_LINES, last_lines, one_line
from ringside.units import count

_say = partial(streams.say, name="check")


def check(
    outside: Sequence[str], chosen: Sequence[str], quick: bool, as_json: bool, contender: str = ""
) -> int:
    """Check a contender and those from `outside`; `chosen`: only in these workloads."""
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
        with alone(lambda: _say("another ringside is measuring on this machine: waiting until it ends")):
            for name in workloads:
                _say(f"checking {name}")
                document["workloads"].append(kit.check(ready, name, executor, quick=quick))
        document["conforms"] = not any(checked["findings"] for checked in document["workloads"])
        took = {checked["workload"]: checked["seconds"] for checked in document["workloads"]}
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in took.items())
        _say(f"{each.name} took {sum(took.values()):.1f} s ({parts})")
    if as_json:
        print(json.dumps({"format": 1, "contenders": documents}, indent=2))
    else:
        for document in documents:
            print_document(document)
    return 0 if all(document["conforms"] for document in documents) else EXIT_FAILED


def _contenders(word: str, outside: Sequence[str]) -> list[Contender]:
    """The contenders to check: a folder, a name of the catalogue, and those of --with. Raises UsageError."""
    path = Path(word)
    is_path = word != "" and ("/" in word or word in (".", "..") or (path / MANIFEST).is_file())
    if path.name == MANIFEST and path.is_file():
        path, is_path = path.resolve().parent, True
    elif path.is_file() and (is_path or path.suffix):
        folder = path.parent
        named = folder if folder.is_absolute() or folder == Path() else f"./{folder}"
        raise UsageError(f"{word} is a file: name its folder, as in `ringside check {named}`")
    words = [str(path.resolve())] if is_path else []
    catalogue = context.catalogue([*words, *outside])
    names = [*([word] if word and not is_path else []), *catalogue.added()]
    if not names:
        what = "name the folder of a contender, or a contender of the catalogue"
        raise UsageError(f"{what}: ringside check ./mine")
    contenders = [catalogue.contender(name) for name in dict.fromkeys(names)]
    for contender in contenders:
        if not contender.has_sources:
            raise UsageError(
                f"`{contender.name}` is a command, which need not keep the contract: check takes folders"
            )
    return contenders


def print_document(document: dict[str, Any]) -> None:
    """Print the findings about a contender."""
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
