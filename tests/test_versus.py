"""`ringside vs` as a user meets it: the real command, the real probe, real programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis import versus as result
from ringside.errors import UsageError
from ringside.measure import commands
from ringside.measure.bout import Time
from ringside.model.design import Cell, Point
from ringside.model.results import Interval, Outcome, Trial, Verdict
from ringside.render import versus as show
from tests.test_cli import RINGSIDE, ringside

COMMANDS = commands.read(["true", "cat"], [], [], None)


def times(
    name: str, walls_s: list[float], *, sha256: str = "x", outcome: Outcome = Outcome.OK, **line: Any
) -> list[Time]:
    """A time in each block, as the probe would tell it."""
    return [
        Time(
            block,
            name,
            Trial(
                block,
                0,
                Cell(name, Point(())),
                outcome,
                "" if outcome is Outcome.OK else "exit status 1",
                outcome_line={
                    "wall_ns": round(wall_s * 1e9),
                    "cpu_user_ns": round(wall_s * 8e8),
                    "cpu_system_ns": round(wall_s * 1e8),
                    "peak_pss_bytes": 1_000_000,
                    "output": {"sha256": sha256},
                    **line,
                },
            ),
        )
        for block, wall_s in enumerate(walls_s, 1)
    ]


def conclude(a_s: list[float], b_s: list[float], **more: Any) -> result.Result:
    return result.conclude(COMMANDS, [*times("A", a_s), *times("B", b_s, **more)], peeked=False)


SEVEN = [0.100, 0.101, 0.103, 0.099, 0.102, 0.098, 0.105]


def test_the_verdict_stands_first_and_in_words() -> None:
    found = conclude(SEVEN, [value / 1.07 for value in SEVEN])
    wall = found.compared[0]
    assert wall.verdict is Verdict.FASTER
    assert show.sentence(wall) == "B is 1.070 (1.070–1.070) times as fast as A"
    slower = conclude(SEVEN, [value * 2 for value in SEVEN]).compared[0]
    assert show.sentence(slower) == "B takes 2.00 (2.00–2.00) times as long as A"
    even = conclude(SEVEN, SEVEN[::-1]).compared[0]
    assert show.sentence(even).startswith("B and A cannot be told apart: B takes 1.")
    few = conclude(SEVEN[:3], SEVEN[:3])
    assert show.sentence(few.compared[0]).startswith("No verdict on B and A from 3 blocks, it takes 6")
    assert [warned.code for warned in few.warnings] == ["too-few-blocks"]


def test_ranks_are_groups_of_ties() -> None:
    assert conclude(SEVEN, [value * 2 for value in SEVEN]).ranks == {"A": 1, "B": 2}
    assert conclude(SEVEN, SEVEN[::-1]).ranks == {"A": 1, "B": 1}


def test_what_was_not_seen_is_no_figure() -> None:
    found = conclude(SEVEN, SEVEN, peak_pss_bytes=None)
    assert "peak_pss_bytes" not in found.figures["B"]
    memory = next(one for one in found.compared if one.metric.name == "peak_pss_bytes")
    assert memory.ratio is None
    assert "nothing can be said" in show.sentence(memory)
    document = show.as_document(found, {})
    assert json.loads(json.dumps(document, allow_nan=False))["comparisons"][-1]["ratio"] is None


def test_warnings_say_what_is_weak() -> None:
    other = conclude(SEVEN, SEVEN, sha256="y")
    assert [warned.code for warned in other.warnings] == ["unequal-output"]
    assert "B prints something else than A" in other.warnings[0].text
    failed = conclude(SEVEN, SEVEN, outcome=Outcome.CRASHED)
    assert [warned.code for warned in failed.warnings] == ["failures"]
    short = conclude([value / 100 for value in SEVEN], [value / 100 for value in SEVEN])
    assert [warned.code for warned in short.warnings] == ["short"]
    moved = result.conclude(
        COMMANDS,
        [*times("A", SEVEN), *times("B", SEVEN[:6]), *times("B", [0.1], reference_ns=5_000_000)],
        peeked=False,
    )
    assert moved.warnings == ()


def test_hostile_names_and_commands_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    evil = commands.read(["true '\x1b[31m<script>|`'", "cat"], ["\x1b]0;x\x07a|b"], [], None)
    found = result.conclude(evil, [*times(evil[0].name, SEVEN), *times("B", SEVEN)], peeked=False)
    text = show.as_markdown(found, "how")
    assert "\x1b" not in text
    assert "<script>" not in text
    assert all(line.count("|") - line.count("\\|") in (0, 8, 9) for line in text.splitlines())


@pytest.mark.parametrize(
    ("texts", "names", "prepares", "shell", "word"),
    [
        (["true"], [], [], None, "2 to 26 commands"),
        (["true", ""], [], [], None, "empty"),
        (["true", "no-such-program-anywhere -x"], [], [], None, "no program no-such-program-anywhere"),
        (["true", "no-such | wc"], [], [], None, "add --shell"),
        (["true", "echo 'x"], [], [], None, "quot"),
        (["true", "/etc/passwd"], [], [], None, "chmod"),
        (["true", "cat"], ["x", "x"], [], None, "differ"),
        (["true", "cat"], ["B"], [], None, "differ"),
        (["true", "cat"], ["a", "b", "c"], [], None, "3 names"),
        (["true", "cat", "ls"], [], ["true", "true"], None, "--prepare"),
        (["true", "a\0b"], [], [], None, "NUL"),
    ],
)
def test_what_cannot_be_compared(
    texts: list[str], names: list[str], prepares: list[str], shell: str | None, word: str
) -> None:
    with pytest.raises(UsageError, match=word) as refused:
        commands.read(texts, names, prepares, shell)
    assert "\n" not in str(refused.value)


def test_commands_are_split_as_a_shell_would_or_given_to_one() -> None:
    one, other = commands.read(["cat 'a b' c", "true"], [], ["sync"], None)
    assert one.argv == ("cat", "a b", "c")
    assert one.prepare == other.prepare == ("sync",)
    shelled, _ = commands.read(["cat < x | wc", "true"], ["first"], [], "sh -e")
    assert (shelled.name, shelled.argv) == ("first", ("sh", "-e", "-c", "cat < x | wc"))


def test_two_commands_end_to_end(workplace: Path) -> None:
    Path("in.txt").write_text("three\nshort\nlines\n", encoding="utf-8")
    words = (
        "vs",
        "cat",
        "sort",
        "--input",
        "in.txt",
        "--blocks",
        "6",
        "--seed",
        "5",
        "-n",
        "plain",
        "--json",
    )
    found = json.loads(ringside(*words, "--prepare", "sh -c 'echo x >> prepared'").stdout)
    assert (found["format"], found["blocks_done"], found["seed"]) == (1, 6, 5)
    assert [one["name"] for one in found["commands"]] == ["plain", "B"]
    assert len(found["times"]) == 12
    assert {one["block"] for one in found["times"]} == set(range(1, 7))
    assert {one["position"] for one in found["times"]} == {0, 1}
    assert all(one["wall_s"] > 0 and one["exit_status"] == 0 for one in found["times"])
    assert Path("prepared").read_text(encoding="utf-8") == "x\n" * 14
    # `cat` keeps the order of the lines, `sort` does not.
    assert "unequal-output" in [warned["code"] for warned in found["warnings"]]
    (wall,) = (one for one in found["comparisons"] if one["metric"] == "wall_s")
    assert wall["n"] == 6
    assert wall["low"] <= wall["ratio"] <= wall["high"]


def test_output_that_looks_like_the_protocol_is_only_output(workplace: Path) -> None:
    script = Path("talk.sh")
    script.write_text("echo '::result x'; echo ::nonsense; printf 'no newline'\n", encoding="utf-8")
    words = ("vs", "sh talk.sh", "sh talk.sh", "--blocks", "1", "--json")
    found = json.loads(ringside(*words).stdout)
    assert [one["exit_status"] for one in found["times"]] == [0, 0]
    assert "unequal-output" not in [warned["code"] for warned in found["warnings"]]
    assert all(one["verdict"] == "too-few-blocks" for one in found["comparisons"])


def test_without_options_it_ends_by_itself(workplace: Path) -> None:
    found = json.loads(ringside("vs", "sleep 0.01", "sleep 0.01", "--until", "100%", "--json").stdout)
    # Six blocks at least; ten where the first look is early enough.
    assert found["blocks_done"] >= 6
    assert (found["until"], found["time_s"]) == (1.0, 30.0)
    assert all(one["low"] is not None for one in found["comparisons"] if one["metric"] == "wall_s")


def test_a_command_that_fails_is_said_and_nothing_is_compared(workplace: Path) -> None:
    done = ringside("vs", "true", "sh -c 'echo broken >&2; exit 3'", "--blocks", "2", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert "B (sh -c" in line
    assert "exit status 3: broken" in line
    assert "--ignore-failure" in line
    ignored = ringside("vs", "true", "false", "--blocks", "2", "-i", "--json")
    codes = [warned["code"] for warned in json.loads(ignored.stdout)["warnings"]]
    assert "failures" in codes
    prepared = ringside("vs", "true", "true", "--prepare", "false", "--blocks", "2", status=1)
    assert "--prepare false failed with 1" in prepared.stderr


def test_text_and_markdown_on_a_narrow_screen(workplace: Path) -> None:
    words = ("vs", "sleep 0.01", "sleep 0.01", "--blocks", "2")
    text = ringside(*words, COLUMNS="50").stdout
    assert text.startswith("No verdict on B and A from 2 blocks")
    assert "A = sleep 0.01" in text
    markdown = ringside(*words, "--markdown").stdout
    assert markdown.startswith("- No verdict")
    assert "| Wall |" in markdown


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("vs", "true", "true", "--blocks", "3", "--time", "5s"), "--blocks is exact"),
        (("vs", "true", "true", "--until", "2"), "like 2%"),
        (("vs", "true", "true", "-N", "--shell", "sh"), "exclude"),
        (("vs", "true", "true", "--input", "not-there"), "No such file"),
        (("vs", "true", "true", "--cpus", "9999"), "9999"),
        (("vs", "true"), "2 to 26"),
    ],
)
def test_wrong_use_is_one_line(words: tuple[str, ...], hint: str, workplace: Path) -> None:
    done = ringside(*words, status=2)
    (line,) = done.stderr.strip().splitlines()
    assert hint in line


def test_ctrl_c_shows_what_is_there(workplace: Path) -> None:
    process = subprocess.Popen(
        [*RINGSIDE, "vs", "sh -c 'echo >> made; sleep 0.01'", "sleep 0.01", "--time", "10m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    # The warm-up and two blocks at least.
    while time.monotonic() < deadline:
        if Path("made").exists() and len(Path("made").read_text(encoding="utf-8")) > 3:
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors
    assert errors.strip() == "ringside: interrupted"
    assert "A = sh -c" in out


def test_intervals_are_written_as_ratios_near_one_need_them() -> None:
    wall = result.METRICS[0]
    one = result.Compared(wall, "B", "A", Interval(1.0034, 0.98, 1.31, 9), Verdict.INDISTINGUISHABLE, 0.4)
    assert "1.003 (0.9800–1.31)" in show.sentence(one)
