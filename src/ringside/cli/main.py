"""The command line: the group of commands, as commands.toml has them, and how their errors are shown."""

import errno
import os
import resource
import signal
import sys
from typing import Any

import click

from ringside import __version__
from ringside.cli import EXIT_INTERRUPTED, EXIT_USAGE, streams
from ringside.cli.options import SectionedCommand, make_command
from ringside.cli.vs_parser import VsCommand
from ringside.errors import RingsideError, UsageError
from ringside.files import tables_beside
from ringside.text import nearest, one_line

# Open files that a command needs: some twenty, with room for what a library opens.
_FILES = 64

_SECTIONS = tables_beside(__file__, "commands.toml")
_SHARED = _SECTIONS.pop("shared")
_TABLES = {name: table for section in _SECTIONS.values() for name, table in section.items()}
# The first sentence of each command's help.
COMMANDS = {name: table["help"] for name, table in _TABLES.items()}


class _Commands(click.Group):
    """Makes a command when it is used, and names the nearest one when it is mistyped."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        kind = VsCommand if cmd_name == "vs" else SectionedCommand
        return make_command(cmd_name, _TABLES[cmd_name], _SHARED, kind)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, COMMANDS[name]) for name in commands])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            near = nearest(args[0], COMMANDS)
            hint = f"did you mean `{near}`?" if near else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command `{args[0]}`; {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, message="ringside %(version)s")
def cli() -> None:
    """\b
    ringside vs 'sort big.txt' 'sort -n big.txt'
    ringside load http://127.0.0.1:8080/ --rate 1000
    ringside run showdown

    Says which program is faster, by how much, and how sure that is. Compares commands, servers and
    concurrency runtimes, and checks that each program did its work."""


def main() -> None:
    """Entry point: every known error is one line on stderr."""
    streams.make_safe()
    # SIGTERM, and a terminal that goes away, end a run in the same order as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` leaves it
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        if "_RINGSIDE_COMPLETE" in os.environ:
            cli.main(prog_name="ringside")
        for word in sys.argv[1:]:
            # The store, the probe and every document need UTF-8.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise UsageError(f"the argument `{one_line(word, 80)}` is not valid UTF-8: write it in UTF-8")
        # Not `cli.main`: that one answers a reader that went away with status 1.
        with cli.make_context("ringside", sys.argv[1:]) as context:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            if 0 <= most < _FILES:
                what = f"only {most} files may be open at a time, and {_FILES} are needed"
                raise UsageError(f"{what}: ulimit -n {_FILES}")
            status = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        status = _complain(error.format_message(), error.exit_code)
    except click.exceptions.Exit as left:
        status = left.exit_code
    except KeyboardInterrupt:
        status = _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader went away: not our error.
        streams.drop(sys.stdout)
        status = 0
    except (RingsideError, OSError, ImportError, MemoryError) as error:
        status = _complain(_cause(error), EXIT_USAGE)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        what = "a thread cannot be started: is there too little memory, or a limit on processes (ulimit -u)?"
        status = _complain(what, EXIT_USAGE)
    sys.exit(status if isinstance(status, int) else 0)


def _cause(error: Exception) -> str:
    """The cause of an error, with its file. Errors of the working folder and of stdout have no file name."""
    if isinstance(error, MemoryError):
        return "there is too little memory; what was measured is in the store"
    if isinstance(error, ImportError):
        what = f"a module cannot be loaded: {error}"
        return f"{what}; is there too little memory, or is the installation broken?"
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ENOENT and os.readlink("/proc/self/cwd").endswith(" (deleted)"):
        return "the working folder has been removed: change to one that exists"
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    what = error.filename or ("stdout" if is_full else "")
    return ": ".join(filter(None, (what, error.strerror or str(error))))


def _complain(text: str, status: int) -> int:
    streams.say(" ".join(text.split()))
    return status


if __name__ == "__main__":
    main()
