#!/usr/bin/env python3
"""Watches a long run and a long load: descriptors, memory of ringside and of the probe, temporary files and
cgroups must not grow with time, and the store must grow as docs/STORE.md says.

    .venv/bin/python scripts/endurance.py [--trials 10000] [--load 7200] [--rate 500]

`--trials`: trials of one run; `--load`: seconds of a load at `--rate` requests per second; 0 leaves one out.
Prints a table of looks on stdout; the exit status is 1 if something grew."""

from __future__ import annotations

import argparse
import base64
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.support.cgroups import probe_cgroups  # noqa: E402
from tests.support.started import LOAD_SERVER, ports_of  # noqa: E402

RINGSIDE = [sys.executable, "-m", "ringside.cli.main"]
SHOWN = 12
# The sizes that docs/STORE.md, "How it grows", gives in bytes: a store with the plan of a small run; a trial
# with two marks; an integer in its samples. The last is the tolerance of a store's size.
STORE_BYTES = 50_000
TRIAL_BYTES = 2_500
INTEGER_BYTES = 11
TOLERANCE = 0.25

# The shortest honest program: two units and one message.
RING = """#!/bin/sh
echo '::phase name=spawn ns=1000'
case " $* " in *' hold=1 '*) echo '::await name=spawned'; read -r _ ;; esac
echo '::phase name=relay ns=1000'
echo '::result checksum=1 order=1'
"""
MANIFEST = """title = "A short ring"
family = "threads"
model = "none"
queue = "none"
[runtime.sh]
executable = ["sh"]
version = ["echo", "1"]
[workload.ring]
command = ["{runtime}", "ring.sh"]
"""
EXPERIMENT = """title = "Endurance"
workload = "ring"
contenders = ["one", "two"]
blocks = %d
[factors]
nodes = 2
messages = 1
"""


@dataclass(frozen=True, slots=True)
class Look:
    """The state at one moment. `work`: stored trials, or seconds of a load. `ringside` and `probe` have, for
    each of the two processes, its open descriptors and its resident memory in bytes."""

    probe: int
    work: float
    ringside_fds: int
    probe_fds: int
    ringside_bytes: int
    probe_bytes: int
    files: int
    cgroups: int
    store_bytes: int


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--load", type=float, default=7200.0, metavar="SECONDS")
    parser.add_argument("--rate", type=int, default=500)
    options = parser.parse_args()
    complaints: list[str] = []
    if options.trials:
        complaints += report(f"{options.trials} trials", *watch_trials(options.trials))
    if options.load:
        complaints += report(f"a load of {options.load:g} s", watch_load(options.load, options.rate))
    return 1 if complaints else 0


def report(what: str, looks: Sequence[Look], complaints: Sequence[str] = ()) -> list[str]:
    """Print some of the looks and what grew. Returns these complaints and those about growth."""
    names = [field.name for field in fields(Look)]
    print(f"endurance: {what}, {len(looks)} looks", *names, sep="\t")
    for look in looks[:: max(1, len(looks) // SHOWN)]:
        print("", *(f"{getattr(look, name):.0f}" for name in names), sep="\t")
    complaints = [*complaints, *growth(looks)]
    print(f"endurance: {what}: {'; '.join(complaints) or 'nothing grew'}", flush=True)
    return complaints


def growth(looks: Sequence[Look]) -> list[str]:
    """What grew between the second fifth of the looks and the last look. The first fifth covers the start."""
    if len(looks) < 10:
        return [f"only {len(looks)} looks"]
    fifth = len(looks) // 5
    early, late = looks[fifth : 2 * fifth], looks[-fifth:]

    def middle(part: Sequence[Look], name: str) -> float:
        return float(statistics.median(getattr(look, name) for look in part))

    work = middle(late, "work") - middle(early, "work")
    # Ringside keeps each trial's figures to decide when a run ends, and a load's seconds for its document.
    room = {
        "ringside_fds": 2,
        "probe_fds": 2,
        "ringside_bytes": 8e6 + 4096 * work,
        "probe_bytes": 4e6 + 256 * work,
        "files": 2,
        "cgroups": 1,
    }
    grown = {name: middle(late, name) - middle(early, name) for name in room}
    complaints = [f"{name} grew by {grown[name]:.0f}" for name in room if grown[name] > room[name]]
    # A store grows by the same for each trial.
    stored = [(each.work, each.store_bytes) for each in looks if each.store_bytes and each.work]
    if len(stored) > 10:
        (begin, first), (half, middle_bytes), (end, last) = stored[0], stored[len(stored) // 2], stored[-1]
        earlier, later = (middle_bytes - first) / (half - begin), (last - middle_bytes) / (end - half)
        if later > 1.5 * earlier + 100:
            complaints.append(f"a trial took {earlier:.0f} bytes of the store at first, {later:.0f} later")
    return complaints


def expected_bytes(trials: int, integers: int) -> int:
    """The size that docs/STORE.md predicts for a store."""
    return STORE_BYTES + TRIAL_BYTES * trials + INTEGER_BYTES * integers


def kept_integers(store: Path) -> int:
    """The number of integers in the columns of all samples. A value that is the same in all samples of a
    trial does not count."""
    with closing(sqlite3.connect(store)) as connection:
        texts = [json.loads(text) for (text,) in connection.execute("SELECT samples FROM timeline")]
    columns = (each for text in texts for each in text.values() if isinstance(each, str))
    return sum(len(base64.b64decode(column)) // 8 for column in columns)


def size_of_store(store: Path) -> list[str]:
    """Complaints about the size of a store with one completed run. Prints the size beside the predicted
    one."""
    size, count, integers = store.stat().st_size, trials(store), kept_integers(store)
    expected = expected_bytes(count, integers)
    print(
        f"endurance: the store has {size} bytes, by docs/STORE.md {expected}: {integers} integers of samples"
    )
    if abs(size / expected - 1) <= TOLERANCE:
        return []
    return [f"the store has {size} bytes for {count} trials, docs/STORE.md says {expected}"]


def watch_trials(count: int) -> tuple[list[Look], list[str]]:
    """Looks at a run of this many trials; complaints about its store. Files that the run leaves behind are an
    error."""
    with tempfile.TemporaryDirectory() as folder:
        place, temporary = Path(folder, "place"), Path(folder, "tmp")
        temporary.mkdir()
        for name in ("one", "two"):
            contender = place / "contenders" / name
            contender.mkdir(parents=True)
            (contender / "ring.sh").write_text(RING, encoding="utf-8")
            (contender / "contender.toml").write_text(MANIFEST, encoding="utf-8")
            (contender / "README.md").write_text(f"# {name}\n", encoding="utf-8")
        (place / "experiments").mkdir()
        experiment = EXPERIMENT % ((count + 1) // 2)
        (place / "experiments" / "endurance.toml").write_text(experiment, encoding="utf-8")
        store = place / ".ringside" / "ringside.sqlite"
        looks = watch(
            [*RINGSIDE, "run", "endurance", "--until", "end", "--json"],
            place,
            temporary,
            lambda: trials(store),
            store,
        )
        assert trials(store) == count + count % 2, f"{trials(store)} trials in the store"
        left = sorted(each.name for each in temporary.iterdir() if not each.name.endswith(".lock"))
        assert not left, f"left in the folder for temporary files: {left}"
        assert not (stale := cgroups(looks[-1].probe)), f"a cgroup is left: {stale}"
        # After the last trial ringside makes its tables, which takes additional memory.
        return [each for each in looks if each.work < count], size_of_store(store)


def watch_load(seconds: float, rate: int) -> list[Look]:
    """Looks at a load of a small server."""
    with ports_of(LOAD_SERVER) as (port, _), tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        words = [
            f"http://127.0.0.1:{port}/",
            "--duration",
            f"{seconds:g}s",
            "--rate",
            str(rate),
            "--json",
        ]
        return watch(
            [*RINGSIDE, "load", *words, "--connections", "16"],
            Path(folder),
            Path(folder),
            lambda: time.monotonic() - begun,
            None,
        )


def watch(
    command: list[str], place: Path, temporary: Path, work: Callable[[], float], store: Path | None
) -> list[Look]:
    """Looks at a command until it has ended, at most two thousand."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    environment["PYTHONPATH"] = f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}"
    looks: list[Look] = []
    pause_s = 0.05
    with (
        open(place / "document", "wb") as document,
        open(place / "talk", "wb") as talk,
        subprocess.Popen(
            command, cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=document, stderr=talk
        ) as process,
    ):
        while process.poll() is None:
            time.sleep(pause_s)
            with suppress(OSError, IndexError, sqlite3.Error):
                looks.append(look(process.pid, temporary, work(), store))
            if len(looks) >= 2000:
                looks, pause_s = looks[::2], 2 * pause_s
    status, words = process.returncode, (place / "talk").read_text(errors="replace")
    assert status == 0, f"{' '.join(command)} ended with status {status}: {words[-500:]}"
    return looks


def look(pid: int, temporary: Path, work: float, store: Path | None) -> Look:
    """The state of a process and its probe. Raises OSError or IndexError if the probe does not run."""
    probe = children(pid)[0]
    files = [store, store.with_name(f"{store.name}-wal")] if store else []
    return Look(
        probe=probe,
        work=work,
        ringside_fds=descriptors(pid),
        probe_fds=descriptors(probe),
        ringside_bytes=resident(pid),
        probe_bytes=resident(probe),
        files=sum(1 for _ in temporary.iterdir()),
        cgroups=len(cgroups(probe)),
        store_bytes=sum(file.stat().st_size for file in files if file.exists()),
    )


def trials(store: Path) -> int:
    """The number of stored trials; 0 if there is no store yet."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM trial").fetchone()
        return int(count)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cgroups(probe: int) -> set[Path]:
    """The cgroups of a probe."""
    return {path for path in probe_cgroups() if path.name.startswith(f"ringside-{probe}-")}


if __name__ == "__main__":
    sys.exit(main())
