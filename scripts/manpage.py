"""Makes the man page docs/man/ringside.1 from the commands' own help.

.venv/bin/python scripts/manpage.py            write it
.venv/bin/python scripts/manpage.py --check    exit status 1 if it differs from the help
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ringside import __version__
from ringside.cli.main import cli

PAGE = Path(__file__).resolve().parents[1] / "docs" / "man" / "ringside.1"
STATUS = (
    ("0", "done"),
    ("1", "done, but a gate failed, a rule is broken, or cells have no figures"),
    ("2", "wrong use, or nothing could be done; one line on stderr says why"),
    ("130", "interrupted"),
)


def roff(text: str) -> str:
    """The text for troff: it makes dashes copyable and prevents control characters at the beginning of a
    line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped.splitlines())


def page() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    context = click.Context(cli, info_name="ringside")
    yield f'.TH RINGSIDE 1 "" "ringside {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "ringside \\- measure and compare concurrent programs"
    yield ".SH SYNOPSIS"
    yield ".B ringside\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(cli.help or "")
    yield ".SH COMMANDS"
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield from _command(name, command, context)
    yield ".SH EXIT STATUS"
    for status, meaning in STATUS:
        yield f".TP\n.B {status}\n{roff(meaning)}"


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f".SS ringside {roff(name)} {roff(pieces)}"
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # The heading already lists the arguments, and every command has --help.
        if record and isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            yield f".TP\n.B {roff(record[0])}\n{roff(' '.join(record[1].split()))}"


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield roff(" ".join(paragraph.replace("\b", "").split()))


def main(arguments: Sequence[str]) -> int:
    text = page()
    if "--check" in arguments:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/man/ringside.1 is not what the help says: run scripts/manpage.py", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
