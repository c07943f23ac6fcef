"""The contenders that tests start: what is set up before them.

`python -m tests.support.needed` prints those of `make test`, with the word `integration` those of that too.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALL = frozenset(path.parent.name for path in (ROOT / "contenders").glob("*/contender.toml"))
# `make test` checks these: the floor, a compiled one, an interpreted one. `make integration` checks all, and
# `make soak` takes the rest of tests/contenders for all.
SAMPLE = ("limit", "go", "python-asyncio")
# Other tests start these too, or programs of their own on these runtimes.
NEEDED = (*SAMPLE, "c-pthreads", "erlang", "node", "python-threads")


def changed_contenders() -> frozenset[str]:
    """The contenders that changed since the revision CHANGED_SINCE; all without one."""
    since = os.environ.get("CHANGED_SINCE")
    if not since:
        return ALL
    words = ["git", "diff", "--name-only", since, "--", "contenders"]
    changed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return ALL & {Path(line).parts[1] for line in changed.splitlines()}


if __name__ == "__main__":
    print(*sorted({*NEEDED, *(changed_contenders() if "integration" in sys.argv else ())}))
