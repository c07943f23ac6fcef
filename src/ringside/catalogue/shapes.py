"""The types of `schema` as msgspec describes them: what a value must be, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import inspect


def plain(node: inspect.Type) -> inspect.Type:
    """The type without the description that it may have."""
    return node.type if isinstance(node, inspect.Metadata) else node


def description(node: inspect.Type) -> str:
    """What the schema says of the type; empty where it says nothing."""
    schema = node.extra_json_schema if isinstance(node, inspect.Metadata) else None
    return str((schema or {}).get("description", ""))


def options(node: inspect.Type) -> Sequence[inspect.Type]:
    """The types that a value may have, None apart."""
    node = plain(node)
    if not isinstance(node, inspect.UnionType):
        return (node,)
    return [plain(option) for option in node.types if not isinstance(option, inspect.NoneType)]


def table_in(node: inspect.Type) -> inspect.StructType | None:
    """The table that a value of this type is, holds by name, or lists; None where it is none of these."""
    match plain(node):
        case inspect.StructType() as table:
            return table
        case inspect.DictType(value_type=inspect.StructType() as table):
            return table
        case inspect.VarTupleType(item_type=inspect.StructType() as table):
            return table
    return None


def tables(root: inspect.StructType) -> Iterator[tuple[str, inspect.StructType]]:
    """The tables below a file, each by its header: `[limits]`, `[runtime.NAME]`, `[[build]]`."""
    for field in root.fields:
        if table := table_in(field.type):
            yield header_of(field.encode_name, field.type), table


def header_of(name: str, node: inspect.Type) -> str:
    """The header of a table as it is written."""
    match plain(node):
        case inspect.DictType():
            return f"[{name}.NAME]"
        case inspect.VarTupleType():
            return f"[[{name}]]"
    return f"[{name}]"


def describe(node: inspect.Type) -> str:
    """What a value must be: `a whole number above 0`, `a list with something in it`."""
    match plain(node):
        case inspect.UnionType():
            return " or ".join(", ".join(map(describe, options(node))).rsplit(", ", 1))
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
        case inspect.VarTupleType(item_type=inspect.StructType() | inspect.DictType()):
            return "a list of tables, each below its [[header]]"
        case inspect.VarTupleType(min_length=least):
            return "a list with something in it" if least else "a list"
    return "a table"


def literals(node: inspect.Type) -> list[str]:
    """The words that a value may be, where it is one of a few."""
    return [
        str(value)
        for option in options(node)
        if isinstance(option, inspect.LiteralType)
        for value in option.values
    ]


def type_at(root: inspect.Type, keys: Sequence[Any]) -> inspect.Type:
    """The type of the value at `keys`, names and indexes."""
    node = root
    for key in keys:
        for option in options(node):
            if isinstance(option, inspect.StructType) and isinstance(key, str):
                node = next(field.type for field in option.fields if field.encode_name == key)
            elif isinstance(option, inspect.DictType) and isinstance(key, str):
                node = option.value_type
            elif isinstance(option, inspect.VarTupleType) and isinstance(key, int):
                node = option.item_type
    return plain(node)


def _bounds(node: inspect.IntType | inspect.FloatType) -> str:
    """As the schema has them: ` from 1 to 10000`, ` above 0`, ` above 0 and up to 60`, or nothing."""
    if node.ge is not None:
        return f" from {node.ge:g} to {node.le:g}"
    low = f" above {node.gt:g}" if node.gt is not None else ""
    return low + (f" and up to {node.le:g}" if node.le is not None else "")
