"""Makes docs/KEYS.md, the reference of all keys of manifests, experiments, suites, questions and published
figures, from the types that read these files.

.venv/bin/python scripts/keys.py            write it
.venv/bin/python scripts/keys.py --check    exit status 1 if it differs from the types
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from ringside.catalogue import schema
from ringside.catalogue.decode import describe, header_of, options, table_in, tables
from ringside.model import catalogue, claims

PAGE = Path(__file__).resolve().parents[1] / "docs" / "KEYS.md"
FILES = (
    ("A contender: `contenders/NAME/contender.toml`", schema.ManifestFile),
    ("An experiment: `experiments/NAME.toml`", schema.ExperimentFile),
    ("A suite: `experiments/NAME.toml`", schema.SuiteFile),
    ("A question: `questions/NAME.toml`", schema.QuestionFile),
    ("Published figures: `published/NAME.toml`", schema.PublishedFile),
    ("The test of a claim: `[claim.test]` in `published/NAME.toml`", claims.ClaimRow),
    ("A quantity: `over` and `under` of a test", claims.Quantity),
    ("Levels: `at` and `own` of a test", claims.LevelRule),
    ("A place: `[[claim.test.apart]]` and `[[claim.test.between]]`", claims.Place),
    ("Lines of code: `[claim.test.lines]`", claims.Lines),
)
_HEAD = """\
# Keys of all files
Made by `scripts/keys.py` from the types in `src/ringside/catalogue/schema.py`; do not edit it by hand.

A mistake in a file is reported in one line as `FILE:LINE: …`, with the key as it is written and the nearest \
known one. It disables only that file: commands that do not need it go on.

Text between braces in a command, such as `{runtime}`, must be one of the placeholders that the key names; \
`{ text }` with spaces stays as it is. \
[CONTRIBUTING](../CONTRIBUTING.md#a-contender) has a minimal manifest, \
[experiments/README](../experiments/README.md) a minimal experiment. \
`ringside list workloads` prints the workloads, their factors and levels.
"""


def meanings() -> dict[tuple[str, str], str]:
    """The text below each key of a table, by the names of its class and field."""
    modules = (
        ast.parse(Path(str(each.__file__)).read_text(encoding="utf-8"))
        for each in (schema, catalogue, claims)
    )
    texts = {}
    for table in (node for module in modules for node in module.body if isinstance(node, ast.ClassDef)):
        for field, below in pairwise(table.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[table.name, name] = " ".join(text.split())
    return texts


MEANINGS = meanings()


def reference() -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *(part for title, file in FILES for part in _file(title, file))])


def _file(title: str, file: type[msgspec.Struct]) -> Iterator[str]:
    root = inspect.type_info(file)
    assert isinstance(root, inspect.StructType)
    yield f"## {title}\n{_about(root)}\n"
    if rows := list(_rows(root)):
        yield _table(rows)
    for header, table in tables(root) if file.__module__ == schema.__name__ else ():
        yield f"### `{header}`\n{_about(table)}\n"
        yield _table(list(_rows(table)))


def _about(table: inspect.StructType) -> str:
    return " ".join((table.cls.__doc__ or "").split())


def _rows(table: inspect.StructType) -> Iterator[tuple[str, ...]]:
    for field in table.fields:
        if table_in(field.type) is None or table.cls.__module__ == claims.__name__:
            yield (
                f"`{_written(field)}`",
                _value(field.type),
                "required" if field.required else _default(field),
                MEANINGS[table.cls.__name__, field.name],
            )


def _written(field: inspect.Field) -> str:
    """The key; the header where the value is a table that users write below one."""
    if field.encode_name in ("factors", "point"):
        return header_of(field.encode_name, field.type).replace(".NAME", "")
    return field.encode_name


def _value(node: inspect.Type) -> str:
    """What a value must be, with what a table or a list holds."""
    texts = []
    for option in options(node):
        match option:
            case inspect.DictType(value_type=value):
                texts.append(f"a table of {_values(value)}")
            case inspect.VarTupleType(item_type=inspect.DictType(value_type=value)):
                texts.append(f"tables of {_values(value)}")
            case inspect.VarTupleType(item_type=item, min_length=least):
                texts.append(f"a list of {_values(item)}" + (", at least one" if least else ""))
            case _:
                texts.append(describe(option))
    return " or ".join(texts)


def _values(node: inspect.Type) -> str:
    """Several such values."""
    texts = []
    for option in options(node):
        match option:
            case inspect.StrType():
                texts.append("texts")
            case inspect.AnyType():
                texts.append("anything")
            case inspect.IntType() | inspect.FloatType():
                texts.append(describe(option).removeprefix("a ").replace("number", "numbers"))
            case inspect.VarTupleType(item_type=item):
                texts.append(f"lists of {_values(item)}")
            case _:
                texts.append(describe(option))
    return " or ".join(dict.fromkeys(texts))


def _default(field: inspect.Field) -> str:
    """The default as it is written; nothing where it is nothing, or the description says it."""
    value: Any = field.default
    if value is msgspec.NODEFAULT or value in (None, "", (), {}):
        return ""
    return f"`{json.dumps(value)}`"


def _table(rows: list[tuple[str, ...]]) -> str:
    head = ("key", "value", "default", "meaning")
    lines = [head, ("---",) * len(head), *rows]
    texts = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {text} |\n" for text in texts)


def main() -> int:
    text = reference()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/KEYS.md differs from the types: run scripts/keys.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
