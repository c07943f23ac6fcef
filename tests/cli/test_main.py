"""The group of commands: its table of names, and imports that wait."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from ringside.cli.main import COMMANDS, cli
from tests.support.command_line import RINGSIDE, ringside

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
        "from ringside.cli.main import COMMANDS, cli\n"
        "ShellComplete(cli, {}, 'ringside', 'X').get_completions([], 're')\n"
        "modules = {f'ringside.cli.{module}' for module, _ in COMMANDS.values()}\n"
        "print(sorted(modules & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("columns", ["0", "-3", "wide"])
def test_columns_that_are_no_width_are_unset(workplace: Path, columns: str) -> None:
    assert ringside("list", "workloads", COLUMNS=columns).stdout == ringside("list", "workloads").stdout


def test_a_width_below_that_of_any_table_is_that_of_a_narrow_one(workplace: Path) -> None:
    assert (
        ringside("list", "workloads", COLUMNS="1").stdout
        == ringside("list", "workloads", COLUMNS="20").stdout
    )


@pytest.mark.parametrize(
    "words", [("vs", b"echo \xff\xfe"), ("vs", "-L", "x", b"\xff\xfe", "true"), ("show", b"\xff")]
)
def test_words_that_are_no_text_are_refused_in_one_line(
    workplace: Path, words: tuple[str | bytes, ...]
) -> None:
    done = subprocess.run([*RINGSIDE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"ringside: the argument `.*` is not valid UTF-8: write it in UTF-8.*\n", done.stderr)
    assert not list(workplace.glob(".ringside/*"))


def test_an_encoding_that_lacks_characters_gets_others(workplace: Path) -> None:
    shown = ringside("list", "workloads", PYTHONIOENCODING="ascii").stdout
    assert shown.isascii()
    assert "ring" in shown
    for words in (("list", "workloads"), ("vs", "--runs", "1", "true")):
        done = ringside(*words, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        assert done.stdout.strip()
        assert done.stdout.isascii()


def test_variables_that_are_no_text_are_left_out(workplace: Path) -> None:
    done = subprocess.run(
        [*RINGSIDE, "vs", "--runs", "1", "--show-output", "env"],
        capture_output=True,
        env={**os.environb, b"ODD": b"\xff", b"EVEN": b"2"},
        check=False,
    )
    assert (done.returncode, b"ODD=" in done.stdout, b"EVEN=2" in done.stdout) == (0, False, True), done
    assert b"the variable ODD is not UTF-8: the commands do not get it" in done.stderr
