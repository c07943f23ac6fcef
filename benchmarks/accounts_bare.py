"""The cost of the accounts' contract: contenders of three mechanisms (a lock for each account, an
owner, one thread) beside bare programs of the same idiom, which know nothing of Ringside (benchmarks/bare),
ns per transfer by their own clocks, taking turns on one CPU.

Target: within 5 %. `accounts_bare.py [ROUNDS] [CONTENDER …]`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Unavailable

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
BARE = Path(__file__).resolve().parent / "bare"
OUT = ROOT / ".ringside" / "bare"
ROUNDS = 15
ACCOUNTS, UNITS, EVERY = 1000, 10, 1000
# Transfers of a unit (a side takes about a second); how the bare peer is built and run. {runtime} is the
# contender's.
PEERS: dict[str, tuple[int, list[str], list[str]]] = {
    "go": (
        *(400_000, ["{runtime}", "build", "-o", "{out}/accounts-go", "accounts.go"]),
        ["{out}/accounts-go"],
    ),
    "erlang": (
        *(100_000, ["erlc", "-o", "{out}", "accounts_erlang.erl"]),
        ["{runtime}", "-noshell", "+S", "1", "-pa", "{out}", "-s", "accounts_erlang", "main", "-extra"],
    ),
    "python-asyncio": (50_000, [], ["{runtime}", "accounts_asyncio.py"]),
}


def main() -> int:
    arguments = sys.argv[1:]
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else ROUNDS
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    (cpu,), _ = Executor().cpus(1)
    os.sched_setaffinity(0, {cpu})
    OUT.mkdir(parents=True, exist_ok=True)
    for name in arguments or PEERS:
        transfers, build, words = PEERS[name]
        ready = toolchain.prepare(catalogue.contender(name), program="accounts")
        if isinstance(ready, Unavailable):
            print(f"{name}: {ready.reason}; {ready.remedy}")
            continue
        names = {"runtime": ready.receipt.executable, "build": ready.build, "out": OUT, "cores": 1}
        if build:
            subprocess.run(expand(build, names), cwd=BARE, check=True)
        environment = trial.environment(os.environ, ready, 1, 1, 1)
        keys = f"accounts={ACCOUNTS} units={UNITS} transfers={transfers} every={EVERY} auditors=1 cores=1"
        ours = [*expand(ready.contender.workloads["accounts"].command, names), *keys.split()]
        bare = [*expand(words, names), *map(str, (ACCOUNTS, UNITS, transfers, EVERY))]

        def run(command: list[str], folder: Path) -> str:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,  # noqa: B023 (called in this turn)
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout

        def contender() -> float:
            output = run(ours, ready.contender.folder)  # noqa: B023
            folds.add(int(number(output, "balances")))  # noqa: B023
            return number(output, "ns") / transfers / UNITS  # noqa: B023

        def peer() -> float:
            elapsed, fold = run(bare, BARE).split()  # noqa: B023
            folds.add(int(fold))  # noqa: B023
            return int(elapsed) / transfers / UNITS  # noqa: B023

        folds: set[int] = set()
        print(f"{name}, {UNITS} × {transfers} transfers, ns per transfer, {rounds} rounds")
        tell(take_turns({name: contender, "bare": peer}, rounds), "ns", "bare")
        assert len(folds) == 1, "the balances differ"
    return 0


def number(output: str, key: str) -> float:
    (text,) = re.findall(rf"\b{key}=(\d+)", output)
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
