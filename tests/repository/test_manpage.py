"""The man page says what the commands' help says."""

from __future__ import annotations

from scripts import manpage


def test_the_page_is_that_of_the_help() -> None:
    assert manpage.PAGE.read_text(encoding="utf-8") == manpage.page(), "run scripts/manpage.py"


def test_text_is_not_taken_for_a_command_of_troff() -> None:
    assert manpage.roff(".SH\n'x\n\\fB--a") == "\\&.SH\n\\&'x\n\\efB\\-\\-a"
