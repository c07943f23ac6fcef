"""The cycle of edit, build and run of the post of 2011, with the ring of three languages: a comment is
added to the source, what changed is built, and the program runs once, in turns (`ringside vs`). Builds have
their caches, as at the second and later edits.

`edit_cycle.py [OPTION of ringside vs …]`, such as `--runs 10`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RINGSIDE = Path(sys.executable).parent / "ringside"
CONTENDERS = Path(__file__).resolve().parents[1] / "contenders"
SIZE = "nodes=100 messages=100"
# The source to edit, the form of a comment, and the command after an edit. Python has no build.
CYCLES = {
    "go": ("go/ring/ring.go", "// edit", f"cd go && go build -o ../ring ./ring && ../ring {SIZE}"),
    "erlang": (
        *("erlang/ring.erl", "%% edit"),
        f"cd erlang && erlc ring.erl && erl -noshell -s ring main -extra {SIZE}",
    ),
    "python": ("python-asyncio/ring.py", "# edit", f"cd python-asyncio && python3 ring.py {SIZE}"),
}


def main() -> int:
    missing = [tool for tool in ("go", "erlc", "python3") if shutil.which(tool) is None]
    if missing:
        print(f"{', '.join(missing)}: not found; install Go, Erlang and Python", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for source, _, _ in CYCLES.values():
            name = source.partition("/")[0]
            shutil.copytree(CONTENDERS / name, Path(folder) / name)
        subprocess.run(["erlc", "settings.erl"], cwd=Path(folder) / "erlang", check=True)
        options = [word for name in CYCLES for word in ("-n", name)]
        for source, comment, _ in CYCLES.values():
            options += ["--prepare", f"echo '{comment}' >> {source}"]
        command = [str(RINGSIDE), "vs", *options, *sys.argv[1:], *(cycle for _, _, cycle in CYCLES.values())]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
