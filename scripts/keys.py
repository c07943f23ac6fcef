"""Keeps the tables of docs/KEYS.md, the reference of all keys of the catalogue's files, as the types that
read these files have them. Its texts and meanings are written by hand: a new key gets a row that says TODO.

.venv/bin/python scripts/keys.py            write it
.venv/bin/python scripts/keys.py --check    exit status 1 if it differs from the types
"""

from __future__ import annotations

import json
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
    ("A suite: `experiments/NAME.toml`", design.SuiteFile),
    ("A question: `questions/NAME.toml`", catalogue.QuestionFile),
    ("Published figures: `published/NAME.toml`", catalogue.PublishedFile),
    ("The test of a claim: `[claim.test]` in `published/NAME.toml`", claims.ClaimRow),
    ("A quantity: `over` and `under` of a test", claims.Quantity),
    ("Levels: `at` and `own` of a test", claims.LevelRule),
    ("A place: `[[claim.test.apart]]` and `[[claim.test.between]]`", claims.Place),
    ("Lines of code: `[claim.test.lines]`", claims.Lines),
)
_HEAD = ("key", "value", "default", "meaning")


def reference(page: str) -> str:
    """The page, in Markdown, with the texts of that page."""
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
        elif line.startswith("| `"):
            key, _, _, meaning = line.removeprefix("| ").removesuffix(" |").split(" | ")
            texts[heading, key] = meaning
        elif line and not line.startswith("|"):
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
        if rows := dict(_rows(heading, table, texts)):
            order = [key for place, key in texts if place == heading and key in rows]
            lines = [_HEAD, ("---",) * len(_HEAD), *(rows.pop(key) for key in order), *rows.values()]
            yield "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(
    heading: str, table: inspect.StructType, texts: dict[tuple[str, str], str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """By key; those that the page has stand in its order."""
    for field in table.fields:
        if _table_in(field.type) is None:
            key = field.encode_name
            if key in ("factors", "point"):
                key = _header(key, field.type).replace(".NAME", "")
            default = "required" if field.required else _default(field)
            value = _value(field.type).replace("|", "\\|")
            yield f"`{key}`", (f"`{key}`", value, default, texts.get((heading, f"`{key}`"), "TODO"))


def _table_in(node: inspect.Type) -> inspect.StructType | None:
    """The table that a value of this type is, holds by name, or lists. The tables of a test of a
    claim have sections of their own."""
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
    """The types that a value may have, None apart."""
    if not isinstance(node, inspect.UnionType):
        return (node,)
    return [option for option in node.types if not isinstance(option, inspect.NoneType)]


def _value(node: inspect.Type) -> str:
    """What a value must be, with what a table or a list holds."""
    texts = []
    for option in _options(node):
        match option:
            case inspect.DictType(value_type=value):
                texts.append(f"a table of {_values(value)}")
            case inspect.VarTupleType(item_type=inspect.DictType(value_type=value)):
                texts.append(f"tables of {_values(value)}")
            case inspect.VarTupleType(item_type=item, min_length=least):
                texts.append(f"a list of {_values(item)}" + (", at least one" if least else ""))
            case _:
                texts.append(_described(option))
    return " or ".join(texts)


def _values(node: inspect.Type) -> str:
    """Several such values."""
    texts = []
    for option in _options(node):
        match option:
            case inspect.StrType():
                texts.append("texts")
            case inspect.AnyType():
                texts.append("anything")
            case inspect.IntType() | inspect.FloatType():
                texts.append(_described(option).removeprefix("a ").replace("number", "numbers"))
            case inspect.VarTupleType(item_type=item):
                texts.append(f"lists of {_values(item)}")
            case inspect.TupleType():
                texts.append("pairs of texts")
            case _:
                texts.append(_described(option))
    return " or ".join(dict.fromkeys(texts))


def _described(node: inspect.Type) -> str:
    """What a value must be: `a whole number above 0`, `a list with something in it`."""
    match node:
        case inspect.StrType(max_length=most):
            return "text" if most is None else f"text of up to {most} characters"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() as number:
            return f"a whole number{_bounds(number)}"
        case inspect.FloatType() as number:
            return f"a number{_bounds(number)}"
        case inspect.LiteralType(values):
            return " or ".join(", ".join(map(str, values)).rsplit(", ", 1))
        case inspect.TupleType():
            return "a pair of texts"
        case inspect.VarTupleType():
            return "a list"
    return "a table"


def _bounds(node: inspect.IntType | inspect.FloatType) -> str:
    """As the types have them: ` from 1 to 10000`, ` above 0`, ` above 0 and up to 60`, or nothing."""
    if node.ge is not None:
        return f" from {node.ge:g} to {node.le:g}"
    low = f" above {node.gt:g}" if node.gt is not None else ""
    return low + (f" and up to {node.le:g}" if node.le is not None else "")


def _default(field: inspect.Field) -> str:
    """The default as it is written; nothing where it is nothing, or the description says it."""
    value: Any = field.default
    if value is msgspec.NODEFAULT or value in (None, "", (), {}):
        return ""
    return f"`{json.dumps(value)}`"


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
