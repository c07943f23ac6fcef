"""The effect of the choices that docs/BIAS.md names: a bundled contender beside a copy of itself without the
choice, as an experiment of its own, taking turns. `advantages.py [BLOCKS] [NAME …]`.

Prints one line for each choice and metric: the copy's figure over the contender's.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside.model.results import Interval
from ringside.units import ratio as interval_text

ROOT = Path(__file__).resolve().parents[1]
RINGSIDE = str(Path(sys.executable).with_name("ringside"))
BLOCKS = 7

Edits = Mapping[str, Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of a contender. `edits`: for each file, the copy's replacement; `text`: what the copy does
    instead."""

    name: str
    contender: str
    workload: str
    text: str
    factors: Mapping[str, int | str]
    metrics: Sequence[str]
    edits: Edits = field(default_factory=dict)


CHOICES = [
    Choice(
        "upstreams-kept",
        "go",
        "fanout",
        "a new connection for each upstream call",
        {"kind": "io", "requests": 100, "concurrency": 20},
        ["latency_s.p50", "cpu_per_request_s"],
        {
            "fanout/fanout.go": [
                ("DisableCompression:  true,", "DisableCompression: true, DisableKeepAlives: true,")
            ]
        },
    ),
    Choice(
        "small-send-buffer",
        "erlang",
        "feed",
        "the default watermarks of a socket's buffer",
        {"connections": 1000, "ramp": 2000, "seconds": 5},
        ["bytes_per_connection", "cpu_per_kchunk_s"],
        {"feed.erl": [(", {high_watermark, 512}, {low_watermark, 256}", "")]},
    ),
    Choice(
        "small-stacks",
        "python-threads",
        "feed",
        "threads with the system's default stacks",
        {"connections": 1000, "ramp": 2000, "seconds": 5},
        ["bytes_per_connection", "cpu_per_kchunk_s"],
        {"feed.py": [("threading.stack_size(STACK_BYTES)", "pass")]},
    ),
    Choice(
        "buffered-trace",
        "python-threads",
        "ring",
        "each line of the trace written by itself",
        {"nodes": 100, "messages": 100, "trace": 1},
        ["hop_ns"],
        {"ring.py": [("        print(line)\n", "        print(line, flush=True)\n")]},
    ),
    Choice(
        "own-numbers",
        "go",
        "batch",
        "numbers read by strconv.Atoi",
        {"cases": 20000, "cores": 1},
        ["wall_s"],
        {
            "batch/product.go": [
                (
                    "\tdigits, negative := text, false\n",
                    "\tend := bytes.IndexByte(text, ' ')\n\tif end < 0 {\n\t\tend = len(text)\n\t}\n"
                    "\tif number, err := strconv.Atoi(string(text[:end])); err == nil "
                    "&& -largest <= number && number <= largest {\n"
                    "\t\treturn number, text[end:], true\n\t}\n\tdigits, negative := text, false\n",
                ),
                ('import (\n\t"bytes"\n', 'import (\n\t"bytes"\n\t"strconv"\n'),
            ]
        },
    ),
    Choice(
        "chunks",
        "python-processes",
        "batch",
        "cases handed to processes one at a time",
        {"cases": 5000, "cores": 2},
        ["wall_s"],
        {
            "batch.py": [
                ("CHUNK_CASES = 100\n", "CHUNK_CASES = 1\n"),
                ("CHUNKS_PER_CORE = 4 ", "CHUNKS_PER_CORE = 400 "),
            ]
        },
    ),
]


def main() -> int:
    arguments = sys.argv[1:]
    blocks = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else BLOCKS
    for choice in CHOICES:
        if not arguments or choice.name in arguments:
            measure(choice, blocks)
    return 0


def measure(choice: Choice, blocks: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = f"{choice.contender}-without"
        copy_without(choice, folder / "contenders" / other)
        (folder / "experiments").mkdir()
        (folder / "experiments" / "advantage.toml").write_text(experiment(choice, other, blocks))
        command = [RINGSIDE, "run", "advantage", "--until", "end", "--json"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{choice.name}: the run failed with {done.returncode}")
        tell(choice, json.loads(done.stdout)["comparisons"])


def experiment(choice: Choice, other: str, blocks: int) -> str:
    """The experiment's file. JSON's strings, numbers and lists are TOML's as well."""
    values = {
        "title": choice.text,
        "workload": choice.workload,
        "contenders": [choice.contender, other],
        "baseline": choice.contender,
        "blocks": blocks,
    }
    tables = {"": values, "[factors]": choice.factors, "[show]": {"metrics": choice.metrics}}
    lines = []
    for heading, table in tables.items():
        lines += [heading, *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def copy_without(choice: Choice, folder: Path) -> None:
    """A copy of the contender's folder with the edits, each of which must change something."""
    shutil.copytree(ROOT / "contenders" / choice.contender, folder)
    for name, edits in choice.edits.items():
        text = (folder / name).read_text()
        for old, new in edits:
            if old not in text:
                raise SystemExit(f"{choice.name}: {name} of {choice.contender} has no {old!r}")
            text = text.replace(old, new)
        (folder / name).write_text(text)


def tell(choice: Choice, comparisons: Sequence[Mapping[str, Any]]) -> None:
    print(f"{choice.name}: {choice.workload}, {choice.contender}; {choice.text}")
    for each in comparisons:
        ratio = interval_text(Interval(each["ratio"], each["low"], each["high"], each["n"]))
        print(f"  {each['metric']:<22} {ratio} × the contender's: {each['verdict']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
