"""100,000 trials in PostgreSQL (target: summarised within 10 s), beside the same in SQLite: the tables of a
run of all of them, and the list of runs; whole processes. Needs Debian's `postgresql`; it starts one."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import postgresql
from tests.support.runs import experiment, make_run

from ringside.store import Store

from command_line import RINGSIDE, timed  # isort: skip
from pairs import take_turns, tell  # isort: skip

_TRIALS = 100_000
_ROUNDS = 5


def main() -> int:
    if not postgresql.programs():
        print("PostgreSQL is not installed: apt-get install postgresql")
        return 0
    # A block has one trial of each contender at each of the nine points.
    ring = experiment("ring-showdown")
    with tempfile.TemporaryDirectory() as folder, postgresql.server() as server, server.database() as name:
        stores = {"PostgreSQL": server.url(name), "SQLite": str(Path(folder) / "s.sqlite")}
        with closing(Store(stores["SQLite"])) as source, closing(Store(stores["PostgreSQL"])) as target:
            each = len(source.trials(make_run(source, ring, blocks=1)))
            run = make_run(source, ring, seed=2, blocks=-(-_TRIALS // each))
            target.add_rows(source.rows_of(source.runs()))
            count = len(target.trials(target.run(run.id)))
        for words in (["show", run.id], ["list", "runs"]):
            sides = {
                kind: lambda words=words, where=where: timed(RINGSIDE, *words, "--store", where)
                for kind, where in stores.items()
            }
            print(f"`ringside {' '.join(words)}`, a run of {count:,} trials, {os.cpu_count()} CPUs")
            tell(take_turns(sides, _ROUNDS), "ms", "SQLite")
    return 0


if __name__ == "__main__":
    sys.exit(main())
