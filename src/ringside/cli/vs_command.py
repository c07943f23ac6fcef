"""How `ringside vs` reads its words and shows its help: options in sections, the common ones first; and
options whose value is part of the same word, so that they take no command for a value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from ringside.cli import hyperfine, sections
from ringside.cli.sections import COMMON, Function

SECTIONS = (COMMON, "Commands", "Parameters", "How often", "Output")
# A value for these stands behind `=`; what they mean without one.
_ALONE = {"--shell": "default", "--ignore-failure": "all-non-zero"}
_SHORT = {"-S": "--shell", "-i": "--ignore-failure"}
_FLAGS = re.compile(r"-[SNi]{2,}")
_SHELLS = {"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh", "none", "default"}
_MORE = "`ringside vs --help all` has all options; docs/COMMANDS.md compares them with hyperfine's."


class ShownOption(sections.Option):
    """An option in a section of the help, written as `shown` there."""

    def __init__(self, *declarations: Any, shown: str = "", **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.shown = shown

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """`shown` replaces how the option is written, where the ways to write it would take too much room."""
        record = super().get_help_record(ctx)
        return (self.shown or record[0], self.help or "") if record else None


def option(*declarations: str, **attributes: Any) -> Callable[[Function], Function]:
    """click.option with `section`, and `shown`: how it is written."""
    return click.option(*declarations, cls=ShownOption, **attributes)


class VsCommand(click.Command):
    """The command `vs`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args[: args.index("--")] if "--" in args else args
        if ("-h" in before or "--help" in before) and not ctx.resilient_parsing:
            is_all = before[-1] == "all"
            click.echo(self._help(ctx, SECTIONS if is_all else SECTIONS[:1]), color=ctx.color)
            ctx.exit()
        words = [*_with_values(before), *args[len(before) :]]
        try:
            return super().parse_args(ctx, words)
        except click.NoSuchOption as error:
            if answer := hyperfine.answer(error.option_name):
                raise click.UsageError(f"{error.option_name} is hyperfine's: {answer}", ctx) from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._format(ctx, formatter, SECTIONS)

    def _help(self, ctx: click.Context, shown: Sequence[str]) -> str:
        # No wider than a terminal of the usual width.
        formatter = click.HelpFormatter(width=80, max_width=80)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self._format(ctx, formatter, shown)
        return formatter.getvalue().rstrip("\n")

    def _format(self, ctx: click.Context, formatter: click.HelpFormatter, shown: Sequence[str]) -> None:
        records = sections.records(ctx, self.params)
        for section in shown:
            with formatter.section(section):
                formatter.write_dl(records[section], col_max=34)
        if len(shown) < len(SECTIONS):
            formatter.write_text(_MORE)


def _with_values(args: Sequence[str]) -> list[str]:
    """The words with a value for each option that may lack one. Raises UsageError where the next word looks
    like its value."""
    words: list[str] = []
    args = [part for word in args for part in _apart(word)]
    for place, word in enumerate(args):
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name)
        if name == "--shell" and not equals and place + 1 < len(args):
            program = os.path.basename(args[place + 1].partition(" ")[0])
            if program in _SHELLS:
                raise click.UsageError(
                    f"write --shell='{args[place + 1]}': {word} alone means sh and takes no value"
                )
        if name in _ALONE:
            words.append(f"{name}={value if equals else _ALONE[name]}")
        else:
            words.append(word)
    return words


def _apart(word: str) -> list[str]:
    """`-Si` as `-S`, `-i`; `-Sbash` as `--shell=bash`."""
    if _FLAGS.fullmatch(word):
        return [f"-{letter}" for letter in word[1:]]
    return [f"--shell={word[2:].lstrip('=')}"] if word.startswith("-S") and len(word) > 2 else [word]
