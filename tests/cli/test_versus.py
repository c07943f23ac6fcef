"""`ringside vs` as a user meets it: the real command, the real probe, real programs."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside import files
from ringside.errors import UsageError
from ringside.measure.runs.loop import BlockLoop
from tests.support.command_line import RINGSIDE, captured, in_process, parsed, ringside
from tests.support.toolchains import script

# A busy machine keeps a command waiting for a tenth of a second, which must turn no pair round.
FAR_APART = ("sleep 0.01", "sleep 0.25")


def test_two_commands_end_to_end(workplace: Path) -> None:
    Path("in.txt").write_text("three\nshort\nlines\n", encoding="utf-8")
    options = ("--input", "in.txt", "--blocks", "6", "--seed", "5", "-n", "plain", "--json")
    done = ringside("vs", "cat", "sort", *options, "--prepare", "sh -c 'echo x >> prepared'")
    document = json.loads(done.stdout)
    assert (document["format"], document["blocks_done"], document["seed"]) == (2, 6, 5)
    assert [command["name"] for command in document["commands"]] == ["plain", "B"]
    assert len(document["times"]) == 12
    assert {execution["block"] for execution in document["times"]} == set(range(1, 7))
    assert {execution["position"] for execution in document["times"]} == {0, 1}
    assert all(execution["wall_s"] > 0 and execution["exit_status"] == 0 for execution in document["times"])
    assert Path("prepared").read_text(encoding="utf-8") == "x\n" * 14
    # `cat` keeps the order of the lines, `sort` does not.
    assert "unequal-output" in [warning["code"] for warning in document["warnings"]]
    (wall,) = (each for each in document["comparisons"] if each["metric"] == "wall_s")
    assert wall["n"] == 6
    assert wall["low"] <= wall["ratio"] <= wall["high"]


@pytest.mark.parametrize(
    ("words", "until", "blocks", "time_s"),
    [
        # Without options once all is decided: a difference as large as this is clear at the first look.
        ((), "decided", 7, 30.0),
        # However clear it is before; and a time leaves three blocks.
        (("--until", "end", "--blocks", "8"), "end", 8, None),
        (("--until", "end", "--time", "10ms"), "end", 3, 0.01),
        # The blocks are the most.
        (("--blocks", "12", "--time", "1m"), "decided", 7, 60.0),
        # No look comes before the seventh, so the interval is one of 95 %.
        (("--blocks", "6"), "decided", 6, None),
    ],
)
def test_when_it_ends(
    workplace: Path, words: tuple[str, ...], until: object, blocks: int, time_s: float | None
) -> None:
    document = parsed("vs", *FAR_APART, *words)
    assert (document["until"], document["blocks_done"], document["time_s"]) == (until, blocks, time_s)
    assert document["margin"] == 0.05
    wall = document["comparisons"][0]
    assert (wall["metric"], wall["verdict"]) == ("wall_s", "slower" if blocks > 3 else "inconclusive")
    assert not wall["exploratory"]
    ranks = [[1, 1], [2, 2]] if blocks > 3 else [[1, 2], [1, 2]]
    assert [command["rank"] for command in document["commands"]] == ranks


@pytest.mark.parametrize(
    ("words", "remedy"),
    [("--runs 3", "--runs"), ("--blocks 3", "--blocks"), ("--time 1ms --blocks 9", "--min-runs")],
)
def test_the_remedy_works_with_the_options_that_were_used(words: str, remedy: str, workplace: Path) -> None:
    shown = in_process("vs", "true", "sleep 0.01", *words.split()).stdout
    assert f"Run it with {remedy} 7" in " ".join(shown.split())


def test_a_command_that_fails_is_said_and_nothing_is_compared(workplace: Path) -> None:
    done = in_process("vs", "true", "sh -c 'echo broken >&2; exit 3'", "--blocks", "2", status=1)
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert "B (sh -c" in line
    assert "exit status 3: broken" in line
    assert "--ignore-failure" in line
    # Whatever fails first, at a level too, the others are compared.
    fails = "sh -c 'echo x >> made; test $(wc -l < made) -lt 3'"
    for words in (
        ("false", *FAR_APART),
        (*FAR_APART, fails),
        ("-L", "n", "0,1", "sh -c 'exit $((1-{n}))'", "true"),
    ):
        left = parsed("vs", "--runs", "7", *words, status=1)
        assert [each["code"] for each in left["warnings"]].count("failures") == 1
        assert left["comparisons"][-1]["ratio"] if "-L" in words else "slower" in str(left["comparisons"])
        assert left["blocks_done"] == 7
    levels = ("-L", "n", "1,2,3", "--fail-if", "slower:900%")
    swept = in_process("vs", "-r7", *levels, "test {n} -ge 2", status=1)
    assert re.search(r"× n=2 .*\n.*\n1 +crashed", swept.stdout)
    assert "cannot decide" not in swept.stderr
    Path("made").unlink()
    excluded = parsed("vs", fails, "true", "-r4", "-i=exclude")
    assert [len([each for each in excluded["times"] if each["name"] == name]) for name in "AB"] == [4, 4]
    assert excluded["commands"][0]["metrics"]["wall_s"]["n"] == 1
    assert "failed in 3 of 4 executions, which are left out" in str(excluded["warnings"])
    assert "A crashed: exit status 1; B" in in_process("vs", "false", "false", "-i=exclude", status=1).stderr
    slow = in_process("vs", "sleep 9", "--timeout", "100ms", status=1)
    assert slow.stderr.rstrip().endswith("(a longer --timeout waits for it); nothing is shown")
    assert '"failures"' in in_process("vs", "true", "false", "--blocks", "2", "-i", "--json").stdout


def test_a_number_of_the_output_is_compared_and_can_decide(workplace: Path) -> None:
    script(Path("rate"), 'echo "items/s: $1,000.$(date +%N)"\necho "mem=$2 KiB"')
    metrics = ("--metric", r"items/s: ([\d.,]+)", "--metric", "kept,KiB=mem=(.*) KiB")
    words = ("vs", *metrics, "--runs", "7", "./rate 4 30", "./rate 2 10", "--judge", "items/s")
    ended = in_process(*words, "--fail-if", "worse:20%", "--json", status=1)
    document = json.loads(ended.stdout)
    ratios = {each["metric"]: (each["ratio"], each["word"]) for each in document["comparisons"]}
    assert ratios["items/s"] == (pytest.approx(0.5, rel=0.01), "lower")
    assert ratios["kept"] == (pytest.approx(1 / 3), "less")
    assert document["commands"][0]["metrics"]["kept"]["median"] == 30 * 1024
    assert [command["rank"] for command in document["commands"]] == [[1, 1], [2, 2]]
    assert document["commands"][0]["mean_s"] < 1
    assert "B over A: lower in items/s" in ended.stderr
    assert parsed("show")["cells"][0]["metrics"]["kept"]["unit"] == "B"
    wrong = {"n: (x)": "that the pattern matches", r"n=(\d)": r"`(\d)` matches", "n=mem(.)": "`=`, which"}
    for metric, why in wrong.items():
        assert why in in_process("vs", "--metric", metric, "./rate 4 30", status=1).stderr


def test_counters_are_compared_and_can_decide(workplace: Path) -> None:
    pages = "sh -c 'for n in 1 2 3 4 5 6 7 8 9; do /bin/true; done'"
    document = parsed("vs", "--judge", "page-faults", "--runs", "7", "/bin/true", pages)
    ratios = {each["metric"]: each for each in document["comparisons"]}
    counted = {"page_faults", "task_clock_s", "cycles"} & document["times"][0].keys()
    not_counted = " ".join(each["text"] for each in document["warnings"] if each["code"] == "counters")
    assert document["comparisons"][0]["metric"] == "page_faults"
    assert (ratios["page_faults"]["verdict"], ratios["page_faults"]["word"]) == ("slower", "higher")
    assert ratios["page_faults"]["ratio"] > 3
    if "cycles" not in counted:
        assert "cycles" in not_counted
        refused = in_process("vs", "--judge", "cycles", "true", "false", status=2).stderr
        assert "--judge cycles: " in refused
    plain = parsed("vs", "--runs", "2", "/bin/true", "true")
    assert not counted & plain["times"][0].keys()


def git(*words: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    captured(["git", *author, *words], check=True)


@pytest.fixture
def branches(workplace: Path) -> Path:
    """A git repository: `prog` takes 20 ms on `main`, and ten times as long on `perf`."""
    git("init")
    for branch, time_s in (("main", 0.02), ("perf", 0.2)):
        script(Path("prog"), f"sleep {time_s}")
        git("switch", "-c", branch) if branch != "main" else None
        git("add", "prog")
        git("commit", "-m", branch)
    return workplace


def test_setup_is_repeated_where_the_next_parameter_differs(branches: Path) -> None:
    words = ("-L", "branch", "main,perf", "--setup", "git switch -q {branch}", "--runs", "7", "./prog")
    document = parsed("vs", *words)
    main_s, perf_s = (command["mean_s"] for command in document["commands"])
    assert main_s < 0.2 <= perf_s


def nothing_is_left() -> None:
    listed = captured(["git", "worktree", "list"], check=True).stdout
    assert len(listed.splitlines()) == 1, listed
    assert not list(Path(os.environ["TMPDIR"]).glob("ringside-rev-*"))


def test_revisions_are_built_apart(branches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Path("sub").mkdir()
    Path("sub/prog").write_text("exit 1", encoding="utf-8")
    words = ("vs", "--rev", "main", "--rev", "perf", "--runs", "7")
    built = ("--build", "cp prog built", "-L", "n", "1,2", "./built {n}", "--fail-if", "slower:5%")
    document = parsed(*words, *built, status=1)
    assert {command["name"] for command in document["commands"]} == {"main", "perf"}
    walls = [each for each in document["comparisons"] if each["metric"] == "wall_s"]
    assert [each["verdict"] for each in walls] == ["slower", "slower"]
    assert not Path("built").exists()
    for wrong, why in (
        (("--rev", "a,b", "./prog"), "--rev a,b: there is no such revision; each --rev names one"),
        (("--build", "echo oops; exit 3", "./prog"), "main cannot be built: `sh` ended with 3"),
        (("./none",), "there is no program ./none in main"),
        (("./prog", "true"), "--rev compares revisions of one command"),
    ):
        ended = in_process(*words, *wrong, status=2)
        assert why in ended.stderr
        assert ("| oops" in ended.stderr) == (wrong[0] == "--build")
    monkeypatch.chdir("sub")
    why = "--rev main: it has no folder sub/: start in one that each has"
    assert why in in_process(*words, "./prog", status=2).stderr
    nothing_is_left()


@pytest.mark.parametrize("place", ["build", "run"])
def test_an_interrupt_leaves_no_worktree(
    place: str, branches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started = branches / "started"
    slow = f"sh -c 'touch {started}; sleep 60'"
    words = ("--build", slow, "true") if place == "build" else (slow,)
    with subprocess.Popen([*RINGSIDE, "vs", "--rev", "main", "--rev", "perf", *words]) as process:
        while process.poll() is None and not started.exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    nothing_is_left()


def test_ctrl_c_shows_what_is_there(complaint: Callable[..., str]) -> None:
    counted = "sh -c 'echo >> made; sleep 0.01'"
    words = [*RINGSIDE, "vs", counted, "sleep 0.01", "-r900", "--export-json", "a.json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The warm-ups and two blocks at least.
    while not Path("made").exists() or Path("made").stat().st_size < 6:
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors
    hint = re.search(r"interrupted; `ringside (vs --resume (\S+) --export-json=a.json)` continues it", errors)
    assert hint, errors
    assert "A = sh -c" in out
    # A comparison that was not finished has no verdict, however clear it may look.
    sentence = " ".join(out.partition("A = ")[0].split())
    ending = r"no verdict possible, (since the run is not finished|too few blocks \([2-6]\))$"
    assert re.search(ending, sentence), out
    # The hinted command continues it: earlier measurements count, and are exported if that was asked for.
    assert f"`ringside vs --resume {hint[2]}` continues it" in complaint("run", "--resume", hint[2])
    times = [each["times"] for each in json.loads(Path("a.json").read_text(encoding="utf-8"))["results"]]
    whole = parsed(*hint[1].split(), "--time", "1s")
    assert len(times[0]) < whole["blocks_done"] == len(whole["times"]) / 2 < 900
    after = [each["times"] for each in json.loads(Path("a.json").read_text(encoding="utf-8"))["results"]]
    assert [now[: len(then)] for then, now in zip(times, after, strict=True)] == times
    assert [*map(len, after)] == [whole["blocks_done"]] * 2
    finished = in_process("vs", "--resume", "latest", "--time", "1m")
    assert finished.stderr == f"ringside: {hint[2]} is finished: nothing is left\n"


def test_sessions_are_shown_together_and_continued(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a seed of its own; one that was interrupted goes on under the id of any."""
    conduct, interrupts = BlockLoop.conduct, iter([False, True])

    def conduct_or_interrupt(loop: BlockLoop) -> bool:
        if next(interrupts, False):
            raise KeyboardInterrupt
        return conduct(loop)

    monkeypatch.setattr(BlockLoop, "conduct", conduct_or_interrupt)
    words = ("vs", "-n", "a", "-n", "b", *FAR_APART, "--sessions", "2", "--runs", "7", "--seed", "3")
    cut_off = in_process(*words, status=130)
    hint = re.search(r"`ringside (vs --resume \S+)` continues it", cut_off.stderr)
    assert hint, cut_off.stderr
    shown = in_process(*hint[1].split())
    assert "session 2 of 2" in shown.stderr
    table = " ".join(shown.stdout.split())
    assert re.search(r"^Over 2 sessions .* b over a Wall .* slower .* a = sleep 0.01 b = sleep 0.25", table)
    document = parsed("show")
    assert [(run["seed"], run["blocks"]) for run in document["runs"]] == [(3, 7), (4, 7)]
    assert in_process("vs", "true", "--sessions", "2", "-r1").stdout.count("1 block") == 2


def test_steps_that_need_each_other_come_in_the_order_given(workplace: Path) -> None:
    """In each block, the decided ones too, without an execution in between that does not count."""
    # The last is decided at the first look, the others hardly ever.
    steps = [
        f"sh -c 'test $(cat at) = {n} && sleep {n // 2 * 0.03} && echo {n} >> log && echo {(n + 1) % 3} > at'"
        for n in range(3)
    ]
    Path("at").write_text("0", encoding="utf-8")
    up_to = ("--min-runs", "9", "--max-runs", "20")
    done = parsed("vs", *steps, "--order", "given", *up_to)
    assert (done["order"], "given-order" in str(done["warnings"])) == ("given", True)
    assert Path("log").read_text(encoding="utf-8").split() == ["0", "1", "2"] * (1 + done["blocks_done"])
    assert "9 blocks in the order given; run" in in_process("vs", *steps, "--order", "given", "-r9").stdout
    assert in_process("vs", *steps, "-r9", status=1).stderr.count("crashed") == 1


def test_a_command_can_have_a_terminal(workplace: Path) -> None:
    """Its reader never lets it wait; stderr and stdin are as they were."""
    asks = "sh -c 'test -t 1 && test ! -t 0 && test ! -t 2 && stty size <&1 && seq 20000 >&1'"
    in_process("vs", asks, "-r3", "--output", "tty", "--timeout", "20s")
    assert "exit status 1" in in_process("vs", asks, "-r3", status=1).stderr


def test_a_run_is_resumed_as_it_began_or_not_at_all(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, complaint: Callable[..., str]
) -> None:
    ids = [in_process("vs", "-r1", "true", *more).stdout for more in ((), ("--input", "-"))]
    first, stdin = (re.findall(r"run (\S+)", shown)[0] for shown in ids)
    assert "leave out --runs" in complaint("vs", "--resume", first, "--runs", "3")
    assert "leave out false" in complaint("vs", "--resume", first, "false")
    assert "read its input from stdin" in complaint("vs", "--resume", stdin)
    (workplace / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert f"continue it there, after `cd {workplace}`" in complaint("vs", "--resume", first)


def test_a_shell_by_itself_where_a_command_needs_one(workplace: Path) -> None:
    """And it is said; other commands, and all with -N, have none."""
    words = ("vs", "-r1", "-w0", "--json", "--prepare", "echo p | cat > log")
    done = in_process(*words, "cat log | tr p q", "echo b")
    assert re.fullmatch(
        r"ringside: A: executed through sh, since `\|` needs a shell; its start, here [0-9.]+ ms, is in "
        r"the time \(-S: all through it; -N: none\)",
        done.stderr.strip(),
    )
    argv = [command["argv"] for command in json.loads(done.stdout)["commands"]]
    assert argv == [["sh", "-c", "cat log | tr p q"], ["echo", "b"]]
    assert Path("log").read_text(encoding="utf-8") == "p\n"
    literal = in_process("vs", "-r1", "-w0", "--json", "-N", "echo a | cat", "echo '|' 2>b")
    assert re.findall(r"(.): `(.)` is in the program's", literal.stderr) == [("A", "|"), ("B", ">")]
    assert json.loads(literal.stdout)["commands"][0]["argv"] == ["echo", "a", "|", "cat"]


def test_words_of_bash_are_named_in_another_shell(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sh").symlink_to(shutil.which("dash") or "/bin/sh")
    monkeypatch.setenv("PATH", f"{workplace}:{os.environ['PATH']}")
    (line,) = in_process("vs", "-r1", "-S", "true &> /dev/null").stderr.splitlines()
    assert line == "ringside: A: `&>` works in bash, but sh is another shell here: use --shell=bash"
    assert in_process("vs", "-r1", "--shell=bash", "true &> /dev/null").stderr == ""


def test_ringside_inside_ringside_does_not_wait(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as a command nor in a hook."""
    monkeypatch.setenv("RINGSIDE_LOCK", str(workplace / "lock"))
    inner = shlex.join([*RINGSIDE, "vs", "-r1", "-w0", "true"])
    done = ringside("vs", "-r1", "-w0", "--timeout", "1m", "--setup", inner, inner, timeout_s=120)
    assert "waiting" not in done.stderr


@pytest.mark.parametrize(
    "how", ["cat in | vs --input -", "vs --input - < in", "vs --input <(cat in)", "fifo"]
)
def test_a_pipe_is_read_once_and_fed_each_time(how: str, workplace: Path) -> None:
    Path("in").write_text("line\n" * 30_000, encoding="utf-8")
    os.mkfifo("fifo")
    line = "cat in > fifo & vs --input fifo" if how == "fifo" else how
    program = shlex.join([*RINGSIDE, "vs", "-r3", "--json"])
    done = captured(["bash", "-c", f"{line.replace('vs', program)} 'wc -l' 'grep -c line'"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["times"]) == 6
    # All printed the same number of lines.
    assert len({each["stdout_xxh3"] for each in document["times"]}) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("vs", "--input", "fifo", "cat"),
        ("load", "http://127.0.0.1:9/", "--body", "@fifo"),
        ("load", "http://127.0.0.1:9/{a}", "--values", "fifo"),
    ],
)
@pytest.mark.parametrize("has_writer", [False, True])
def test_a_pipe_into_which_nobody_writes_is_one_line(
    words: tuple[str, ...], has_writer: bool, complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SILENCE_S", 0.2)
    os.mkfifo("fifo")
    writer = os.open("fifo", os.O_RDWR) if has_writer else None
    assert "nobody wrote into this pipe" in complaint(*words)
    if writer is not None:
        os.close(writer)


def test_a_pipe_that_nobody_reads_is_one_line(complaint: Callable[..., str]) -> None:
    os.mkfifo("fifo")
    assert "nobody reads this pipe" in complaint("load", "http://127.0.0.1:9/", "--hdr", "fifo")
    assert "nobody reads this pipe" in complaint("vs", "true", "--export-json", "fifo")


def test_a_folder_that_is_no_utf_8(complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkdir(b"a\xff")
    monkeypatch.chdir(os.fsdecode(b"a\xff"))
    assert "is not UTF-8: rename it" in complaint("vs", "true")


def test_without_a_home_no_folder_is_called_a_tilde(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_STATE_HOME")
    assert str(files.state_folder()) == f"/tmp/ringside-{os.getuid()}/.local/state/ringside"


def test_a_folder_that_somebody_else_made_in_place_of_a_home_is_refused(tmp_path: Path) -> None:
    assert files.private_folder(str(tmp_path / "mine")) == str(tmp_path / "mine")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for name in ("open", "link"):
        with pytest.raises(UsageError, match="is not this user's alone: set HOME"):
            files.private_folder(str(tmp_path / name))
