"""`ringside vs`, and how its words are read: as hyperfine does, but an option whose value is part of the same
word takes no command for a value."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import click

from ringside.cli.options import COMMON, Command, help_records, takes
from ringside.cli.vs_options import VsSettings

# Options of hyperfine 1.20 that `vs` does not have, and the line for a user of one. docs/COMMANDS.md compares
# the others with those of `vs`.
ANSWERS = {
    **dict.fromkeys(("-V", "--version"), "the version is printed by `ringside --version`"),
    "--min-benchmarking-time": (
        "`--time 10s` limits the time and `--min-runs N` gives a least number of executions"
    ),
    "--debug-mode": "there is no mode without real executions; `--runs 1` executes each command once",
}
# A value for these stands behind `=`; what they mean without one.
_ALONE = {"--shell": "default", "--ignore-failure": "all-non-zero"}
_SHORT = {"-S": "--shell", "-i": "--ignore-failure"}
_FLAGS = re.compile(r"-[SNi]{2,}")
_SHELLS = {"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh", "none", "default"}
_MORE = "`ringside vs --help all` has all options; docs/COMMANDS.md compares them with hyperfine's."


class VsCommand(Command):
    """The command `vs`: its help shows the common options first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args[: args.index("--")] if "--" in args else args
        if ("-h" in before or "--help" in before) and not ctx.resilient_parsing:
            click.echo(self._help(ctx, before[-1] == "all"), color=ctx.color)
            ctx.exit()
        words = [*_with_values(before), *args[len(before) :]]
        try:
            return super().parse_args(ctx, words)
        except click.NoSuchOption as error:
            word = error.option_name.partition("=")[0]
            if word not in ANSWERS:
                raise
            message = f"{error.option_name} is hyperfine's: {ANSWERS[word]}"
            raise click.UsageError(message, ctx) from error

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter, is_whole: bool = True
    ) -> None:
        for section, records in help_records(ctx, self.params).items():
            if section == COMMON or is_whole:
                with formatter.section(section):
                    formatter.write_dl(records, col_max=34)
        if not is_whole:
            formatter.write_text(_MORE)

    def _help(self, ctx: click.Context, is_whole: bool) -> str:
        # No wider than a terminal of the usual width.
        formatter = click.HelpFormatter(width=80, max_width=80)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter, is_whole)
        return formatter.getvalue().rstrip("\n")


def _with_values(args: Sequence[str]) -> list[str]:
    """The words with a value for each option that may lack one. Raises UsageError where the next word looks
    like its value."""
    words: list[str] = []
    args = [part for word in args for part in _single_words(word)]
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


def _single_words(word: str) -> list[str]:
    """`-Si` as `-S`, `-i`; `-Sbash` as `--shell=bash`."""
    if _FLAGS.fullmatch(word):
        return [f"-{letter}" for letter in word[1:]]
    return [f"--shell={word[2:].lstrip('=')}"] if word.startswith("-S") and len(word) > 2 else [word]


@click.command(cls=VsCommand)
@click.argument("texts", nargs=-1, metavar="'CMD A' ['CMD B' …]")
@takes(VsSettings)
def vs(settings: VsSettings) -> int:
    """Compare any commands, each quoted as one argument: in pairs, in random order.

    The first is the baseline; a command alone is timed. It ends when all is decided, or after 30 seconds.
    Exit status 1 where a command failed.
    """
    from ringside.cli.vs_run import compare

    return compare(settings)
