"""Rules for every option of every command, and for every command that is printed."""

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ringside import units
from ringside.cli import check, params, run
from ringside.cli.main import COMMANDS, cli
from ringside.cli.options import Value
from ringside.cli.run import RunSettings
from ringside.errors import UsageError
from ringside.load import options, thresholds
from ringside.measure.vs.commands import scanned_levels
from ringside.workloads import WORKLOADS
from tests.support.cases import cases, tables
from tests.support.command_line import in_process
from tests.support.errors import error_of
from tests.support.fake_contenders import Add

# Values with numbers. Every option with a number takes one of them.
SAMPLES = (
    *("10", "10s", "5%", "10/s", "3,1", "10:5s", "slower:10%", "p99>10ms", "rate<10", "200"),
    *("cores=10", "10-11"),
)


def forms_of(text: str) -> Iterator[str]:
    """The text with its first number as Python reads it, but nobody writes it."""
    number = re.search(r"[0-9]+", text.removeprefix("p99")) or pytest.fail(text)
    digits, rest = number[0], text.removeprefix("p99")
    head = text[: len(text) - len(rest)]
    full_width = "".join(chr(ord(digit) + 0xFEE0) for digit in digits)
    for odd in (full_width, f"+{digits}", f" {digits}", f"{digits[0]}_0", f"{digits}e1", "nan"):
        yield head + rest.replace(digits, odd, 1)


def all_options() -> Iterator[tuple[str, click.Option]]:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        yield from ((name, each) for each in command.params if isinstance(each, click.Option))


def accepted(option: click.Option, text: str) -> Any:
    """The value that the option makes of a text; None if it refuses it."""
    try:
        return option.type.convert(text, option, click.Context(cli))
    except click.BadParameter:
        return None


# They take texts in which a number is nothing but text.
TEXTS = {"--engines", "--body", "--header", "--method", "--connect-to"}
NUMERIC = [
    pytest.param(option, sample, id=f"{name} {option.opts[-1]} {sample}")
    for name, option in all_options()
    if isinstance(option.type, Value)
    if not TEXTS & set(option.opts)
    for sample in SAMPLES
    if accepted(option, sample) is not None
]


@pytest.mark.parametrize(("option", "sample"), NUMERIC)
def test_numbers_of_options_are_digits(option: click.Option, sample: str) -> None:
    for odd in forms_of(sample):
        # `p99> 10ms` and `rate < 10` may have spaces around the operator.
        if accepted(option, odd) is not None:
            assert re.search(r"[<>] ", odd), odd


@pytest.mark.parametrize("odd", ["1_0", "\uff110", " 10", "10 ", "+10", "1e1"])
def test_numbers_elsewhere_are_digits(workplace: Path, odd: str) -> None:
    for workload in WORKLOADS.values():
        for factor in workload.factors:
            if not factor.choices:
                with pytest.raises(UsageError):
                    factor.check(odd)
    for words in ((odd, "20", None), ("1", odd, None), ("1", "20", odd)):
        assert "is no number" in error_of(UsageError, scanned_levels, *words)
    for read in (units.whole, units.number, units.seconds, units.margin):
        # `10 %` is how a share may be written.
        for text in (odd, f"{odd}%" if odd != "10 " else odd):
            assert "write" in error_of(ValueError, read, text)
    assert (
        "write exit statuses as 1 or 1,2"
        in in_process("vs", "-r", "1", f"--ignore-failure={odd}", "true", status=2).stderr
    )


@pytest.mark.parametrize("figure", ["p99", "max", "mean", "errors", "unfinished", "unsent", "rate"])
def test_the_example_for_a_threshold_with_a_wrong_unit_is_right(figure: str) -> None:
    said = error_of(ValueError, thresholds.parse, f"{figure}>200furlongs")
    (example,) = re.findall(r"write it like '(.*)'", said)
    assert thresholds.parse(example).figure == figure


def test_answers_to_users_of_other_tools_name_options_that_exist() -> None:
    for name in ("vs", "load"):
        command = cli.get_command(click.Context(cli), name)
        own = {each for option in command.params for each in option.opts}
        for other, answer in getattr(command, "answers", {}).items():
            assert other not in own, other
            assert {*re.findall(r"(?<![\w-])--[a-z0-9-]+", answer)} <= own | {"--version"}, other


DRY = tables(__file__)["dry"]


def test_a_dry_run_takes_or_refuses_every_option(workplace: Path, add_experiment: Add) -> None:
    add_experiment("pair", "one", "two", blocks=9)
    plain = in_process("run", "pair", "--dry-run").stdout
    assert "about 1 s per block" in plain
    assert {each.name for each in dataclasses.fields(RunSettings)} - {"name", "settings", "engines"} == {*DRY}
    for name, words in DRY.items():
        if not words or name == "outside":
            continue
        done = in_process("run", "pair", "--dry-run", *words, status=None)
        if done.status:
            assert words[0] in done.stderr or name == "resume", done
        else:
            assert done.stdout != plain, name
    assert not list(workplace.glob("*.sqlite"))
    # Spaces between names are no part of them.
    assert in_process("run", "pair", "--only", "one, two", "--dry-run").stdout == plain
    assert "7 s" in in_process("run", "pair", "--dry-run", "--time", "7s").stdout


def test_a_huge_experiment(add_experiment: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    add_experiment("solo", "one")
    assert "cells take" not in in_process("run", "solo", status=None).stderr
    monkeypatch.setattr(run, "_MANY_CELLS", 2)
    said = in_process("run", "solo", "--set", "nodes=4,5", "--time", "1s", status=None).stderr
    assert "solo: 2 cells take about 1 s per block, 1 block at most; for less: --only, --set" in said


@pytest.mark.parametrize(
    "words", [("--only", "go,"), ("--only", ""), ("--only", "go, ,c"), ("--cores", "1,,2")]
)
def test_an_empty_part_of_a_list_is_said(workplace: Path, words: tuple[str, str]) -> None:
    said = in_process("run", "showdown-ring", *words, "--dry-run", status=2).stderr
    assert said == f"ringside: {words[0]} {words[1]}: a part is empty; write it as A or A,B\n"


def test_every_printed_command_works(add_fake: Add, add_experiment: Add) -> None:
    """With another store than that of the folder, whose name needs quotes."""
    add_fake("bad", "crashes")
    add_experiment("pair", "good", "bad", blocks=2)
    store = ("--store", "my own.sqlite")
    done = in_process("run", "pair", *store, status=1)
    stopped = in_process("run", "pair", "--time", "1ms", *store, status=1, RINGSIDE_STORE="")
    asked = in_process("ask", *store)
    texts = "\n".join((done.stdout, done.stderr, stopped.stderr, in_process("show", *store, status=1).stdout))
    pattern = r"(?:^|[:`] )`?(ringside (?:run|show|report|repeat) [^`(\n]*)"
    printed = set(re.findall(pattern, texts, re.MULTILINE))
    assert {words.split()[1] for words in printed} == {"show", "report", "repeat"}
    for command in printed:
        status = None if " repeat " in command else int("show" in command)
        in_process(*shlex.split(command)[1:], status=status)
        assert "--store 'my own.sqlite'" in command
    assert "--store 'my own.sqlite'` measures it" in asked.stderr


def test_no_text_of_a_csv_file_is_a_formula(workplace: Path) -> None:
    words = ("-r1", "-w0", "-i", "-n=1+1", "-L", "x", "@A1,+1,-1,-2.5")
    in_process("vs", *words, "true {x}", "--export-csv", "h.csv")
    for text in (in_process("show", "--csv").stdout, Path("h.csv").read_text(encoding="utf-8")):
        fields = [field for line in text.splitlines() for field in line.split(",")]
        assert not [each for each in fields if each[:1] in tuple("=+@") or re.match(r"-(?![0-9.]+$)", each)]
        # A negative number stays one.
        assert {"'=1+1", "-1", "-2.5"} & set(fields) >= {"-1", "-2.5"}


def test_requests_that_do_not_divide_into_blocks_are_said(http: str) -> None:
    words = ("load", http, "--vs", http, "--blocks", "10", "--connections", "1", "--store", "s.sqlite")
    said = in_process(*words, "--requests", "105", status=None).stderr
    assert "ringside: 105 requests in 10 blocks: 10 each, 100 in all\n" in said
    assert "in all" not in in_process(*words, "--requests", "100", status=None).stderr


@pytest.mark.parametrize(
    ("findings", "said"), [(0, "conforms"), (1, "1 rule broken"), (11, "11 rules broken")]
)
def test_findings_are_counted(findings: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    finding = dict.fromkeys(("rule", "meaning", "expected", "came", "command"), "x")
    workload = {"workload": "ring", "not_offered": [], "findings": [finding] * findings}
    check.print_document({"contender": "c", "reason": "", "workloads": [workload]})
    assert capsys.readouterr().out.splitlines()[0] == f"c: ring: {said}"


def reader(name: str) -> Callable[[str], Any]:
    """The reader of an option's text: a function of `cli.params` or `load.options`."""
    return getattr(params, name, None) or getattr(options, name)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "text", "value"), cases(__file__, "values"))
def test_values(name: str, text: str, value: Any) -> None:
    assert reader(name)(text) == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(("name", "texts", "message"), cases(__file__, "values_that_cannot_be"))
def test_values_that_cannot_be(name: str, texts: tuple[str, ...], message: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=message):
            reader(name)(text)


def test_a_staircase_has_up_to_a_thousand_steps() -> None:
    assert options.staircase(",".join(["1:1s"] * 1000)) == ((1, 1),) * 1000
    assert "up to 1,000 are possible" in error_of(ValueError, options.staircase, ",".join(["1:1s"] * 1001))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_reads_durations_and_seeds_in_the_same_way(name: str) -> None:
    """`run --time` once read what `vs --time` did not, and the reverse. Seeds fit into a store."""
    context = click.Context(cli)
    command = cli.get_command(context, name)
    for parameter in command.params:
        bad: tuple[str, ...] = ()
        if parameter.name and parameter.name.endswith("_s") and not parameter.name.endswith("_per_s"):
            assert parameter.type.convert("1m30s", parameter, context) == 90, parameter.name
            bad = ("soon",)
        elif parameter.name == "seed":
            assert parameter.type.convert("4611686018427387904", parameter, context) == 2**62
            bad = ("9223372036854775808", "-1", "x")
        for text in bad:
            with pytest.raises(click.BadParameter):
                parameter.type.convert(text, parameter, context)
