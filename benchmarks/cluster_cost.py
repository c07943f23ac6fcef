"""The costs and gains of `run --on`, on nodes of a Ray cluster that are all on this machine.

- The overhead of a block beyond its trials (target: 50 ms more than here): contenders that sleep, one trial
  in a block. What a block takes here as well, most of it two reference computations, is shown beside it.
- A sweep on two nodes in place of one, with blocks that sleep (target: 0.55 of the time).
- The same contender here and by a Ray node, in turn: the ratio of its time per hop, unpaired, with its
  interval, and the verdict that `compare` gives such a ratio (target: equivalent).

Exit status 1 if a target is missed, with a line for each.

    .venv/bin/python benchmarks/cluster_cost.py [BLOCKS]
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.ray_cluster import RayCluster, started

from ringside.analysis.figures import verdict_of
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.model.results import Trial, Verdict
from ringside.stats.unpaired import ratio as unpaired_ratio
from ringside.store import Store

RINGSIDE = [sys.executable, "-m", "ringside.cli.main"]
_MOST_OVERHEAD_MS = 50.0
_MOST_SHARE = 0.55
_SLEEP_S = 0.5
_SOURCE = f"""import sys, time
arguments = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
nodes, messages = int(arguments["nodes"]), int(arguments["messages"])
time.sleep({_SLEEP_S})
order = total = 0
for number in range(messages - 1, -1, -1):
    value = number + nodes * (nodes - 1) // 2
    total += value
    order = (31 * order + value) % 2147483647
print("::phase name=spawn ns=1000\\n::phase name=relay ns=%d" % (nodes * messages * 100))
print(f"::result checksum={{total}} order={{order}}", flush=True)
"""
_MANIFEST = """title = "A sleeper"
family = "threads"
model = "sleeps"
queue = "none"
[runtime.python]
executable = ["python3"]
version = ["{runtime}", "--version"]
[workload.ring]
command = ["{runtime}", "sleeper.py"]
"""


def run(folder: Path, store: str, *words: str) -> list[Trial]:
    """The trials of a run of the ring, without warm-ups."""
    command = [*RINGSIDE, "run", "ring", *words, "--until", "end", "--store", store]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept = Store(folder / store)
    trials = [trial for trial in kept.trials(kept.run()) if trial.block > 0]
    kept.close()
    return trials


def starts_s(trials: list[Trial]) -> list[float]:
    return sorted(datetime.fromisoformat(trial.started_at).timestamp() for trial in trials)


def span_s(trials: list[Trial]) -> float:
    """Times from the first trial to the end of the last, which sleeps like the others."""
    starts = starts_s(trials)
    return starts[-1] - starts[0] + median_wall_s(trials)


def median_wall_s(trials: list[Trial]) -> float:
    return median(trial.report.wall_ns / 1e9 for trial in trials if trial.report and trial.report.wall_ns)


def overhead_s(trials: list[Trial]) -> float:
    """The time between the starts of blocks of one trial, less the program's own time."""
    starts = starts_s(trials)
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    return median(gaps) - median_wall_s(trials)


def analysed(folder: Path, store: str) -> RunAnalysis:
    with closing(Store(folder / store)) as kept:
        return analysis_of(kept, kept.run())


def hop_ns(analysis: RunAnalysis) -> list[float]:
    name, point = analysis.names[0], analysis.points[0]
    return list(analysis.cell(name, point).by_block[analysis.headline.name].values())


def judged(overhead_ms: float, verdict: Verdict, share: float) -> list[str]:
    """The targets that were missed."""
    misses = []
    if overhead_ms >= _MOST_OVERHEAD_MS:
        misses.append(
            f"a block on a node takes {overhead_ms:.1f} ms more than here, {_MOST_OVERHEAD_MS} allowed"
        )
    if verdict is not Verdict.EQUIVALENT:
        misses.append(f"the time per hop on a node is {verdict}, not equivalent, to that here")
    if share > _MOST_SHARE:
        misses.append(f"a sweep on two nodes takes {share:.3f} of the time on one, {_MOST_SHARE} allowed")
    return misses


def main() -> int:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as name, started() as cluster:
        folder = Path(name)
        sleeper = folder / "sleeper"
        sleeper.mkdir()
        (sleeper / "contender.toml").write_text(_MANIFEST)
        (sleeper / "sleeper.py").write_text(_SOURCE)
        sleeps = ["--with", "sleeper", "--set", "nodes=4", "--set", "messages=5", "--blocks", str(blocks)]
        misses = report(cluster, folder, sleeps, blocks)
    for line in misses:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if misses else 0


def report(cluster: RayCluster, folder: Path, sleeps: list[str], blocks: int) -> list[str]:
    """Prints the figures; the targets that were missed."""
    os.environ["RAY_ADDRESS"] = cluster.own
    cluster.add("one")
    here = run(folder, "here.sqlite", *sleeps)
    one = run(folder, "one.sqlite", *sleeps, "--on", "auto")
    print(f"a block of one trial, beyond its program: {overhead_s(here) * 1e3:.1f} ms here", end=", ")
    print(f"{overhead_s(one) * 1e3:.1f} ms on a node of Ray")
    real = ["--only", "python-asyncio", "--set", "nodes=100", "--set", "messages=1000"]
    values: dict[str, list[float]] = {"here": [], "node": []}
    # In turn, so that the machine's drift affects both.
    for turn in range(4):
        for place, more in (("here", []), ("node", ["--on", "auto"])):
            store = f"{place}{turn}.sqlite"
            run(folder, store, *real, "--blocks", str(max(3, blocks // 4)), *more)
            analysis = analysed(folder, store)
            values[place] += hop_ns(analysis)
    ratio = unpaired_ratio(values["node"], values["here"])
    assert ratio
    low, high = ratio.low, ratio.high
    verdict = verdict_of(ratio, analysis.headline, analysis.experiment.margin)
    print(f"time per hop on a node: {ratio.estimate:.3f} ({low:.3f}–{high:.3f}) × here, {verdict}", end=", ")
    print(f"blocks: {ratio.n}")
    cluster.add("two")
    begin = time.monotonic()
    two = run(folder, "two.sqlite", *sleeps, "--on", "auto")
    print(f"{blocks} blocks: {span_s(one):.1f} s on one node, {span_s(two):.1f} s on two", end=": ")
    share = span_s(two) / span_s(one)
    print(f"{share:.3f}; the command {time.monotonic() - begin:.1f} s")
    return judged(1e3 * (overhead_s(one) - overhead_s(here)), verdict, share)


if __name__ == "__main__":
    sys.exit(main())
