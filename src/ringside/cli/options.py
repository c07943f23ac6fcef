"""Declares the options of all commands, each once, with its names, type, default and help: as a field of a
settings class, or as the default of a parameter of a command's function. click's options, and the help with
its sections, come from that."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside.errors import UsageError
from ringside.text import nearest

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

COMMON = "Common options"
_USED = "ringside.used"


class Option(click.Option):
    """An option in a section of the help. `shown`: how it is written there, where all ways need too much
    room."""

    def __init__(self, *names: Any, section: str, shown: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.shown = shown

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Note what was given of it, as text, for `command_line_options`."""
        if self.name in opts:
            values = tuple(opts[self.name]) if self.multiple else (opts[self.name],)
            ctx.meta.setdefault(_USED, {})[self.name] = (max(self.opts, key=len), values)
        return super().handle_parse_result(ctx, opts, args)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """How the option is written, and its help."""
        record = super().get_help_record(ctx)
        return (self.shown or record[0], record[1]) if record else None

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """What stands in brackets: the default, without the range, which an error outside it shows."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Value(click.types.FuncParamType):  # type: ignore[type-arg]
    """The type of an option that a function reads; it raises ValueError with how to write the value."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.func(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SectionedCommand(click.Command):
    """A command whose help lists options by section, in the order in which these are first used. `answers`:
    what to write instead, by options that users of other tools know."""

    answers: Mapping[str, str] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.partition("=")[0]
            if name in self.answers:
                raise click.UsageError(f"{name} is another tool's: {self.answers[name]}", ctx) from error
            # click's own guesses name options that have little in common.
            near = nearest(name, error.possibilities or (), 0.75)
            raise click.NoSuchOption(name, possibilities=[near] if near else None, ctx=ctx) from error

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


def option(written: str, help_text: str, kind: Any = None, *, default: Any = None, **attributes: Any) -> Any:
    """A field of a settings class that is an option. `written`: the ways to write it, and its value, as in
    `-w, --warmup N`. `kind`: click's type, a function that reads the value, or a list of values. `default`:
    the field's value where it is left out. `attributes` are click's, `shown`, and `section`: where it stands
    in the help, with those after it."""
    if attributes.get("multiple"):
        default = ()
    elif attributes.get("is_flag"):
        default = False
    if inspect.isfunction(kind):
        kind = Value(kind)
    elif isinstance(kind, list):
        kind = click.Choice(kind)
    *others, last = written.split(", ")
    name, _, metavar = last.partition(" ")
    attributes |= {"metavar": metavar or None, "help": help_text or None, "type": kind}
    return dataclasses.field(default=default, metadata={"options": [((*others, name), None, attributes)]})


def flag(written: str, help_text: str, **attributes: Any) -> Any:
    """An option without a value: true where it is given."""
    return option(written, help_text, is_flag=True, **attributes)


def option_tables(module: Path) -> dict[str, Any]:
    """The TOML file beside a module of a settings class: its `options`, which of them one `excludes`, and
    which mean nothing without it (`needed_by`)."""
    return tomllib.loads(module.with_suffix(".toml").read_text(encoding="utf-8"))


def option_of(tables: Mapping[str, Any], field: str, kind: Any = None, **attributes: Any) -> Any:
    """The option of a field: by section of the help, the tables have how it is written, its help, and how it
    is shown where that is shorter."""
    section, rows = next(pair for pair in tables["options"].items() if field in pair[1])
    written, help_text, *shown = rows[field]
    return option(written, help_text, kind, section=section, shown="".join(shown), **attributes)


def flag_of(tables: Mapping[str, Any], field: str) -> Any:
    return option_of(tables, field, is_flag=True)


def forms(**help_texts: str) -> Any:
    """Flags that choose the form of the output, of which one may be given: the value is its name, or None."""

    def choose(context: click.Context, chosen: click.Parameter, is_chosen: bool) -> None:
        other = context.params.setdefault("form", None)
        if is_chosen and other:
            raise click.UsageError(f"--{other} and {chosen.opts[0]} exclude each other: leave one out")
        if is_chosen:
            context.params["form"] = chosen.opts[0].removeprefix("--")

    flags = {"is_flag": True, "expose_value": False, "callback": choose}
    options = [((f"--{name}",), f"is_{name}", {**flags, "help": text}) for name, text in help_texts.items()]
    return dataclasses.field(default=None, metadata={"options": options})


def option_fields(owner: Any) -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """The options of a settings class by its fields, or of a function by its parameters."""
    if isinstance(owner, type):
        fields = {field.name: field for field in dataclasses.fields(owner)}
    else:
        fields = {name: each.default for name, each in inspect.signature(owner).parameters.items()}
    for name, field in fields.items():
        if isinstance(field, dataclasses.Field) and "options" in field.metadata:
            yield name, field


def command_line_options(but: Collection[str]) -> dict[str, tuple[bool | str | tuple[str, ...], ...]]:
    """The options of the command line that is carried out, with their values, but those of the fields `but`.
    Empty where there is no command line."""
    context = click.get_current_context(silent=True)
    options = context.meta.get(_USED, {}) if context else {}
    return {written: values for name, (written, values) in options.items() if name not in but}


def _check_rules(settings: type) -> None:
    """Raise UsageError where options that are used exclude each other, or lack the one that they are for."""
    used = command_line_options(())
    for name, others in getattr(settings, "EXCLUDES", {}).items():
        for other in others.split():
            if name in used and other in used:
                raise UsageError(f"{name} and {other} exclude each other: leave one out")
    for name, others in getattr(settings, "NEEDED_BY", {}).items():
        for other in others.split():
            if other in used and name not in used:
                raise UsageError(f"{other} is for {name}: add {name}, or leave {other} out")


def takes(settings: type | None = None) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of a settings class, with which it is called then; without one, those that
    its function's parameters declare. Arguments have fields, or parameters, of the same names. The class may
    say by the longest names of options which ones exclude others (`EXCLUDES`), and which ones others mean
    nothing without (`NEEDED_BY`)."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        defaults, options, section = {}, [], COMMON
        for name, field in option_fields(settings or function):
            defaults[name] = field.default
            for names, parameter, attributes in field.metadata["options"]:
                section = attributes.get("section", section)
                options.append(((*names, parameter or name), {**attributes, "section": section}))

        @functools.wraps(function)
        def command(**values: Any) -> int:
            values = {name: defaults.get(name) if value is None else value for name, value in values.items()}
            if settings is None:
                return function(**values)
            _check_rules(settings)
            return function(settings(**values))

        for words, attributes in reversed(options):
            click.option(*words, cls=Option, **attributes)(command)
        return command

    return decorate
