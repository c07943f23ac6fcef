"""Keeps the lists of docs/KEYS.md, the reference of all keys of the catalogue's files, as the types that
read these files have them. Its texts and meanings are written by hand: a new key that the text below its
heading does not name gets a line that says TODO.

.venv/bin/python scripts/keys.py            write it
.venv/bin/python scripts/keys.py --check    exit status 1 if it differs from the types
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from ringside.model import catalogue, claims, design

PAGE = Path(__file__).resolve().parents[1] / "docs" / "KEYS.md"
FILES = (
    ("A contender: `contenders/NAME/contender.toml`", catalogue.Manifest),
    ("An experiment: `experiments/NAME.toml`", design.ExperimentFile),
    ("A suite: `experiments/NAME.toml`", design.Suite),
    ("A question: `questions/NAME.toml`", catalogue.QuestionFile),
    ("Published figures: `published/NAME.toml`", catalogue.PublishedFile),
    ("The test of a claim: `[claim.test]` in `published/NAME.toml`", claims.ClaimRow),
    ("A quantity: `over` and `under` of a test", claims.Quantity),
    ("Levels: `at` and `own` of a test", claims.LevelRule),
    ("A place: `[[claim.test.apart]]` and `[[claim.test.between]]`", claims.Place),
    ("Lines of code: `[claim.test.lines]`", claims.Lines),
)
_LINE = re.compile(r"- (`[^`]+`)(?: \(.*?\))?: (.*)")


def reference(page: str) -> str:
    """The new page in Markdown. It keeps the texts of the old page."""
    before = page.partition("\n## ")[0]
    texts = _texts(page)
    return "\n".join([before, *(part for title, file in FILES for part in _file(title, file, texts))])


def _texts(page: str) -> dict[tuple[str, str], str]:
    """The text below each heading, and the meaning of each key by its heading and name."""
    texts, file, heading = {}, "", ""
    for line in page.splitlines():
        if line.startswith("#"):
            file = line if line.startswith("## ") else file
            heading = f"{file}{line}"
        elif found := _LINE.fullmatch(line):
            texts[heading, found[1]] = found[2]
        elif line:
            texts[heading, ""] = line
    return texts


def _file(title: str, file: type[msgspec.Struct], texts: dict[tuple[str, str], str]) -> Iterator[str]:
    root = inspect.type_info(file)
    assert isinstance(root, inspect.StructType)
    tables = [(f"## {title}", root)] + [
        (f"### `{_header(field.encode_name, field.type)}`", table)
        for field in root.fields
        if (table := _table_in(field.type))
    ]
    for header, table in tables:
        heading = f"## {title}{header}"
        yield f"{header}\n{texts.get((heading, ''), 'TODO')}\n"
        if lines := dict(_lines(heading, table, texts)):
            order = [key for place, key in texts if place == heading and key in lines]
            yield "".join(f"{line}\n" for line in (*(lines.pop(key) for key in order), *lines.values()))


def _lines(
    heading: str, table: inspect.StructType, texts: dict[tuple[str, str], str]
) -> Iterator[tuple[str, str]]:
    """The lines of a table by key, in the page's order. A key that the text below the heading names has no
    line."""
    for field in table.fields:
        key = field.encode_name
        if key in ("factors", "point"):
            key = _header(key, field.type).replace(".NAME", "")
        if _table_in(field.type) is None and f"`{key}`" not in texts.get((heading, ""), ""):
            value = _value(field.type)
            notes = ("" if value == "text" else value, "required" if field.required else _default(field))
            kind = f" ({shown})" if (shown := ", ".join(filter(None, notes))) else ""
            yield f"`{key}`", f"- `{key}`{kind}: {texts.get((heading, f'`{key}`'), 'TODO')}"


def _table_in(node: inspect.Type) -> inspect.StructType | None:
    """The table that a value of this type is, holds by name, or lists. The tables of a claim's test have
    their own sections."""
    match node:
        case inspect.StructType() as table:
            return None if table.cls.__module__ == claims.__name__ else table
        case inspect.DictType(value_type=value) | inspect.VarTupleType(item_type=value):
            return _table_in(value) if isinstance(value, inspect.StructType) else None
    return None


def _header(name: str, node: inspect.Type) -> str:
    """The header of a table as it is written: `[limits]`, `[runtime.NAME]`, `[[build]]`."""
    match node:
        case inspect.DictType():
            return f"[{name}.NAME]"
        case inspect.VarTupleType():
            return f"[[{name}]]"
    return f"[{name}]"


def _options(node: inspect.Type) -> Sequence[inspect.Type]:
    """The types that a value may have, except None."""
    if not isinstance(node, inspect.UnionType):
        return (node,)
    return [option for option in node.types if not isinstance(option, inspect.NoneType)]


def _value(node: inspect.Type, plural: str = "") -> str:
    """The kind of value in words: `up to 80 characters`. `plural`: with an `s`, for several values."""
    options = {type(option): option for option in _options(node)}
    texts = []
    if {inspect.IntType, inspect.StrType} <= options.keys():
        texts.append(f"level{plural}")
        del options[inspect.IntType], options[inspect.StrType]
    for option in options.values():
        match option:
            case inspect.DictType(value_type=value):
                texts.append(f"table{plural} of {_value(value, 's')}")
            case inspect.VarTupleType(item_type=inspect.DictType() as item):
                texts.append(_value(item, "s"))
            case inspect.VarTupleType(item_type=item):
                several = _value(item, "s")
                texts.append(f"lists of {several}" if plural and several != "levels" else several)
            case inspect.TupleType():
                texts.append(f"pair{plural} of texts")
            case inspect.StrType(max_length=most):
                texts.append(f"up to {most} characters" if most else f"text{plural}")
            case inspect.BoolType():
                texts.append("boolean")
            case inspect.IntType() as number:
                texts.append(f"integer{plural}{_bounds(number)}")
            case inspect.FloatType() as number:
                texts.append(f"number{plural}{_bounds(number)}")
            case inspect.LiteralType(values):
                texts.append(" or ".join(", ".join(map(str, values)).rsplit(", ", 1)))
            case inspect.AnyType():
                texts.append("anything")
            case _:
                texts.append(f"table{plural}")
    return " or ".join(dict.fromkeys(texts))


def _bounds(node: inspect.IntType | inspect.FloatType) -> str:
    """The bounds as the types state them: ` from 1 to 10000`, ` above 0`, ` above 0 and up to 60`, or
    nothing."""
    if node.ge is not None:
        return f" from {node.ge:g} to {node.le:g}"
    low = f" above {node.gt:g}" if node.gt is not None else ""
    return low + (f" and up to {node.le:g}" if node.le is not None else "")


def _default(field: inspect.Field) -> str:
    """The default as it is written; empty if the default is empty or the meaning states it."""
    value: Any = field.default
    if value is msgspec.NODEFAULT or value in (None, "", (), {}, False):
        return ""
    return f"default `{json.dumps(value)}`"


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    text = reference(page)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if page == text:
        return 0
    print("docs/KEYS.md differs from the types: run scripts/keys.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
