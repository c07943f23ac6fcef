"""Reads the words of `ringside vs` as hyperfine does, but options such as `--shell` take a value only within
their own word."""

import os
import re
from typing import Any

import click
from click.parser import _OptionParser, _ParsingState

from ringside.cli.options import IS_WHOLE, SectionedCommand

# Options whose value stands in the same word, and their meaning without a value.
_ALONE = {"-S": "--shell=default", "--shell": "--shell=default"}
_ALONE |= dict.fromkeys(("-i", "--ignore-failure"), "--ignore-failure=all-non-zero")
_FLAGS = re.compile(r"-[SNi]{2,}")
_SHELLS = {"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh", "none", "default"}
_MORE = "`ringside vs --help all` has all; docs/COMMANDS.md compares with hyperfine."


class _Parser(_OptionParser):
    """click's, in which an option whose value may lack takes no other word for it."""

    def _process_opts(self, arg: str, state: _ParsingState) -> None:
        words = [f"-{letter}" for letter in arg[1:]] if _FLAGS.fullmatch(arg) else [arg]
        for word in words:
            if word in ("-S", "--shell") and state.rargs:
                program = os.path.basename(state.rargs[0].partition(" ")[0])
                if program in _SHELLS:
                    raise click.UsageError(
                        f"write --shell='{state.rargs[0]}': {word} alone means sh and takes no value"
                    )
            if word.startswith("-S") and len(word) > 2:
                word = f"--shell={word[2:].removeprefix('=')}"
            elif word.startswith("-i="):
                word = f"--ignore-failure={word[3:]}"
            super()._process_opts(_ALONE.get(word, word), state)


class VsCommand(SectionedCommand):
    """The command `vs`: its help shows the common options first."""

    names_width = 34

    def make_parser(self, ctx: click.Context) -> _Parser:
        parser = _Parser(ctx)
        for parameter in self.get_params(ctx):
            parameter.add_to_parser(parser, ctx)
        return parser

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        how: Any = {"is_flag": False, "flag_value": "", "is_eager": True, "expose_value": False}
        return click.Option(self.get_help_option_names(ctx), callback=_show_help, hidden=True, **how)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if not ctx.meta.get(IS_WHOLE, True):
            formatter.write_text(_MORE)


def _show_help(ctx: click.Context, _: click.Parameter, which: str | None) -> None:
    """`--help` has the common options, `--help all` every one."""
    if which is not None and not ctx.resilient_parsing:
        # No wider than a terminal of the usual width.
        ctx.terminal_width, ctx.meta[IS_WHOLE] = 80, which == "all"
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
