"""The group of commands: its table of names, and imports that wait."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from ringside.cli.main import COMMANDS, cli

HEAVY = ("altair", "jinja2", "msgspec", "numpy", "rich", "scipy", "sqlalchemy")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_table_of_commands_repeats_their_own_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=1000).rstrip(".") == COMMANDS[name][1].rstrip(".")


def test_names_are_sorted() -> None:
    assert list(COMMANDS) == sorted(COMMANDS)


def loaded(*arguments: str) -> list[str]:
    """The heavy packages that `ringside` with these arguments imports."""
    code = (
        "import sys\n"
        "from ringside.cli.main import cli\n"
        f"cli.main({list(arguments)!r}, 'ringside', standalone_mode=False)\n"
        f"print('loaded', *(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: ringside" in done.stdout
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("arguments", [("--help",), *((name, "--help") for name in sorted(COMMANDS))])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert loaded(*arguments) == []


def test_the_shell_completes_names_without_importing_commands() -> None:
    complete = ShellComplete(cli, {}, "ringside", "_RINGSIDE_COMPLETE")
    assert [item.value for item in complete.get_completions([], "re")] == ["repeat", "report"]
    assert [item.value for item in complete.get_completions([], "")] == list(COMMANDS)
    assert "--version" in [item.value for item in complete.get_completions([], "--")]
    code = (
        "import sys\n"
        "from click.shell_completion import ShellComplete\n"
        "from ringside.cli.main import cli\n"
        "ShellComplete(cli, {}, 'ringside', 'X').get_completions([], 're')\n"
        "print([name for name in sys.modules if name.startswith('ringside.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ringside.cli.pipes', 'ringside.cli.streams', 'ringside.cli.main']"
