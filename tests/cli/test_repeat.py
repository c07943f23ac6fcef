"""A trial that fails shows why, and can be repeated."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.command_line import captured, in_process, parsed
from tests.support.fake_contenders import Add, add_build, edit, manifest_of

SAID = "this is </script><b>what·[31m I said"


def cells_by_contender() -> dict[str, Any]:
    return {cell["contender"]: cell for cell in parsed("show", status=1)["cells"]}


def test_a_crash_shows_stderr_and_the_command_that_repeats_it(
    workplace: Path, add_fake: Add, add_experiment: Add, complaint: Callable[..., str]
) -> None:
    add_fake("bad", "crashes")
    add_experiment("pair", "good", "bad", blocks=2)
    done = in_process("run", "pair", status=1)
    (run,) = re.findall(r"^run (\S+):", done.stderr, re.MULTILINE)
    command = f"ringside repeat {run} bad"
    said = rf"^bad: crashed: exit status 1\n  \| {re.escape(SAID)}\n  all output of bad: {command}$"
    assert re.search(said, done.stderr, re.MULTILINE)
    # Once, not in each block.
    assert done.stderr.count(SAID) == 1
    everything = in_process("show", "--all", status=1).stdout
    assert f"bad wrote to stderr:\n  | {SAID}\nall output of bad: {command}" in everything
    assert "\x1b" not in done.stdout + done.stderr + everything

    cells = cells_by_contender()
    assert (cells["bad"]["stderr"], cells["bad"]["repeat"]) == ([SAID], command)
    assert (cells["good"]["stderr"], cells["good"]["repeat"]) == ([], None)
    rows = list(csv.DictReader(io.StringIO(in_process("show", "--csv", status=1).stdout)))
    assert {(row["stderr"], row["repeat"]) for row in rows if row["contender"] == "bad"} == {(SAID, command)}
    in_process("report", "-o", "page.html")
    assert f"<code>{command}</code>" in (workplace / "page.html").read_text()

    again = in_process(*command.split()[1:], status=1)
    lines = again.stdout.splitlines()
    assert re.fullmatch(r"bad at nodes=4 messages=5 .*: crashed: exit status 1", lines[0])
    assert lines[1:3] == ["stderr:", f"  | {SAID}"]
    assert lines[3].startswith("by hand (the program")
    by_hand = captured(["sh", "-c", lines[4]])
    assert (by_hand.returncode, by_hand.stderr) == (1, "this is </script><b>what\x1b[31m I said\n")
    # Nothing was stored, and a program that was mended shows it.
    assert len(cells_by_contender()) == 2
    assert cells["bad"]["outcomes"] == {"crashed": 2}
    edit(manifest_of(workplace, "bad"), ("how=crashes", "how=good"))
    mended = in_process("repeat", "latest", "bad")
    assert f"bad has changed since run {run}" in mended.stderr
    assert re.search(r"^bad at .*: ok$", mended.stdout, re.MULTILINE)
    assert "  ::phase name=relay ns=" in mended.stdout
    in_process("vs", "true", "false", "--blocks", "1", "--store", "s.sqlite", status=None)
    message = "is not one of `ringside run`: repeat its command by hand"
    assert message in complaint("repeat", "latest", "A", "--store", "s.sqlite")


def test_the_command_names_the_point_of_several(add_fake: Add, add_experiment: Add) -> None:
    add_fake("bad", "crashes")
    add_experiment("solo", "bad")
    in_process("run", "solo", "--set", "nodes=4,5", status=1)
    cells = parsed("show", status=1)["cells"]
    command = cells[1]["repeat"].split()
    assert command[-2:] == ["--set", "nodes=5"]
    assert "nodes=5" in in_process(*command[1:], status=1).stdout.splitlines()[0]


def test_a_phase_that_is_missing_has_a_reason(workplace: Path, add_experiment: Add) -> None:
    add_experiment("pair", "good", "typo")
    program = workplace / "contenders" / "typo" / "fake.py"
    edit(program, ("::phase name=relay", "::phase name=rely"))
    done = in_process("run", "pair", status=1)
    reason = "no `::phase name=relay`; the phases reported: `spawn`, `rely`"
    (row,) = [line for line in done.stdout.splitlines() if reason in line]
    assert row.split()[0] == "typo"
    assert re.search(r"^typo +missing", done.stdout, re.MULTILINE)
    everything = in_process("show", "--all", status=1).stdout
    assert re.search(r"^all output of typo: ringside repeat \S+ typo$", everything, re.MULTILINE)
    cells = cells_by_contender()
    assert cells["typo"]["missing"] == {"hop_ns": reason}
    assert cells["good"]["missing"] == {}


def test_a_failed_build_shows_its_log_and_reason(workplace: Path, add_experiment: Add) -> None:
    add_experiment("solo", "bad")
    add_build(workplace / "contenders" / "bad", "sh", "-c", "echo \x1b[1mmissing bracket; exit 3")
    done = in_process("run", "solo", status=1)
    assert "bad: cannot be built: `sh` ended with 3" in done.stderr
    (log,) = re.findall(r"fix the error in (\S+\.log) and run again", done.stderr)
    assert "missing bracket" in (workplace / log).read_text()
    assert "  | ·[1mmissing bracket" in done.stderr.splitlines()
    everything = in_process("show", "--all", status=1).stdout
    assert "the build of bad printed:\n" in everything
    assert "  | ·[1mmissing bracket" in everything.splitlines()
    # The runtime is here, and no number of blocks would help.
    assert re.search(r"Python 3\.\d+\.\d+ \(20\d\d\), not built", everything)
    assert "too few blocks" not in (done.stdout + everything).lower()
    document = parsed("show", status=1)
    contender = document["contenders"]["bad"]
    assert "·[1mmissing bracket" in contender["log"]
    assert log in contender["remedy"]
    assert document["warnings"] == []
    again = in_process("repeat", "latest", "bad", status=1)
    assert again.stdout == ""
    assert "bad: cannot be built: `sh` ended with 3" in again.stderr
