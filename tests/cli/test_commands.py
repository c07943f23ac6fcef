"""The command line as a user meets it: the real command, real trials, fakes for contenders."""

import csv
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.cli import context
from tests.support import ROOT
from tests.support.cases import cases
from tests.support.command_line import RINGSIDE, captured, in_process, parsed
from tests.support.fake_contenders import Add, add_build, edit, manifest_of
from tests.support.stores import sql
from tests.support.toolchains import script

Complaint = Callable[..., str]


# In each line the words after `ringside`, and a part of the answer.
MISTAKES = Path(__file__).with_name("wrong_use.txt").read_text(encoding="utf-8").splitlines()
FILES = {
    "users.csv": b'user,"key"\nann,"1,5"\n',
    "empty.csv": b"a,b\n",
    "names.csv": b"a,id\n1,2\n",
    "ragged.csv": b"a,b\n1,2\n3\n",
    "quote.csv": b'a,b\n1,"2\n',
    "lines.csv": b'a\n"1\n2"\n',
    "latin.csv": b"a\n\xe9\n",
    "nothing.pem": b"no certificate\n",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_use_gets_one_line_and_status_2(workplace: Path, complaint: Complaint, mistake: str) -> None:
    for name, content in FILES.items():
        (workplace / name).write_bytes(content)
    words, _, message = mistake.partition(" :: ")
    assert message in complaint(*(word.replace("$a\\nb", "a\nb") for word in shlex.split(words)))
    assert {path.name for path in workplace.iterdir()} == {*FILES}


def test_what_is_asked_for_when_there_is_nothing(workplace: Path, complaint: Complaint) -> None:
    assert "cannot be started" in complaint("run", "showdown", RINGSIDE_PROBE="/nowhere")
    assert "Usage: ringside" in in_process(status=2).stderr
    done = in_process("list", "runs")
    assert (done.stdout, "holds no run yet" in done.stderr) == ("", True)
    in_process("list")
    assert not list(workplace.iterdir())


def test_kept_figures_are_shown_before_measurements(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run, which is analysed faster than all that were kept; comparisons of commands test no claim."""
    (workplace / "records").mkdir()
    for name in ("posts.json.xz", "today.json.xz"):
        assert (ROOT / "records" / name).is_file()
        shutil.copy(ROOT / "records" / "sleepers-million.json.xz", workplace / "records" / name)
    monkeypatch.setattr(context, "own_folder", lambda: workplace)
    assert "nothing was measured here" in in_process("show", status=None).stderr
    in_process("vs", "--runs=1", "true", "true")
    ended = in_process("claims")
    assert "nothing was measured here" in ended.stderr
    # That run tests at least one claim.
    counts = ended.stdout.splitlines()[1].split(", ")
    assert [count.partition(" ")[2] == "not tested here" for count in counts] == [False, True]


def test_run_show_and_report(workplace: Path, add_experiment: Add) -> None:
    add_experiment("pair", "one", "two", blocks=6)
    done = in_process("run", "pair")
    assert "one" in done.stdout
    assert "time per hop" in done.stdout
    assert "block 1 of 6" in done.stderr
    assert "there is no run `x`" in in_process("show", "x", status=2).stderr
    text = in_process("show").stdout
    assert text == in_process("show", "pair").stdout == done.stdout
    document = parsed("show")
    assert document["format"] == 2
    assert {cell["contender"] for cell in document["cells"]} == {"one", "two"}
    assert all(cell["outcomes"] == {"ok": 6} for cell in document["cells"])
    hop = document["cells"][0]["metrics"]["hop_ns"]
    assert (hop["unit"], hop["n"]) == ("ns", 6)
    assert 100 <= hop["low"] <= hop["median"] <= hop["high"]
    assert [each["verdict"] for each in document["comparisons"] if each["metric"] == "hop_ns"]
    rows = list(csv.DictReader(io.StringIO(in_process("show", "--csv").stdout)))
    assert {row["metric"] for row in rows} >= {"hop_ns", "cpu_s", "wall_s"}
    assert re.search(r"^\| one \|", in_process("show", "--markdown").stdout, re.MULTILINE)
    assert "pair" in in_process("list", "runs").stdout
    in_process("report", "-o", "page.html")
    assert "<html" in (workplace / "page.html").read_text()
    assert in_process("run", "pair", "--blocks", "1", "--json").stdout.startswith("{")
    # A run that is finished needs its contenders no more.
    manifest_of(workplace, "one").write_text("torn")
    again = in_process("run", "--resume", document["run"])
    assert again.stdout == text
    assert again.stderr.splitlines()[0] == f"ringside: {document['run']} is finished: nothing is left"


def test_a_failure_is_a_row_and_the_run_goes_on(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    hows = ("good", "crashes", "wrong-sum", "hangs", "floods")
    for how in hows:
        add_fake(how, how)
    add_experiment("all", *hows, "broken", more="[limits]\nwall_s = 2\n")
    add_build(workplace / "contenders" / "broken", "sh", "-c", "echo no compiler; exit 7")
    done = in_process("run", "all", "--json", status=1)
    cells = {cell["contender"]: cell for cell in json.loads(done.stdout)["cells"]}
    assert {name: next(iter(cell["outcomes"])) for name, cell in cells.items()} == {
        "good": "ok",
        "crashes": "crashed",
        "wrong-sum": "wrong-evidence",
        "hangs": "timed-out",
        "floods": "flooded",
        "broken": "unavailable",
    }
    assert "no compiler" in done.stderr
    assert all(not cell["metrics"] for name, cell in cells.items() if name != "good")
    shown = in_process("show", status=1).stdout
    assert "\x1b" not in shown
    assert re.search(r"^crashes +crashed +exit status", shown, re.MULTILINE)
    assert "Without figures" in in_process("show", "--all", status=1).stdout
    in_process("report")
    page = (workplace / "report.html").read_text()
    assert "</script><b>" not in page


@pytest.mark.parametrize(
    ("to", "status", "said"),
    [
        ("| head -1; exit ${PIPESTATUS[0]}", 0, ""),
        ("> /dev/full", 2, "ringside: stdout: No space left on device\n"),
    ],
)
def test_a_reader_that_goes_away_is_no_error_and_a_full_disk_is_one(
    workplace: Path, to: str, status: int, said: str
) -> None:
    shell = f"{' '.join(RINGSIDE)} list contenders {to}"
    done = captured(["bash", "-c", shell])
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize("words", cases(__file__, "a_store_that_is_named_must_be_there"))
def test_a_named_store_exists(words: tuple[str, ...], complaint: Complaint, workplace: Path) -> None:
    expected = "there is no store elsewhere/x.sqlite: name another one with --store, or leave it out"
    assert expected in complaint(*words, "--store", "elsewhere/x.sqlite")
    named = "RINGSIDE_STORE names elsewhere/x.sqlite, which does not exist yet: `ringside run showdown` makes"
    assert named in complaint(*words, RINGSIDE_STORE="elsewhere/x.sqlite")
    assert not list(workplace.iterdir())


def test_doctor_names_the_floors_and_what_is_too_old(workplace: Path) -> None:
    programs = workplace / "bin"
    for name, version in (("go", "go version go1.18.1 linux"), ("rustc", "rustc 1.62.0"), ("erl", "26.1")):
        script(programs / name, f"echo '{version}'")
    done = in_process("doctor", status=1, PATH=str(programs), COLUMNS="400")
    rows = {line.split()[0]: line for line in reversed(done.stdout.splitlines()) if "or newer  " in line}
    assert re.search(r"^Go +1\.21 or newer .*bin/go is 1\.18\.1, below 1\.21 .*golang-go.* go, ", rows["Go"])
    assert re.search(
        r"^Rust +1\.71 or newer .*rustc is 1\.62\.0, below 1\.71 .*the probe's build", rows["Rust"]
    )
    assert re.search(r"^Erlang +25 or newer +26\.1 ", rows["Erlang"])
    assert "apt-get install" in done.stdout
    assert re.search("^ringside: without .*Go, .*: `ringside setup`", done.stderr)
    assert in_process("doctor", "--machine").stdout.splitlines()[0] == "Machine"


def test_a_broken_file_is_a_line_and_the_others_are_listed(workplace: Path, add_fake: Add) -> None:
    add_fake("fine")
    (workplace / "experiments").mkdir()
    (workplace / "experiments" / "torn.toml").write_text("title =\n")
    listed = in_process("list", COLUMNS="400").stdout
    assert re.search(r"^fine +A fake +idiomatic", listed, re.MULTILINE)
    assert re.search(r"^torn is left out: /.*torn\.toml:1: broken TOML", listed, re.MULTILINE)


def test_a_contender_in_five_lines(workplace: Path, add_fake: Add, complaint: Complaint) -> None:
    add_fake("fine")
    manifest = manifest_of(workplace, "fine")
    keys = 'idiom = "https://x.test/"\ntuning = ["depth 9 (default 1)", "wide"]\n'
    variant = '[variant.loose]\ntitle = "Loose"\nunequal = ["no bound"]\n'
    manifest.write_text(keys + manifest.read_text() + variant)
    lines = in_process("list", "contenders", "fine", "fine@loose").stdout.splitlines()
    assert lines[0] == "fine: A fake (ring); also fine@loose"
    assert [line.split(maxsplit=1)[0] for line in lines[1:6]] == [
        *("family", "idiom", "versions", "tuning", "unequal")
    ]
    assert lines[2].split(maxsplit=1)[1] == "https://x.test/ (idiomatic)"
    assert re.fullmatch(r" +versions +\S* ?3\.\d+\.\d+.*", lines[3])
    assert lines[4].split(maxsplit=1)[1] == "depth 9 (default 1); wide"
    assert (lines[7], lines[12].split(maxsplit=1)[1]) == ("fine@loose: Loose (ring); also fine", "no bound")
    assert "only contenders have names here" in complaint("list", "runs", "fine")


def test_setup_of_one(workplace: Path, add_experiment: Add, complaint: Complaint) -> None:
    add_experiment("solo", "one")
    add_build(workplace / "contenders" / "one", "touch", "{build}/made")
    lines = in_process("run", "solo").stderr.splitlines()
    # A run announces a build before it starts.
    assert (lines[0], lines[1][:4]) == ("building one", "run ")
    assert "building" not in in_process("run", "solo").stderr
    shutil.rmtree(workplace / ".ringside" / "builds")
    assert in_process("setup", "one").stderr == (
        "setup: building one; this may take a minute\nsetup: one is ready\n"
    )
    (marker,) = (workplace / ".ringside" / "builds").glob("one-*/.built")
    assert (marker.parent / "made").exists()
    assert in_process("setup", "one").stderr == "setup: one is ready\n"
    assert "there is no contender `nobody`" in complaint("setup", "nobody")


def test_setup_for_an_experiment(workplace: Path, add_experiment: Add, add_suite: Add) -> None:
    add_experiment("part", "two", "broken")
    add_experiment("other", "two")
    add_experiment("rest", "one", "three")
    edit(manifest_of(workplace, "broken"), ("title ", "titel "))
    add_suite("all", "part", "other")
    assert in_process("setup", "--for", "other").stderr == "setup: two is ready\n"
    *ready, broken = in_process("setup", "one", "--for", "all", status=1).stderr.splitlines()
    assert ready == ["setup: one is ready", "setup: two is ready"]
    assert broken.startswith("setup: broken is not available: ")
    assert "there is no experiment `nothing`" in in_process("setup", "--for", "nothing", status=2).stderr


def test_a_runs_own_page(workplace: Path, add_experiment: Add, complaint: Complaint) -> None:
    add_experiment("solo", "one")
    done = in_process("run", "solo", "--report", "page.html")
    # Once, as the last line.
    assert re.fullmatch(r"page\.html \([0-9.]+ MB\)", done.stderr.strip().splitlines()[-1])
    assert ("ringside report" in done.stderr, "page.html" in done.stdout) == (False, False)
    page = (workplace / "page.html").read_text()
    in_process("report", "-o", "page.html")
    assert (workplace / "page.html").read_text() == page
    runs = in_process("list", "runs").stdout
    # Before a trial.
    (workplace / "mine.html").write_text("my own")
    assert "mine.html was not written by ringside" in complaint("run", "solo", "--report", "mine.html")
    assert "no/folder/x.html cannot be written" in complaint("run", "solo", "--report", "no/folder/x.html")
    assert (workplace / "mine.html").read_text() == "my own"
    assert in_process("list", "runs").stdout == runs
    # A page that cannot be written leaves nothing.
    assert "cannot be written" in complaint("report", "-o", "no/such/folder/page.html")
    assert [path.name for path in workplace.glob("*partial*")] == []


@pytest.mark.parametrize("words", ["run solo", "vs true true", "show", "list runs", "report", "compare x y"])
def test_a_file_that_is_no_store_stays_as_it_is(
    workplace: Path, add_experiment: Add, complaint: Complaint, words: str
) -> None:
    add_experiment("solo", "one")
    sql("foreign.sqlite", "CREATE TABLE recipe (name TEXT)")
    (workplace / "notes.txt").write_text("Not a database, but longer than the head of one. " * 10)
    for name, message in (
        ("foreign.sqlite", "is no database of Ringside: name another store with --store"),
        ("notes.txt", "file is not a database"),
    ):
        before = Path(name).read_bytes(), sorted(workplace.iterdir())
        assert message in complaint(*words.split(), "--store", name)
        assert (Path(name).read_bytes(), sorted(workplace.iterdir())) == before


def test_long_texts_of_a_manifest_are_refused(workplace: Path, add_fake: Add, complaint: Complaint) -> None:
    add_fake("one")
    manifest = manifest_of(workplace, "one")
    edit(manifest, ('"A fake"', f'"{"a" * 80}"'), ('"none"', f'"{"q" * 60}"'))
    listed = in_process("list", "contenders", COLUMNS="160").stdout
    assert re.search(r"^one +a{35}… +idiomatic +threads +q{19}… ", listed, re.MULTILINE)
    edit(manifest, ('"pretence"', f'"{"m" * 10_000}"'))
    line = complaint("setup", "one")
    assert "contender.toml:3: `model` must be text of length <= 200, not " in line
    assert len(line) < 400
