"""The session `4 3` of the post of 2009: what the ring prints with four units and three messages, when
units print before they hand a message on, as in all experiments, and after it, as in the post.

`session.py [CONTENDER …]`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Ready, Unavailable

ROOT = Path(__file__).resolve().parents[1]
CONTENDERS = ("stackless-pypy", "stackless-greenlet", "erlang")
NODES, MESSAGES = 4, 3
WIDTH = 40


def lines(ready: Ready, line: str) -> list[str]:
    """The lines that the units print. `line`: `before` or `after`."""
    names = {"runtime": ready.receipt.executable, "build": ready.build, "cores": 1}
    arguments = [f"nodes={NODES}", f"messages={MESSAGES}", "trace=1", f"line={line}"]
    done = subprocess.run(
        [*expand(ready.contender.workloads["ring"].command, names), *arguments],
        cwd=ready.contender.folder,
        env=trial.environment(os.environ, ready, 1, 1, 1),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return [each for each in done.stdout.splitlines() if not each.startswith("::")]


def main() -> int:
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    for name in sys.argv[1:] or CONTENDERS:
        ready = toolchain.prepare(catalogue.contender(name))
        if isinstance(ready, Unavailable):
            print(f"{name}: {ready.reason}; {ready.remedy}")
            continue
        before, after = lines(ready, "before"), lines(ready, "after")
        print(f"\n{name}\n{'  printed, then handed on':{WIDTH}}  handed on, then printed")
        for left, right in zip_longest(before, after, fillvalue=""):
            # Units have the runtimes' own names, whose length differs and which change with each run.
            shown = (re.sub(r"Proc: [^,]+, ", "", each) for each in (left, right))
            print("".join(f"  {each:{WIDTH}}" for each in shown).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
