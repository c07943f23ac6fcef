"""One colour per contender, the same in every plot and every report."""

from __future__ import annotations

import zlib

# The page defines each twice, for light and for dark; the first eight are distinct for the colour-blind too.
COLOURS = 34
FLOOR = "var(--limit)"

# In the order of the page's colours: those that are most often compared come first.
BUNDLED = (
    "go",
    "erlang",
    "python-asyncio",
    "stackless-pypy",
    "stackless-greenlet",
    "python-threads",
    "tornado",
    "multitask",
    "rust-tokio",
    "node",
    "java-virtual-threads",
    "python-processes",
    "go-workers",
    "python-pool",
    "elixir",
    "python-trio",
    "python-uvloop",
    "gevent",
    "c-pthreads",
    "haskell",
    "ruby",
    "cpp-coroutines",
    "python-aiohttp",
    "python-asyncio-pool",
    "erlang-mochiweb",
    "twisted",
    "python-coroutines",
    "python-sync",
    "go-sync",
    "parallel-python",
    "cpp-beast",
    "ruby-async",
    "c-microhttpd",
    "python-subinterpreters",
)


def of_contender(name: str, floor: str | None = None) -> str:
    """The colour as CSS, by the name alone: reports that are read side by side agree. Contenders that are not
    bundled get one by a checksum of theirs, and two of them may share one. The floor has its own."""
    if name == floor:
        return FLOOR
    known = name.split("@")[0]
    number = BUNDLED.index(known) if known in BUNDLED else zlib.crc32(name.encode()) % COLOURS
    return f"var(--c{number})"
