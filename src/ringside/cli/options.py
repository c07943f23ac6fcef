"""Makes click's commands from TOML tables that declare each option once; commands.toml shows their form."""

import importlib
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from ringside import units
from ringside.errors import UsageError
from ringside.files import tables_beside
from ringside.text import nearest

COMMON = "Common options"
# In `ctx.meta`: whether the help has the other sections, too.
IS_WHOLE = "ringside.whole_help"
_USED = "ringside.used"
_RANGE = re.compile(r"([0-9]+)\.\.([0-9]+)")


class Value(click.types.FuncParamType):  # type: ignore[type-arg]
    """The type of an option that a function reads; it raises ValueError with how to write the value."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.func(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Option(click.Option):
    """An option in a section of the help. `shown`: how it is written there, where all ways are too long."""

    def __init__(self, names: Sequence[str], *, section: str, shown: str = "", **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.section = section
        self.shown = shown

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Note the given values as text, for `command_line_options`."""
        if self.name in opts:
            values = tuple(opts[self.name]) if self.multiple else (opts[self.name],)
            field = self.name if self.expose_value else "form"
            written = max(self.opts, key=len)
            ctx.meta.setdefault(_USED, {})[field] = (written, values)
            if answer := getattr(ctx.command, "answers", {}).get(f"{written} {values[0]}"):
                raise click.UsageError(f"{written} {values[0]}: {answer}", ctx)
        return super().handle_parse_result(ctx, opts, args)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """How the option is written, and its help."""
        record = super().get_help_record(ctx)
        return (self.shown or record[0], record[1]) if record else None


class SectionedCommand(click.Command):
    """A command with sections of options. `answers`: what to write instead of other tools' options and
    values."""

    # The most room that the ways to write an option get in the help.
    names_width = 30

    def __init__(self, name: str, *, answers: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.answers = answers

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ways = {name: f"{name} {each.metavar or ''}".strip() for each in self.params for name in each.opts}
        for name in (arg.partition("=")[0] for arg in args if arg.startswith("-")):
            # click would read `-duration=5s`, of vegeta, as `-d` with the value `uration=5s`.
            if way := {**ways, **self.answers}.get(f"-{name}"):
                raise click.UsageError(f"{name} is another tool's: {way}", ctx)
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
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                sections.setdefault(getattr(parameter, "section", COMMON), []).append(record)
        for section, records in sections.items():
            if section == COMMON or ctx.meta.get(IS_WHOLE, True):
                with formatter.section(section):
                    formatter.write_dl(records, self.names_width)


def make_command(
    name: str, table: Mapping[str, Any], shared: Mapping[str, Sequence[str]], kind: type[SectionedCommand]
) -> SectionedCommand:
    """The command of a table, carried out by the function of its name in the module of its name."""
    whole = {**table, **tables_beside(__file__, table["file"])} if "file" in table else table
    readers = [*whole.get("readers", ()), "ringside.cli.params", "ringside.units"]
    sections = whole["options"] if "file" in table else {COMMON: table.get("options", {})}
    options = [
        _option(field, shared[field] if row == "shared" else row, section, readers)
        for section, rows in sections.items()
        for field, row in rows.items()
    ]
    examples = "\n".join(table["examples"])
    return kind(
        name,
        answers=whole.get("answers", {}),
        params=[*(_argument(**each) for each in table.get("arguments", ())), *options],
        callback=partial(_carry_out, name, whole),
        short_help=table["help"],
        help="\n\n".join(filter(None, (f"\b\n{examples}", table["help"], table.get("details")))),
    )


def _argument(name: str, **attributes: Any) -> click.Argument:
    if "choices" in attributes:
        attributes["type"] = click.Choice(attributes.pop("choices"))
    return click.Argument([name], **attributes)


def _option(field: str, row: Sequence[str], section: str, readers: Sequence[str]) -> Option:
    """A field's option. `row`: ways to write it, help, how it is read, a shorter way. No value: a flag."""
    written, help_text, how, shown = (*row, "", "")[:4]
    *others, last = written.split(", ")
    name, _, metavar = last.partition(" ")
    names = [*others, name]
    kind = " ".join(word for word in how.split() if word not in ("repeated", "required"))
    attributes: dict[str, Any] = {"section": section, "shown": shown, "help": help_text or None}
    if kind == "form":
        attributes |= {"is_flag": True, "expose_value": False, "callback": _choose_form}
        return Option([*names, f"is_{field}"], **attributes)
    return Option(
        [*names, field],
        **attributes,
        metavar=metavar or None,
        # With False click takes an option without a value.
        is_flag=None if metavar or kind else True,
        multiple="repeated" in how,
        required="required" in how,
        nargs=len(shlex.split(metavar)) or 1,
        type=_type(kind, readers),
    )


def _type(kind: str, readers: Sequence[str]) -> Any:
    """click's type for a range `1..10`, words `a|b`, a `file`, or a function's name in these modules."""
    if match := _RANGE.fullmatch(kind):
        return Value(_whole(int(match[1]), int(match[2])))
    if "|" in kind:
        return click.Choice(kind.split("|"))
    if kind == "file":
        return click.Path(path_type=Path)
    return Value(_read_by(kind, readers)) if kind else None


def _read_by(name: str, modules: Sequence[str]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        # Only where there is a value: that keeps `--help` quick.
        functions = (getattr(importlib.import_module(module), name, None) for module in modules)
        return next(filter(None, functions))(text)

    return read


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not least <= (number := units.whole(text)) <= most:
            raise ValueError(f"{number} is not in the range from {least} to {most}")
        return number

    return read


def _choose_form(context: click.Context, chosen: click.Parameter, is_chosen: bool) -> None:
    """Flags choose the form of the output, at most one of them: the value is its name, or None."""
    other = context.params.setdefault("form", None)
    if is_chosen and other:
        raise click.UsageError(f"--{other} and {chosen.opts[0]} exclude each other: leave one out")
    if is_chosen:
        context.params["form"] = chosen.opts[0].removeprefix("--")


def _carry_out(command: str, table: Mapping[str, Any], /, **values: Any) -> int:
    """Call a command's function with all that was given on the command line."""
    _check_rules(table)
    # `list` is Python's.
    module = "listing" if command == "list" else command
    function: Callable[..., int] = getattr(importlib.import_module(f"ringside.cli.{module}"), module)
    return function(**{name: value for name, value in values.items() if value is not None})


def _check_rules(table: Mapping[str, Any]) -> None:
    """Raise UsageError if options that are used exclude each other, or lack the one that they are for."""
    used = command_line_options(())
    for name, others in table.get("excludes", {}).items():
        for other in others.split():
            if name in used and other in used:
                raise UsageError(f"{name} and {other} exclude each other: leave one out")
    for name, others in table.get("needed_by", {}).items():
        for other in others.split():
            if other in used and name not in used:
                raise UsageError(f"{other} is for {name}: add {name}, or leave {other} out")


def command_line_options(but: Collection[str]) -> dict[str, tuple[bool | str | tuple[str, ...], ...]]:
    """The options of this command line with their values, without the fields `but`; empty without one."""
    context = click.get_current_context(silent=True)
    options = context.meta.get(_USED, {}) if context else {}
    return {written: values for name, (written, values) in options.items() if name not in but}
