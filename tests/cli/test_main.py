"""The group of commands: their tables, and imports that wait."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from ringside.cli.main import COMMANDS, cli
from ringside.probe.process import find_probe
from ringside.workloads import WORKLOADS
from tests.support.cases import cases
from tests.support.command_line import RINGSIDE, captured, in_process, ringside
from tests.support.toolchains import script

HEAVY = ("altair", "jinja2", "msgspec", "numpy", "rich", "scipy")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_begins_with_three_examples_and_the_sentence_of_the_table(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    _, heading, sentence, *_ = in_process(name, "--help", COLUMNS="200").stdout.split("\n\n")
    assert " ".join(sentence.split()) == COMMANDS[name]
    examples = re.findall(r"^  (ringside .*)$", heading, re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        assert len(example) <= 76
        _, command_name, *words = shlex.split(example.partition(" > ")[0])
        assert command_name == name
        command.make_context(name, words)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom ringside.cli.main import COMMANDS, cli\n"
        "for words in (['--help'], *([name, '--help'] for name in COMMANDS)):\n"
        "    cli.main(words, 'ringside', standalone_mode=False)\n"
        f"    print('loaded:', *words, *(name for name in {HEAVY!r} if name in sys.modules))\n"
        "import ringside.cli.vs\nassert 'numpy' not in sys.modules"
    )
    shown = captured([sys.executable, "-c", code], check=True).stdout
    assert shown.count("Usage: ringside") == len(COMMANDS) + 1
    lines = [line for line in shown.splitlines() if line.startswith("loaded: ")]
    assert lines == ["loaded: --help", *(f"loaded: {name} --help" for name in COMMANDS)]


def test_the_shell_completes_names() -> None:
    assert list(COMMANDS)[:3] == ["vs", "load", "run"]
    complete = ShellComplete(cli, {}, "ringside", "_RINGSIDE_COMPLETE")
    assert [item.value for item in complete.get_completions([], "re")] == ["report", "repeat"]
    assert [item.value for item in complete.get_completions([], "")] == list(COMMANDS)
    assert "--version" in [item.value for item in complete.get_completions([], "--")]


@pytest.mark.parametrize(("columns", "same"), [("0", ""), ("-3", ""), ("wide", ""), ("1", "20")])
def test_columns_that_are_no_width_are_unset_or_the_least(workplace: Path, columns: str, same: str) -> None:
    shown = [in_process("list", "workloads", COLUMNS=width).stdout for width in (columns, same)]
    assert shown[0] == shown[1]


def test_the_list_of_workloads_has_the_words_that_levels_can_be(workplace: Path) -> None:
    shown = in_process("list", "workloads", COLUMNS="200").stdout
    words = {factor.words for each in WORKLOADS.values() for factor in each.factors} - {()}
    assert words
    assert all(f" | {' | '.join(each)} " in shown for each in words)


@pytest.mark.parametrize("form", ["parquet", "record"])
def test_a_binary_export_needs_a_file(workplace: Path, form: str) -> None:
    """`-` is stdout, not a file of that name."""
    in_process("vs", "--runs", "1", "true", "--store", "vs.sqlite")
    for words in ((), ("-o", "-")):
        done = in_process("export", "latest", "--format", form, *words, "--store", "vs.sqlite", status=2)
        assert "with -o run." in done.stderr
    assert not (workplace / "-").exists()


@pytest.mark.parametrize(
    "words", [("vs", b"echo \xff\xfe"), ("vs", "-L", "x", b"\xff\xfe", "true"), ("show", b"\xff")]
)
def test_words_that_are_not_text_get_one_line(workplace: Path, words: tuple[str | bytes, ...]) -> None:
    done = captured([*RINGSIDE, *words])
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
    words, odd = ("vs", "--runs", "1", "--show-output", "env"), {b"ODD": b"\xff", b"EVEN": b"2"}
    done = captured([*RINGSIDE, *words], env={**os.environb, **odd})
    assert (done.returncode, "ODD=" in done.stdout, "EVEN=2" in done.stdout) == (0, False, True), done
    assert "the variable ODD is not UTF-8: the commands do not get it" in done.stderr


def from_bash(line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which `vs` is a short run of it; it has to end in time, and without a traceback."""
    # However slow the machine is, no line says so; nobody is waited for.
    program = shlex.join([*RINGSIDE, "vs", "--quiet", "--runs", "1", "--warmup", "0"])
    environment = {**os.environ, "RINGSIDE_LOCK": str(Path("lock").absolute())}
    done = captured(["bash", "-c", line.replace("vs", program)], env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(("line", "message"), cases(__file__, "nothing_works"))
def test_surroundings_in_which_nothing_works_are_one_line(workplace: Path, line: str, message: str) -> None:
    done = from_bash(line)
    assert (done.returncode, done.stderr) == (2, f"ringside: {message}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_without_dev_null_the_reason_is_the_machines(workplace: Path) -> None:
    done = from_bash("unshare -m bash -c 'mount -t tmpfs none /dev && exec vs true'")
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no mounts can be made here")
    line = "ringside: cannot begin the trial: stdin: /dev/null: No such file or directory\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_where_nothing_was_measured_nothing_is_shown(workplace: Path) -> None:
    version = f'[ "$1" = --version ] && exec {find_probe()} --version'
    probe = script(workplace / "probe", f"{version}\necho out of paint >&2; exit 3")
    for form in ((), ("--json",)):
        done = in_process("vs", "-r1", "-w0", "true", *form, status=2, RINGSIDE_PROBE=str(probe))
        assert not done.stdout
        assert done.stderr.endswith(": out of paint\n")


@pytest.mark.parametrize("line", cases(__file__, "no_difference"))
def test_surroundings_that_make_no_difference(workplace: Path, line: str) -> None:
    done = from_bash(f"set -o pipefail; {line}")
    assert (done.returncode, done.stderr) == (0, "")
