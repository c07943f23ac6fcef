"""The man page says what the commands' help says."""

from __future__ import annotations

import click
from scripts import manpage

from ringside.cli.main import cli


def test_the_page_is_that_of_the_help() -> None:
    assert manpage.PAGE.read_text(encoding="utf-8") == manpage.page(), "run scripts/manpage.py"


def test_it_has_every_command_and_option() -> None:
    text = manpage.page()
    context = click.Context(cli)
    for name in cli.list_commands(context):
        assert f".SS ringside {name} " in text
        command = cli.get_command(context, name)
        assert command
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                # Of an option with several names the help may show one.
                names = [option.replace("-", "\\-") for option in parameter.opts]
                assert any(option in text for option in names), f"{name} {parameter.opts}"


def test_text_is_not_taken_for_a_command_of_troff() -> None:
    assert manpage.roff(".SH\n'x\n\\fB--a") == "\\&.SH\n\\&'x\n\\efB\\-\\-a"
