"""The share of random draws, loop and clock in a transfer's CPU time: contenders of `accounts` beside
copies of themselves whose transfers return at once, without lock, message and change. They take turns on one
CPU, and start-up is subtracted.

`accounts_share.py [ROUNDS] [CONTENDER …]` prints the copy's CPU time per transfer over the contender's.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Unavailable

from advantages import Choice, Edits, copy_without  # isort: skip
from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 7
UNITS, FEW = 10, 1000

# Transfers of a unit, and the code that replaces a transfer in the copy. In C the values are still used.
COPIES: dict[str, tuple[int, Edits]] = {
    "c-pthreads": (
        300_000,
        {
            "accounts.c": [
                (
                    "    struct account *from = &accounts[source], *to",
                    '    __asm__ volatile("" : : "r"(source), "r"(target), "r"(amount));\n    return;\n'
                    "    struct account *from = &accounts[source], *to",
                )
            ]
        },
    ),
    "go": (
        300_000,
        {
            "accounts/bank.go": [
                (
                    "\tfirst, second := &b[min(source, target)], &b[max(source, target)]\n\tfirst.Lock()",
                    "\tif source != target {\n\t\treturn\n\t}\n"
                    "\tfirst, second := &b[min(source, target)], &b[max(source, target)]\n\tfirst.Lock()",
                )
            ]
        },
    ),
    "erlang": (
        30_000,
        {
            "accounts_bank.erl": [
                (
                    "transfer(Bank, Source, Target, Amount) ->",
                    "transfer(_, Source, Target, _) when Source =/= Target -> ok;\n"
                    "transfer(Bank, Source, Target, Amount) ->",
                )
            ]
        },
    ),
    "node": (
        100_000,
        {
            "accounts.js": [
                ("    this.#balances[source] -= amount;\n    this.#balances[target] += amount;\n", "")
            ]
        },
    ),
    "python-threads": (
        30_000,
        {
            "accounts.py": [
                (
                    "        accounts = self.accounts\n        first, second",
                    "        return\n        accounts = self.accounts\n        first, second",
                )
            ]
        },
    ),
    "ruby": (
        50_000,
        {
            "accounts.rb": [
                ("    @mutex.synchronize do\n", "    return if amount\n\n    @mutex.synchronize do\n")
            ]
        },
    ),
    "haskell": (
        30_000,
        {
            "accounts.hs": [
                (
                    "transfer bank source target amount = atomically $ do\n",
                    "transfer _ source target amount | source /= target && amount > 0 = pure ()\n"
                    "transfer bank source target amount = atomically $ do\n",
                )
            ]
        },
    ),
}


def main() -> int:
    arguments = sys.argv[1:]
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else ROUNDS
    toolchain = Toolchain(ROOT / ".ringside" / "builds")
    (cpu,), _ = Executor().cpus(1)
    os.sched_setaffinity(0, {cpu})
    with tempfile.TemporaryDirectory() as name:
        for contender in arguments or COPIES:
            transfers, edits = COPIES[contender]
            copy = f"{contender}-without"
            choice = Choice(copy, contender, "accounts", "", {}, (), edits)
            copy_without(choice, Path(name) / "contenders" / copy)
            sides = {
                "draws": side(Catalogue([Path(name)]), toolchain, copy, transfers),
                contender: side(Catalogue([ROOT]), toolchain, contender, transfers),
            }
            found = {key: value for key, value in sides.items() if value}
            if len(found) == len(sides):
                print(f"{contender}, {UNITS} × {transfers} transfers, CPU ns per transfer, {rounds} rounds")
                tell(take_turns(found, rounds), "ns", contender)
    return 0


def side(catalogue: Catalogue, toolchain: Toolchain, name: str, transfers: int) -> Callable[[], float] | None:
    ready = toolchain.prepare(catalogue.contender(name), program="accounts")
    if isinstance(ready, Unavailable):
        print(f"{name}: {ready.reason}; {ready.remedy}")
        return None
    names = {"runtime": ready.receipt.executable, "build": ready.build, "cores": 1}
    words = expand(ready.contender.workloads["accounts"].command, names)
    environment = trial.environment(os.environ, ready, 1, 1, 1)

    def cpu_s(count: int) -> float:
        keys = f"accounts=1000 units={UNITS} transfers={count} every={FEW} auditors=1 cores=1"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*words, *keys.split()],
            cwd=ready.contender.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return lambda: (cpu_s(transfers) - cpu_s(FEW)) * 1e9 / UNITS / (transfers - FEW)


if __name__ == "__main__":
    sys.exit(main())
