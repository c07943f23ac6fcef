"""hyperfine's integration tests, applied to `ringside vs` if the options mean the same; and the order in
which commands and their hooks are executed. Each test names the differences."""

import csv
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import click
import pytest

from ringside.cli import context
from ringside.cli.main import cli
from ringside.cli.options import SectionedCommand
from ringside.measure.host import LOCK_VARIABLE
from tests.support import ROOT
from tests.support.cases import cases, tables
from tests.support.command_line import RINGSIDE, Ended, in_process
from tests.support.processes import another
from tests.support.stored_trials import words_again

VS = cast(SectionedCommand, cli.get_command(click.Context(cli), "vs"))
NO_PROGRAM = "some-program-that-does-not-exist"

Vs = Callable[..., Ended]


@pytest.fixture
def vs(workplace: Path) -> Vs:
    """`ringside vs` with these words, in this process; without warm-ups, as hyperfine."""

    def run(*words: str, warmup: int = 0) -> Ended:
        return in_process("vs", "--warmup", str(warmup), *words, status=None)

    return run


def exported(name: str = "out.json") -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads(Path(name).read_text(encoding="utf-8"))["results"]
    return results


def test_who_gives_up_waiting_leaves_no_run(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCK_VARIABLE, str(workplace / "lock"))
    with another():
        words = [*RINGSIDE, "vs", "--runs", "1", "true"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as waiting:
            assert "waiting until it ends" in waiting.stderr.readline()
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait() == 130
    assert not context.open_store(None, create=False, anywhere=True).runs()


# --- runs ---


def test_at_least_and_at_most_so_many(vs: Vs) -> None:
    """More than the seven blocks after which this is decided, and fewer than the time would allow."""
    vs("--min-runs=9", "true", "sleep 0.2", "--export-json", "out.json")
    assert all(len(result["times"]) >= 9 for result in exported())
    vs("--max-runs=4", "true", "--export-json", "out.json")
    assert [len(result["times"]) for result in exported()] == [4]


# --- commands ---


@pytest.mark.parametrize(("words", "line"), cases(__file__, "what_a_command_prints"))
def test_what_a_command_prints(vs: Vs, words: Sequence[str], line: str) -> None:
    Path("in.txt").write_text("part of a file\n", encoding="utf-8")
    ended = vs("--runs=1", "--show-output", *words)
    assert ended.status == 0
    assert f"{line}\n" in ended.stdout


@pytest.mark.parametrize("option", ["--prepare", "--conclude", "--output"])
def test_once_for_all_commands_or_once_for_each(vs: Vs, option: str) -> None:
    where = [f"./{name}" for name in "abc"] if option == "--output" else [f"echo {name}" for name in "abc"]
    both = (f"{option}={where[0]}", f"{option}={where[1]}")
    assert vs("--runs=1", *both, "echo a", "echo b").status == 0
    assert vs("--runs=1", *both, f"{option}={where[2]}", "--reference=echo r", "echo a", "echo b").status == 0
    for words in (("echo a", "echo b", "echo c"), ("--reference=echo r", "echo a", "echo b")):
        ended = vs("--runs=1", *both, *words)
        assert ended.status == 2
        assert f"give {option} once for all commands, or once for each of the 3" in ended.stderr


# --- failures ---


@pytest.mark.parametrize("option", ["--setup", "--prepare", "--conclude", "--cleanup"])
def test_what_surrounds_a_command_may_not_fail(vs: Vs, option: str) -> None:
    ended = vs("--runs=1", f"{option}=false", "echo test", "--export-json", "out.json")
    assert ended.status == 1
    (line,) = ended.stderr.strip().splitlines()
    assert f"{option} false failed with exit status 1" in line
    assert "--ignore-failure" not in line
    # All is measured when something fails that only cleans up.
    assert (option == "--cleanup") == ("echo test" in ended.stdout)
    missing = vs("--runs=1", f"{option}={NO_PROGRAM}", "echo test")
    assert f"{option} {NO_PROGRAM}: No such file" in missing.stderr
    assert missing.status == (1 if option == "--cleanup" else 2)


def test_failures_that_are_ignored(vs: Vs) -> None:
    for ignored in ("--ignore-failure", "-i", "-i=1,3"):
        assert vs("-S", "--runs=1", ignored, "exit 3", "--export-json", "out.json").status == 0
        assert exported()[0]["exit_codes"] == [3]
    for other in ("-i=1,2", "--sort=auto"):
        assert "exit status 3" in vs("-S", "--runs=1", other, "exit 3").stderr


def test_a_failure_leaves_what_was_measured_before_it(vs: Vs) -> None:
    """hyperfine has all runs of one command by then; here commands alternate."""
    fails_third = "sh -c 'echo >> made; test $(wc -l < made) -lt 3'"
    ended = vs("--runs=5", "--export-json", "out.json", "--export-markdown", "out.md", fails_third)
    assert ended.status == 1
    assert len(exported()[0]["times"]) == 2
    stored = in_process("export", "--format", "hyperfine", status=None)
    assert json.loads(stored.stdout)["results"] == exported()
    assert "wc -l" in Path("out.md").read_text(encoding="utf-8")


# --- input and output ---


def test_output_goes_where_it_is_told(vs: Vs) -> None:
    words = ("--runs=2", "--output=null", "--output=./b.txt", "echo a", "echo b", "--json")
    document = json.loads(vs(*words).stdout)
    # A file is written anew by each execution.
    assert Path("b.txt").read_text(encoding="utf-8") == "b\n"
    assert "unequal-output" not in [warning["code"] for warning in document["warnings"]]
    compared = json.loads(vs("--runs=2", "echo a", "echo b", "--output=pipe", "--json").stdout)
    assert "unequal-output" in [warning["code"] for warning in compared["warnings"]]


@pytest.mark.parametrize(("words", "hint"), cases(__file__, "wrong_use_is_known_before_anything_is_executed"))
def test_wrong_use_is_known_before_anything_is_executed(vs: Vs, words: Sequence[str], hint: str) -> None:
    ended = vs(*words, "sh -c 'echo >> made'")
    assert (ended.status, ended.stdout) == (2, "")
    assert hint in ended.stderr
    assert not Path("made").exists()
    assert "name a command" in vs().stderr
    forty = ",".join(map(str, range(40)))
    assert "1,600 combinations" in vs("-L", "x", forty, "-L", "y", forty, "true").stderr


# --- what is shown ---


def test_ratios_are_over_the_first_command_or_the_reference(vs: Vs) -> None:
    """hyperfine without a reference divides by the fastest."""
    text = " ".join(vs("--runs=2", "sleep 0.06", "sleep 0.01").stdout.split())
    assert re.match(r"B took [0-9.]+× A's wall time", text)
    words = ("--reference=sleep 0.03", "--reference-name=refabc123", "sleep 0.01", "sleep 0.09")
    text = vs("--runs=2", *words, "--sort=command").stdout
    pairs = re.findall(r"^(\w+) took [0-9.]+× (\w+)'s wall time", text, re.MULTILINE)
    assert pairs == [("A", "refabc123"), ("B", "refabc123")]


@pytest.mark.parametrize(("order", "first"), [("auto", "B"), ("mean-time", "B"), ("command", "A")])
def test_the_order_of_rows(vs: Vs, order: str, first: str) -> None:
    """In exports `auto` is the order of the commands."""
    ended = vs("--runs=2", f"--sort={order}", "sleep 0.3", "true", "--export-csv", "out.csv")
    rows = [line for line in ended.stdout.splitlines() if re.match(r"[AB]  ", line)]
    assert rows[0][0] == first
    with Path("out.csv").open(encoding="utf-8") as file:
        commands = [row["command"] for row in csv.DictReader(file)]
    assert (commands[0] == "sleep 0.3") == (order != "mean-time")


def test_an_export_to_stdout_is_alone_there(vs: Vs) -> None:
    ended = vs("--style=none", "--runs=1", "--export-markdown", "-", "echo 1", "echo 2")
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("| Command | Mean [")
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["`echo 1`", "`echo 2`"]
    assert vs("--style=none", "--runs=1", "echo 1").stdout == ""


# --- parameters ---


def test_a_reference_beside_a_scan(vs: Vs) -> None:
    """hyperfine executes it once for all levels; here it stands beside each of them."""
    words = ("--reference=echo 25", "-P", "time", "30", "40", "-D", "10", "echo {time}")
    document = json.loads(vs("--runs=1", *words, "--json").stdout)
    levels = [(each["name"], each["point"]["time"]) for each in document["commands"]]
    assert levels == [("reference", 30), ("A", 30), ("reference", 40), ("A", 40)]
    points = [each["point"] for each in document["comparisons"] if each["metric"] == "wall_s"]
    assert points == [{"time": 30}, {"time": 40}]


def test_scans_and_lists_are_combined(vs: Vs) -> None:
    """hyperfine 575 and 683: it refuses two scans, and a scan beside a list."""
    words = ("-P", "a", "1", "2", "-P", "b", "3", "4", "-L", "c", "x", "echo {a}{b}{c}")
    document = json.loads(vs("--runs=1", *words, "--json").stdout)
    made = sorted((each["argv"][1], *each["point"].values()) for each in document["commands"])
    assert made == [("13x", 1, 3, "x"), ("14x", 1, 4, "x"), ("23x", 2, 3, "x"), ("24x", 2, 4, "x")]


@pytest.mark.parametrize("commands", [("true",), ("true", "true")])
def test_the_fastest_commands_have_numbers_everywhere(vs: Vs, commands: Sequence[str]) -> None:
    """hyperfine 319, 642: a time of 0, and with it `inf ± NaN` or no table at all."""
    ended = vs("--runs=1", "-N", *commands, "--export-markdown", "out.md", "--export-json", "out.json")
    texts = (ended.stdout, Path("out.md").read_text(encoding="utf-8"), Path("out.json").read_text("utf-8"))
    assert (ended.status, re.findall(r"(?i)\b(?:nan|inf(?:inity)?)\b", " ".join(texts))) == (0, [])
    assert all(result["mean"] > 0 for result in exported())


def test_the_command_for_the_same_again_has_the_same_levels(vs: Vs) -> None:
    """Levels with commas and backslashes among them."""
    assert vs("--runs=1", "-L", "a", r"x,y\,z,p\\,q\\\,r", "echo '{a}'").status == 0
    document = json.loads(vs("--json", *words_again()[2:]).stdout)
    levels = {each["point"]["a"] for each in document["commands"]}
    assert levels == {"x", "y,z", "p\\", "q\\,r"}


def test_the_command_for_the_same_again_has_all_options(vs: Vs) -> None:
    """But for those that say how it is shown."""
    Path("in.txt").touch()
    words = [
        *("--shell=sh", "--runs=2", "--prepare=true", "--ignore-failure=3", "--input=in.txt", "--cpus=0"),
        *("--command-name=C", "--command-name=D", "--margin=2%", "--seed=7", "--reference=true"),
        *("--timeout=1m", "--output=null"),
    ]
    ended = vs("-S", *words[1:], "--json", "-u", "ms", "cat | cat", "true | cat")
    assert ended.status == 0, ended
    again = words_again()
    expected = {*words[1:], "--warmup=0", "--shell=default"}
    assert (again[:2], again[-2:]) == (["ringside", "vs"], ["cat | cat", "true | cat"])
    assert set(again[2:-2]) == expected
    assert vs(*again[2:]).status == 0


def test_names_are_exported_as_they_are_given(vs: Vs) -> None:
    """Capital letters too, also those that the commands would have anyway."""
    exports = ("--export-json", "out.json", "--export-markdown", "out.md")
    for names, expected in (("CD", "CD"), ("AB", "AB"), ("C", ["C", "echo b"]), ("", ["echo a", "echo b"])):
        vs("--runs=1", *exports, *(f"-n{name}" for name in names), "echo a", "echo b")
        assert [result["command"] for result in exported()] == list(expected)
    for named, expected in (((), "true"), (("--reference-name=reference",), "reference")):
        vs("--runs=1", *exports, "-n", "C", "--reference", "true", *named, "echo a", "echo b")
        assert [result["command"] for result in exported()] == [expected, "C", "echo b"]


def test_parameters_that_a_command_does_not_have(vs: Vs) -> None:
    words = ("--parameter-list", "branch", "master,feature", "echo test", "--setup", "sh -c 'echo {branch}'")
    ended = vs("--runs=2", *words, "--export-markdown", "out.md")
    table = Path("out.md").read_text(encoding="utf-8")
    for branch in ("master", "feature"):
        assert f"`echo test (branch = {branch})`" in table
        assert re.search(rf"^{branch} +[0-9.]+ ", ended.stdout, re.MULTILINE)


def test_a_parameter_that_occurs_nowhere_is_reported(vs: Vs) -> None:
    assert "{m} is in no command" in vs("--runs=1", "-L", "m", "1,2", "echo {n}").stderr
    assert vs("--runs=1", "-L", "m", "1,2", "echo {m}").stderr == ""
    assert "{m}" not in vs("--runs=1", "-L", "m", "1,2", "--reference=echo {m}", "echo 1").stderr


# --- the order of execution ---


def test_a_server_in_the_background_is_started_and_stopped_by_hooks(vs: Vs) -> None:
    """It keeps stderr of the hook that started it; nothing waits for its end but the hook that ends it."""
    start = "--prepare=sh -c 'sleep 600 & echo $! > server'"
    gone = "while kill -0 $(cat server) 2>/dev/null; do sleep 0.01; done"
    stop = f"--conclude=sh -c 'kill $(cat server); {gone}; rm server'"
    ended = vs("--runs=2", start, stop, "test -e server", warmup=1)
    assert (ended.status, "--conclude" in ended.stderr) == (0, False)
    assert not Path("server").exists()
    failed = vs("--runs=1", "--prepare=sh -c 'sleep 600 & echo $! > server; echo why >&2; exit 3'", "true")
    assert "failed with exit status 3: why" in failed.stderr
    os.kill(int(Path("server").read_text(encoding="utf-8")), signal.SIGKILL)


# --- every option ---


def test_every_option_of_hyperfine_is_there_or_answered(vs: Vs) -> None:
    """docs/COMMANDS.md has those that differ."""
    words = set(tables(__file__)["options_of_hyperfine"].split())
    page = (ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    rows = page.partition("| hyperfine |")[2].partition("\n\n")[0]
    names = "\n".join(re.findall(r"^\| (`[^`]+`)", rows, re.MULTILINE))
    assert VS.answers.keys() <= set(re.findall(r"(?<=[`, ])--?[a-zA-Z-]+", names)) <= words
    ours = {word for parameter in VS.params for word in parameter.opts}
    # The help, and those whose value is part of the word, are read before the parser.
    assert words - ours - {"-h", "--help", "-S", "-i"} == set(VS.answers)
    for word, answer in VS.answers.items():
        ended = vs(word, "true")
        assert ended.status == 2
        (line,) = ended.stderr.strip().splitlines()
        assert answer in line


@pytest.mark.parametrize(
    ("words", "values"),
    [
        # hyperfine's `-S` takes the next word; here only `=` gives a value.
        ("-S", {"shell": "default"}),
        ("--shell=bash", {"shell": "bash"}),
        ("--shell=default", {"shell": "default"}),
        ("-iS", {"shell": "default", "ignore_failure": "all-non-zero"}),
        ("-S -i", {"shell": "default", "ignore_failure": "all-non-zero"}),
        ("-SNi", {"shell": "default", "no_shell": True, "ignore_failure": "all-non-zero"}),
        ("-Sbash --ignore-failure=1,2", {"shell": "bash", "ignore_failure": "1,2"}),
        ("-S=bash -i", {"shell": "bash", "ignore_failure": "all-non-zero"}),
        ("--shell --ignore-failure", {"shell": "default", "ignore_failure": "all-non-zero"}),
        # Words that are values of other options.
        *((f"-n {word}", {"names": (word,)}) for word in ("-Sx", "-S", "-i", "-h", "--help", "--shell")),
        ("-p -i -C -Sx", {"prepare": ("-i",), "conclude": ("-Sx",)}),
    ],
)
def test_a_value_in_the_same_word_and_words_that_are_values(words: str, values: dict[str, object]) -> None:
    given = VS.make_context("vs", [*words.split(), "true"]).params
    nothing = VS.make_context("vs", ["true"]).params
    assert {name: value for name, value in given.items() if value != nothing[name]} == values
    assert given["texts"] == ("true",)


def test_the_common_options_fit_one_screen(vs: Vs) -> None:
    short = vs("--help").stdout.splitlines()
    assert len(short) < 24
    assert max(map(len, short)) <= 80
    every = vs("--help", "all").stdout.splitlines()
    assert max(map(len, every)) <= 80
    for word in ("Parameters:", "How often:", "--export-orgmode", "--cleanup"):
        assert any(word in line for line in every)
    assert not any("--cleanup" in line for line in short)


# --- exports are whole ---


def test_an_export_has_the_old_figures_or_the_new_ones(vs: Vs) -> None:
    kinds = ("json", "csv", "markdown", "asciidoc", "orgmode")

    def status(name: str, command: str) -> int:
        return vs("--runs=1", *(f"--export-{kind}={kind}-{name}" for kind in kinds), command).status

    assert status("new", "false") == 1
    assert not [*Path().glob("*-new")]
    olds, inodes = [Path(f"{kind}-old") for kind in kinds], {}
    for old in olds:
        old.write_text("old", encoding="utf-8")
        old.chmod(0o640)
        inodes[old] = old.stat().st_ino
        Path(old.name.replace("old", "link")).symlink_to(old)
    assert status("link", "false") == 1
    assert {old.read_text(encoding="utf-8") for old in olds} == {"old"}
    assert status("link", "true") == 0
    assert all("true" in old.read_text(encoding="utf-8") for old in olds)
    assert {old.stat().st_mode & 0o777 for old in olds} == {0o640}
    assert all(Path(f"{kind}-link").is_symlink() for kind in kinds)
    # Other files took their places as a whole.
    assert not [old for old in olds if old.stat().st_ino == inodes[old]]
    assert not [*Path().glob("*.ringside-partial")]
