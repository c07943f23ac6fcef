"""Options that are declared once, each as a field of a settings class: how it is written, its type, default
and help. click's options, and the help with its sections, are made from the fields."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

Settings = TypeVar("Settings")
Function = TypeVar("Function", bound=Callable[..., Any])

COMMON = "Common options"
_WORDS = "ringside.words"


class Option(click.Option):
    """An option in a section of the help. `shown`: how it is written there, where the ways to write it would
    take too much room."""

    def __init__(self, *names: Any, section: str = COMMON, shown: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.shown = shown

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """How it is written, and what it does."""
        record = super().get_help_record(ctx)
        return (self.shown or record[0], record[1]) if record else None

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """What stands in brackets: the default, without the range, which an error outside it shows."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Command(click.Command):
    """A command whose help lists options by section, in the order in which sections are first used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = [*args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the formatter, a section at a time."""
        for section, records in help_records(ctx, self.get_params(ctx)).items():
            with formatter.section(section):
                formatter.write_dl(records)


def help_records(
    ctx: click.Context, parameters: Iterable[click.Parameter]
) -> dict[str, list[tuple[str, str]]]:
    """The help of options by section."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
        if record is not None:
            section = parameter.section if isinstance(parameter, Option) else COMMON
            sections.setdefault(section, []).append(record)
    return sections


def option(
    section: str, written: str, help_text: str, *, default: Any = None, notes: Any = None, **attributes: Any
) -> Any:
    """A field of a settings class that is an option. `written`: the ways to write it, and its value, as in
    `-w, --warmup N`. `default`: the field's value where it is left out. `notes`: what else is known of it.
    `attributes` are click's, and `shown`."""
    if attributes.get("multiple"):
        default = ()
    elif attributes.get("is_flag"):
        default = False
    *others, last = written.split(", ")
    name, _, metavar = last.partition(" ")
    attributes |= {"section": section, "metavar": metavar or None, "help": help_text or None}
    metadata = {"names": (*others, name), "attributes": attributes, "notes": notes}
    return dataclasses.field(default=default, metadata=metadata)


def declared(settings: Any) -> Iterator[tuple[dataclasses.Field[Any], Sequence[str], Any]]:
    """The fields of a settings class that are options, the ways to write each, and its notes."""
    for field in dataclasses.fields(settings):
        if "names" in field.metadata:
            yield field, field.metadata["names"], field.metadata["notes"]


def given_options(but: Collection[str]) -> tuple[str, ...]:
    """The options of the command line that is carried out, as words that it accepts; without those of
    the fields `but`. Empty where there is no command line."""
    context = click.get_current_context(silent=True)
    if context is None or _WORDS not in context.meta:
        return ()
    values, _, order = context.command.make_parser(context).parse_args([*context.meta[_WORDS]])
    words: list[str] = []
    for parameter in dict.fromkeys(order):
        if not isinstance(parameter, click.Option) or parameter.name in but:
            continue
        name, value = max(parameter.opts, key=len), values[parameter.name or ""]
        for each in value if parameter.multiple else [value]:
            if parameter.is_flag:
                words.append(name)
            else:
                words += [f"{name}={each}"] if isinstance(each, str) else [name, *each]
    # A store keeps UTF-8, which words need not be.
    return tuple(word.encode(errors="replace").decode() for word in words)


def takes(settings: type[Settings]) -> Callable[[Callable[[Settings], int]], Callable[..., int]]:
    """Give a command the options of a settings class, in the order of the help; it is called with the
    settings. Its arguments have fields of the same names."""

    def decorate(function: Callable[[Settings], int]) -> Callable[..., int]:
        @functools.wraps(function)
        def command(**values: Any) -> int:
            return function(settings(**{name: value for name, value in values.items() if value is not None}))

        for field, names, _ in reversed([*declared(settings)]):
            click.option(*names, field.name, cls=Option, **field.metadata["attributes"])(command)
        return command

    return decorate
