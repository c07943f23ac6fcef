"""Records: whole runs as one file, read in place of a store."""

import base64
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import StoreError
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Sample
from ringside.store import Store, record, text_hash
from ringside.store.connection import FORMAT
from tests.support.command_line import in_process
from tests.support.errors import error_of
from tests.support.runs import experiment, make_run
from tests.support.stores import whole_trials

BROKEN: dict[str, Any] = {
    "is no record: `ringside export": {"format": 2},
    f"has format 99, this ringside knows {FORMAT}: use the": {"record": 99, "tables": {}},
    f"has format 2, this ringside knows {FORMAT}: use the": {"record": 2, "tables": {}},
    "does not hold the tables of runs": {"record": FORMAT, "tables": {"run": []}},
}


@pytest.fixture
def stored(tmp_path: Path) -> Store:
    """A store of two runs, the first with samples."""
    store = Store(tmp_path / "store.sqlite")
    for samples in (True, False):
        make_run(store, experiment(blocks=2), samples=samples)
    return store


def kept(store: Store, runs: Sequence[Run], folder: Path) -> Store:
    """These runs, written as a record and read again."""
    path = folder / f"kept{record.SUFFIX}"
    record.write(store, runs, path)
    return record.read(path)


def test_it_comes_back_as_it_was(stored: Store, tmp_path: Path) -> None:
    runs = stored.runs()
    again = kept(stored, runs, tmp_path)
    assert again.runs() == runs
    for run in runs:
        assert whole_trials(again, run) == whole_trials(stored, run)
    assert stored.trials(runs[0])
    files = runs[0].plan["contenders"]["go"]["files"]
    assert again.sources(list(files.values())) == stored.sources(list(files.values())) != {}
    assert [each.name for each in tmp_path.iterdir() if "partial" in each.name] == []
    # The runs that are named, and no others.
    assert kept(stored, runs[:1], tmp_path).runs() == runs[:1]


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_no_record_is_refused(message: str, tmp_path: Path) -> None:
    path = tmp_path / f"broken{record.SUFFIX}"
    path.write_bytes(lzma.compress(json.dumps(BROKEN[message]).encode()))
    with pytest.raises(StoreError, match=message.replace("(", r"\(")):
        record.read(path)


def test_a_file_that_is_cut_off_is_refused(stored: Store, tmp_path: Path) -> None:
    path = tmp_path / f"kept{record.SUFFIX}"
    record.write(stored, stored.runs(), path)
    path.write_bytes(path.read_bytes()[:-40])
    assert "cut off" in error_of(StoreError, record.read, path)
    path.write_bytes(b"not compressed")
    assert "no record" in error_of(StoreError, record.read, path)
    assert "cannot be read" in error_of(StoreError, record.read, tmp_path / f"absent{record.SUFFIX}")
    with pytest.raises(StoreError, match="choose another with -o"):
        record.write(stored, stored.runs(), tmp_path / "no-folder" / f"kept{record.SUFFIX}")


def test_commands_read_it_as_a_store(workplace: Path) -> None:
    in_process("vs", "true", "sleep 0.001", "--blocks", "7", "--store", "mine.sqlite")
    in_process("export", "--format", "record", "-o", "kept.json.xz", "--store", "mine.sqlite")
    shown = [in_process("show", "--store", store).stdout for store in ("mine.sqlite", "kept.json.xz")]
    # A hint names the store.
    assert shown[0].replace("mine.sqlite", "kept.json.xz") == shown[1]
    assert "sleep 0.001" in shown[0]
    refused = in_process("export", "--format", "record", "--store", "mine.sqlite", status=2)
    assert "name it with -o run.json.xz" in refused.stderr
    refused = in_process("vs", "true", "false", "--store", "kept.json.xz", status=2)
    assert "is a record, which is only read" in refused.stderr


def test_paths_below_the_home_are_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    store = Store(tmp_path / "store.sqlite")
    host = {
        "python": "/home/somebody/bin/python",
        "cwd": "/home/somebody",
        "words": "--with=/home/somebody/x\n/home/somebody/y",
        "other": "/usr/bin/python",
        "another": "/mnt/home/somebody/x and /home/somebody2 and /home/somebody.old",
    }
    source = "#!/home/somebody/bin/python\n"
    run = store.begin_run(
        "e", 1, {"contenders": {"a": {"files": {"x": text_hash(source)}}}}, host, {text_hash(source): source}
    )
    again = kept(store, [run], tmp_path)
    shortened = {"python": "~/bin/python", "cwd": "~", "words": "--with=~/x\n~/y"}
    assert again.run(run.id).host == {**host, **shortened}
    # It still has the hash by which it is found.
    assert again.sources([text_hash(source)]) == {text_hash(source): source}


@pytest.mark.parametrize("home", ["/", "", "//"])
def test_a_home_that_is_the_root_folder_changes_nothing(
    stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    run = stored.begin_run("e", 1, {"note": "https://x.test//y ./z"}, {}, {})
    assert kept(stored, [run], tmp_path).run(run.id).plan == run.plan


def test_samples_that_look_like_paths_stay_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    column = base64.b64decode("/home/me/AAA")
    samples = (Sample(int.from_bytes(column[:8], "little") & (1 << 62) - 1), Sample(1 << 62))
    store = Store(tmp_path / "store.sqlite")
    run = store.begin_run("e", 1, {}, {}, {})
    store.add_trial(run, Trial(1, 0, Cell("a", Point(())), Outcome.OK, "", samples=samples))
    assert "/home/me/" in store.rows_of([run])["timeline"][0]["samples"]
    assert whole_trials(kept(store, [run], tmp_path), run)[0].samples == samples
