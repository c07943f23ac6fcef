"""Whether verdicts hold: comparisons of commands with themselves, of commands with a planted slowdown, and
simulated ones; hyperfine's ± and pyperf's significance beside them, on the same commands. `--same N`,
`--planted N`, `--simulated N` say how many of each, `--tables N` how many simulated tables, `--of TEXT` which
commands.

Targets: at most 5 % claims among equals with default stopping; a planted 5 % found in 90 % or more; a planted
20 % decided within hyperfine's default time; a family-wise error of at most 6 % in tables of eight contenders
under all noises."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from scipy.stats import binomtest

import simulated
import simulated_tables
from ringside.analysis.run import RunAnalysis
from ringside.cli.progress import LiveProgress
from ringside.measure.host.executor import Executor
from ringside.measure.runs.loop import BlockLoop
from ringside.measure.runs.stopping import StoppingRule
from ringside.measure.vs import command_trials
from ringside.measure.vs.command_trials import POINT, CommandTrials, ExecutionOptions
from ringside.measure.vs.commands import parse_commands
from ringside.store import Store
from ringside.workloads.command import COMMAND

_SPIN = "import sys; n = int(sys.argv[1]); x = 1\nwhile n:\n    x = x * 48271 % 2147483647\n    n -= 1"


@dataclass(frozen=True, slots=True)
class Duel:
    """Two commands and by how much the second is known to do more."""

    name: str
    one: str
    other: str
    planted: float


def spin(rounds: int) -> str:
    return f"{sys.executable} -S -E spin.py {rounds}"


def rounds_in(seconds: float, folder: Path) -> int:
    """How many rounds make the spin take so long here, its start apart."""

    def least(rounds: int) -> float:
        found = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run(spin(rounds).split(), cwd=folder, check=True)
            found.append(time.perf_counter() - begun)
        return min(found)

    each = (least(400_000) - least(0)) / 400_000
    return round(seconds / each)


def same(rounds: int) -> list[Duel]:
    """Commands of several kinds, each against itself."""
    kinds = {
        "computes": spin(rounds // 2),
        "starts": f"{sys.executable} -S -E -c pass",
        "sorts": "sort words.txt",
        "many small processes": "sh -c 'for i in 1 2 3 4 5 6 7 8; do true | cat; done'",
    }
    return [Duel(name, command, command, 0.0) for name, command in kinds.items()]


def planted(rounds: int, go_ring: Path | None) -> list[Duel]:
    """Slowdowns of known size: a spin of more rounds, and a ring of more messages over two cores."""
    found = [
        Duel(f"spin, {share:.0%} more", spin(rounds), spin(round(rounds * (1 + share))), share)
        for share in (0.02, 0.05, 0.20)
    ]
    if go_ring:
        messages = 4000
        for share in (0.05, 0.20):
            one, other = (
                f"{go_ring} nodes=100 messages={round(messages * times)} cores=2" for times in (1, 1 + share)
            )
            found.append(Duel(f"Go ring over two cores, {share:.0%} more", one, other, share))
    return found


def ours(duel: Duel, rule: StoppingRule, seed: int, folder: Path, executor: Executor) -> str:
    """The verdict of `ringside vs`."""
    pair = parse_commands([duel.one, duel.other])
    options = ExecutionOptions(folder, dict(os.environ))
    experiment = command_trials.experiment_of(pair, rule)
    store = Store(folder / "calibration.sqlite")
    run = command_trials.begin(pair, experiment, options, seed, store)
    maker = CommandTrials(pair, options, seed, executor)
    quiet = LiveProgress(Console(quiet=True), quiet=True)
    BlockLoop(run, experiment, COMMAND, (POINT,), rule, store, quiet, maker=maker).conduct()
    verdict = next(iter(RunAnalysis(store.run(run.id), store.trials(run)).shown_comparisons())).verdict
    store.close()
    return str(verdict)


def hyperfine(duel: Duel, folder: Path) -> str:
    """What hyperfine's summary suggests, with its default number of runs: a difference where the ratio minus
    its ± is above 1."""
    file = folder / "hyperfine.json"
    command = ["hyperfine", "-N", "--warmup", "1", "--style", "none"]
    command += ["--export-json", str(file), duel.one, duel.other]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    first, second = json.loads(file.read_text(encoding="utf-8"))["results"]
    slow, fast = (second, first) if second["mean"] > first["mean"] else (first, second)
    ratio = slow["mean"] / fast["mean"]
    # As its summary computes it: relative errors add up as squares.
    error = ratio * ((slow["stddev"] / slow["mean"]) ** 2 + (fast["stddev"] / fast["mean"]) ** 2) ** 0.5
    if ratio - error <= 1:
        return "inconclusive"
    return "slower" if slow is second else "faster"


def pyperf(duel: Duel, folder: Path) -> str:
    """pyperf's `compare_to`: its t-test on two files, one made after the other, ten values of each."""
    files = []
    for side, command in (("one", duel.one), ("other", duel.other)):
        file = folder / f"{side}.json"
        file.unlink(missing_ok=True)
        # A process of pyperf's for each value, as it makes them by default, fewer of them.
        made = [sys.executable, "-m", "pyperf", "command", "-q", "--name", "x", "-o", str(file)]
        made += ["--processes", "5", "--values", "2", "--warmups", "1", "--loops", "1", "--"]
        words = parse_commands([command, command])[0].argv(POINT)
        subprocess.run([*made, *words], cwd=folder, check=True, capture_output=True)
        files.append(str(file))
    said = subprocess.run(
        [sys.executable, "-m", "pyperf", "compare_to", *files],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    if "slower" in said:
        return "slower"
    return "faster" if "faster" in said else "inconclusive"


def build_ring(folder: Path) -> Path | None:
    """The Go contender's ring, where Go is here."""
    source = Path(__file__).resolve().parents[1] / "contenders" / "go"
    if shutil.which("go") is None:
        return None
    target = folder / "ring"
    done = subprocess.run(["go", "build", "-o", str(target), "./ring"], cwd=source, check=False)
    return None if done.returncode else target


# As `vs` does by default.
RULE = StoppingRule(100_000, decided=True, time_s=30.0)
WORDS = ("slower", "faster", "equivalent", "inconclusive")


def table(duels: Sequence[Duel], times: int, folder: Path, tools: Sequence[str]) -> None:
    """Each duel so many times, by each tool in turn; print what they claimed, and how long it took."""
    executor = Executor()
    print("| commands | tool | " + ", ".join(WORDS) + " | claims | median time |")
    print("|---|---|---:|---:|---:|")
    totals: dict[str, Counter[str]] = {tool: Counter() for tool in tools}
    for which, duel in enumerate(duels):
        counts: dict[str, Counter[str]] = {tool: Counter() for tool in tools}
        took: dict[str, list[float]] = {tool: [] for tool in tools}
        # Each comparison has an order of its own: else one that favours a side would do so in every row.
        for number in range(which * times, (which + 1) * times):
            for tool in tools:
                begun = time.monotonic()
                if tool == "ringside":
                    said = ours(duel, RULE, number, folder, executor)
                else:
                    said = hyperfine(duel, folder) if tool == "hyperfine" else pyperf(duel, folder)
                took[tool].append(time.monotonic() - begun)
                counts[tool][said] += 1
                totals[tool][said] += 1
        for tool in tools:
            print(
                f"| {duel.name} | {tool} | {_cell(counts[tool])} | {median(took[tool]):.1f} s |", flush=True
            )
    for tool in tools:
        print(f"| all | {tool} | {_cell(totals[tool])} | |")


def _cell(counts: Counter[str]) -> str:
    """The counts, and the share of claimed differences with its exact 95 % interval (Clopper and Pearson)."""
    total, claims = counts.total(), counts["slower"] + counts["faster"]
    ends = binomtest(claims, total).proportion_ci(0.95)
    share = f"{claims / total:.1%} ({ends.low:.1%}–{ends.high:.1%})"
    return f"{', '.join(str(counts[word]) for word in WORDS)} | {share}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--same", type=int, default=200, help="comparisons of commands with themselves")
    parser.add_argument("--planted", type=int, default=20, help="comparisons for each planted slowdown")
    parser.add_argument("--simulated", type=int, default=1_000_000, help="simulated comparisons")
    parser.add_argument("--tables", type=int, default=2000, help="simulated tables for each figure")
    parser.add_argument("--of", default="", help="only commands whose name holds this text")
    parser.add_argument("--without-peers", action="store_true", help="leave out hyperfine and pyperf")
    given = parser.parse_args()
    peers = [] if given.without_peers else ["hyperfine"] if shutil.which("hyperfine") else []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "spin.py").write_text(_SPIN, encoding="utf-8")
        words = "".join(f"{i * 48271 % 2147483647:x}\n" for i in range(20_000))
        (folder / "words.txt").write_text(words, encoding="utf-8")
        rounds = rounds_in(0.1, folder) if given.same or given.planted else 0
        if given.same and (duels := [duel for duel in same(rounds) if given.of in duel.name]):
            each = max(1, given.same // len(duels))
            print(f"A command against itself, {each} times each")
            table(duels, each, folder, ["ringside", *peers, *([] if given.without_peers else ["pyperf"])])
        if given.planted and (
            duels := [duel for duel in planted(rounds, build_ring(folder)) if given.of in duel.name]
        ):
            print(f"\nA planted slowdown, {given.planted} times each")
            table(duels, given.planted, folder, ["ringside", *peers])
    if given.simulated:
        simulated.main(given.simulated)
    if given.tables:
        simulated_tables.main(given.tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
