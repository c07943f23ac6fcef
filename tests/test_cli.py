"""The command line as a user meets it: the real command, real trials, fakes for contenders."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.cli import main as cli

RINGSIDE = [sys.executable, "-m", "ringside.cli.main"]
Add = Callable[..., None]


def ringside(*words: str, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*RINGSIDE, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def complaint(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Gives the one line that a wrong use gets. In this process: there are many, and starts are slow."""

    def complain(*words: str, **environment: str) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["ringside", *words])
        previous = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main()
        finally:
            signal.signal(signal.SIGTERM, previous)
        said = capsys.readouterr()
        assert ended.value.code == 2, said
        lines = said.err.strip().splitlines()
        assert len(lines) == 1, said.err
        assert lines[0].startswith("ringside: ")
        return lines[0]

    return complain


Complaint = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], "there is no verb `rnu`; did you mean `run`?"),
        (["run"], "name an experiment"),
        (["run", "showdwon"], "did you mean showdown"),
        (["run", "showdown", "--only", "erlnag"], "did you mean erlang"),
        (["run", "showdown", "--set", "colour=1"], "no part of `showdown` has a factor `colour`"),
        (["run", "showdown", "--set", "nodes=1"], "nodes=1 is out of range: 2 to 1000000"),
        (["run", "showdown", "--only", "erlang@pypy"], "contender `erlang` has no runtime `pypy`"),
        (["run", "showdown-ring", "--only", "tornado"], "takes no part in the workload `ring`"),
        (["run", "fib-mixed", "--set", "clients=1"], "load=mixed needs clients=2 or more"),
        (["run", "showdown", "--set", "nodes"], "write it as factor=level"),
        (["run", "showdown", "--blocks", "0"], "0 is not in the range"),
        (["run", "showdown", "--time", "soon"], "write it as 90s, 5m or 1h30m"),
        (["run", "--resume", "nothing"], "there is no run `nothing`"),
        (["run", "--resume", "x", "--blocks", "3"], "leave out"),
        (["run", "showdown", "--no-such"], "No such option"),
        (["show"], "holds no run yet"),
        (["show", "x"], "there is no run `x`"),
        (["report", "x"], "there is no run `x`"),
        (["list", "colours"], "'colours' is not one of"),
        (["list", "runs", "--store", "nonsense://x"], "cannot be opened"),
        (["run", "./none.toml"], "there is no experiment file ./none.toml"),
    ],
)
def test_wrong_use_gets_one_line_and_status_2(
    workplace: Path, complaint: Complaint, words: list[str], message: str
) -> None:
    assert message in complaint(*words)
    assert not list(workplace.glob("**/*.html"))


def test_a_broken_file_names_file_and_line(workplace: Path, complaint: Complaint) -> None:
    (workplace / "mine.toml").write_text('title = "x"\nworkload = "ring"\ncontenders = ["go"]\nblock = 3\n')
    assert "mine.toml:4: unknown key `block`" in complaint("run", "./mine.toml")
    (workplace / "mine.toml").write_text("title = \n")
    assert "mine.toml:1: broken TOML" in complaint("run", "./mine.toml")


def test_without_the_probe(complaint: Complaint) -> None:
    assert "cannot be started" in complaint("run", "showdown", RINGSIDE_PROBE="/nowhere")


def test_run_show_and_report(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    add_fake("one")
    add_fake("two")
    add_experiment("pair", "one", "two", blocks=6)
    done = ringside("run", "pair")
    assert "one" in done.stdout
    assert "Per hop" in done.stdout
    assert "block 1 of 6" in done.stderr
    text = ringside("show").stdout
    assert text == done.stdout
    document = json.loads(ringside("show", "--json").stdout)
    assert document["format"] == 1
    assert {cell["contender"] for cell in document["cells"]} == {"one", "two"}
    assert all(cell["outcomes"] == {"ok": 6} for cell in document["cells"])
    assert document["cells"][0]["metrics"]["hop_ns"] == {
        "unit": "ns",
        "median": 100,
        "low": 100,
        "high": 100,
        "n": 6,
    }
    (comparison,) = [one for one in document["comparisons"] if one["metric"] == "hop_ns"]
    assert (comparison["ratio"], comparison["verdict"]) == (1, "indistinguishable")
    rows = list(csv.DictReader(io.StringIO(ringside("show", "--csv").stdout)))
    assert {row["metric"] for row in rows} >= {"hop_ns", "cpu_s", "wall_s"}
    assert re.search(r"^\| one \|", ringside("show", "--markdown").stdout, re.MULTILINE)
    assert "pair" in ringside("list", "runs").stdout
    ringside("report", "-o", "page.html")
    assert "<html" in (workplace / "page.html").read_text()
    assert ringside("run", "pair", "--blocks", "1", "--json").stdout.startswith("{")


def test_every_failure_is_a_row_and_the_run_goes_on(
    workplace: Path, add_fake: Add, add_experiment: Add
) -> None:
    for how in ("good", "crashes", "wrong-sum", "hangs", "floods"):
        add_fake(how, how)
    broken = workplace / "contenders" / "broken"
    add_fake("broken")
    manifest = broken / "contender.toml"
    manifest.write_text(
        manifest.read_text() + '\n[[build]]\ncommand = ["sh", "-c", "echo no compiler; exit 7"]\n'
    )
    names = ("good", "crashes", "wrong-sum", "hangs", "floods", "broken")
    add_experiment("all", *names, more="[limits]\nwall_s = 8\n")
    done = ringside("run", "all", "--json", status=1)
    cells = {cell["contender"]: cell for cell in json.loads(done.stdout)["cells"]}
    found = {name: next(iter(cell["outcomes"])) for name, cell in cells.items()}
    assert found == {
        "good": "ok",
        "crashes": "crashed",
        "wrong-sum": "wrong-evidence",
        "hangs": "timed-out",
        "floods": "flooded",
        "broken": "unavailable",
    }
    assert "no compiler" in done.stderr
    assert all(not cell["metrics"] for name, cell in cells.items() if name != "good")
    shown = ringside("show", status=1).stdout
    assert "\x1b" not in shown
    assert "Without figures" in shown
    ringside("report")
    page = (workplace / "report.html").read_text()
    assert "</script><b>" not in page


def test_odd_widths(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    add_fake("one")
    add_fake("another-one-with-a-long-name")
    add_experiment("pair", "one", "another-one-with-a-long-name", blocks=1)
    ringside("run", "pair")
    for width in ("20", "60", "200"):
        shown = ringside("show", COLUMNS=width).stdout
        assert "another-one-with-a-long-name" in shown.replace("\n", "")
        assert "100 ns" in shown


def test_ctrl_c_in_the_middle_keeps_what_was_done_and_resumes(
    workplace: Path, add_fake: Add, add_experiment: Add
) -> None:
    add_fake("one")
    add_fake("slow", "hangs")
    add_experiment("pair", "one", "slow", blocks=1, more="[limits]\nwall_s = 20\n")
    # A session of its own, so that the signal reaches ringside alone, as a terminal's group would.
    process = subprocess.Popen([*RINGSIDE, "run", "pair"], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    while not process.stderr.readline().startswith("block 1 of 1"):
        assert process.poll() is None
    until = time.monotonic() + 30
    while not alive(workplace / "contenders" / "slow"):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    (resume,) = re.findall(r"`ringside run --resume (\S+)`", said)
    assert not alive(workplace / "contenders")
    done = ringside("run", "--resume", resume, "--json", status=1)
    cells = {cell["contender"]: cell["outcomes"] for cell in json.loads(done.stdout)["cells"]}
    assert cells == {"one": {"ok": 1}, "slow": {"timed-out": 1}}


def alive(folder: Path) -> list[str]:
    """Processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                    found.append(entry.name)
            except OSError:
                continue
    return found


def test_a_reader_that_goes_away_is_no_error(workplace: Path) -> None:
    shell = f"{' '.join(RINGSIDE)} list contenders | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_no_words_show_the_help() -> None:
    assert "Commands:" in ringside(status=2).stderr


def test_doctor_names_what_is_missing_and_how_to_get_it(workplace: Path) -> None:
    empty = workplace / "bin"
    empty.mkdir()
    done = ringside("doctor", status=1, PATH=str(empty))
    assert "apt-get install" in done.stdout
    assert "not found" in done.stdout


def test_setup_of_a_contender_that_can_be_had(workplace: Path, add_fake: Add, complaint: Complaint) -> None:
    add_fake("one")
    done = ringside("setup", "one")
    assert "preparing one" in done.stderr
    assert list((workplace / ".ringside" / "builds").glob("one-*/.built"))
    assert "there is no contender `nobody`" in complaint("setup", "nobody")


def test_a_page_that_cannot_be_written_leaves_nothing(
    workplace: Path, add_fake: Add, add_experiment: Add, complaint: Complaint
) -> None:
    add_fake("one")
    add_experiment("solo", "one")
    ringside("run", "solo")
    assert "cannot be written" in complaint("report", "-o", "no/such/folder/page.html")
    (workplace / "taken").write_text("a file")
    assert "taken cannot be written" in complaint("report", "--figures", "taken")
    (workplace / "full").symlink_to("/dev/full")
    assert [path.name for path in workplace.glob("*partial*")] == []
