"""Do verdicts hold? Compares commands with themselves, and with a planted slowdown, on a quiet and on a
busy machine. hyperfine's ± and pyperf's significance judge the same commands. Simulated comparisons follow.
`--same N`, `--planted N` and `--simulated N` set the number of each kind, `--tables N` that of simulated
tables; `--of TEXT` selects commands. The file of `--results` keeps each real comparison, so the same command
continues after an interruption. `--without-peers` takes about a quarter of an hour.

Targets: at most 5 % claims among equals with default stopping; at least 90 % of planted 5 % found, on a busy
machine too; a planted 20 % decided within hyperfine's default time; a family-wise error of at most 6 % in
tables of eight contenders under all noises. The exit status is 1 if real comparisons miss them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from rich.console import Console
from scipy.stats import binomtest

import simulated
import simulated_tables
from ringside.analysis.run import RunAnalysis
from ringside.cli.progress import LiveProgress
from ringside.measure.host import Executor
from ringside.measure.runs.loop import BlockLoop, StoppingRule
from ringside.measure.vs import command_trials
from ringside.measure.vs.command_trials import POINT, CommandTrials, ExecutionOptions
from ringside.measure.vs.commands import parse_commands
from ringside.store import Store

_SPIN = "import sys; n = int(sys.argv[1]); x = 1\nwhile n:\n    x = x * 48271 % 2147483647\n    n -= 1"
# Uses half of a CPU, in bursts, as long as its parent runs.
_BUSY = """
import os, random, sys, time
while os.getppid() == int(sys.argv[1]):
    end = time.monotonic() + random.uniform(0.005, 0.2)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0.005, 0.2))
"""
_MOST_CLAIMS, _LEAST_FOUND = 0.05, 0.9


@dataclass(frozen=True, slots=True)
class Duel:
    """Two commands, and how much more work the second is known to do."""

    name: str
    one: str
    other: str
    planted: float


def spin(rounds: int) -> str:
    return f"{sys.executable} -S -E spin.py {rounds}"


def rounds_in(seconds: float, folder: Path) -> tuple[int, int]:
    """The number of rounds with which the spin takes this long here, and the number that its start takes."""

    def least(rounds: int) -> float:
        found = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run(spin(rounds).split(), cwd=folder, check=True)
            found.append(time.perf_counter() - begun)
        return min(found)

    start = least(0)
    if start >= seconds:
        sys.exit(f"the program starts in {start * 1e3:.0f} ms here: name a longer --lasting")
    each = (least(400_000) - start) / 400_000
    return round((seconds - start) / each), round(start / each)


def same(rounds: int) -> list[Duel]:
    """Commands of several kinds, each against itself."""
    kinds = {
        "computes": spin(rounds // 8),
        "starts": f"{sys.executable} -S -E -c pass",
        "sorts": "sort words.txt",
        "many small processes": "sh -c 'for i in 1 2 3 4 5 6 7 8; do true | cat; done'",
    }
    return [Duel(name, command, command, 0.0) for name, command in kinds.items()]


def planted(rounds: int, start: int, shares: Sequence[float], go_ring: Path | None) -> list[Duel]:
    """Slowdowns by these shares of the whole time: a spin of more rounds, of which the program's start is
    worth `start`, and a ring of more messages on two cores."""
    found = []
    for share in shares:
        more = spin(round(rounds + share * (rounds + start)))
        found.append(Duel(f"spin, {share:.0%} more", spin(rounds), more, share))
        if go_ring:
            one, other = (
                f"{go_ring} nodes=100 messages={round(4000 * times)} cores=2" for times in (1, 1 + share)
            )
            found.append(Duel(f"Go ring over two cores, {share:.0%} more", one, other, share))
    return found


@contextmanager
def busy_machine() -> Iterator[None]:
    """Starts as many other programs as there are CPUs. Each uses half of a CPU in bursts."""
    words = [sys.executable, "-S", "-E", "-c", _BUSY, str(os.getpid())]
    others = [subprocess.Popen(words) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class Results:
    """The claim and the duration of each comparison, by machine, commands, tool and number. Each is written
    to the file before the next one begins."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = (json.loads(line) for line in lines if line.endswith("]"))
        self.rows = {tuple(key): (said, seconds) for key, said, seconds in rows}

    def add(self, key: tuple[str, str, str, int], said: str, seconds: float) -> None:
        self.rows[key] = said, seconds
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, said, round(seconds, 3)]) + "\n")


def ours(duel: Duel, rule: StoppingRule, seed: int, folder: Path, executor: Executor) -> str:
    """The verdict of `ringside vs`."""
    pair = parse_commands([duel.one, duel.other])
    options = ExecutionOptions(folder, dict(os.environ))
    experiment = command_trials.experiment_of(pair, rule, 0.05, {}, options)
    store = Store(folder / "calibration.sqlite")
    run = command_trials.begin(pair, experiment, options, seed, store)
    maker = CommandTrials(pair, options, seed, executor)
    quiet = LiveProgress(Console(quiet=True), quiet=True)
    BlockLoop(run, rule, store, quiet, maker=maker).conduct()
    verdict = next(iter(RunAnalysis(store.run(run.id), store.trials(run)).shown_comparisons())).verdict
    store.close()
    return str(verdict)


def hyperfine(duel: Duel, folder: Path) -> str:
    """The claim that a reader takes from hyperfine's summary, with its default number of runs: a difference
    if the ratio minus its ± is above 1."""
    file = folder / "hyperfine.json"
    command = ["hyperfine", "-N", "--warmup", "1", "--style", "none"]
    command += ["--export-json", str(file), duel.one, duel.other]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    first, second = json.loads(file.read_text(encoding="utf-8"))["results"]
    slow, fast = (second, first) if second["mean"] > first["mean"] else (first, second)
    ratio = slow["mean"] / fast["mean"]
    # hyperfine's summary computes the error in this way: the squares of relative errors add up.
    error = ratio * ((slow["stddev"] / slow["mean"]) ** 2 + (fast["stddev"] / fast["mean"]) ** 2) ** 0.5
    if ratio - error <= 1:
        return "inconclusive"
    return "slower" if slow is second else "faster"


def pyperf(duel: Duel, folder: Path) -> str:
    """The claim of pyperf's `compare_to`: a t-test on two files of ten values each, one made after the
    other."""
    files = []
    for side, command in (("one", duel.one), ("other", duel.other)):
        file = folder / f"{side}.json"
        file.unlink(missing_ok=True)
        # pyperf starts a process for each value, as by default, but makes fewer of them.
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
    """The Go contender's ring, if Go is installed."""
    source = Path(__file__).resolve().parents[1] / "contenders" / "go"
    if shutil.which("go") is None:
        return None
    target = folder / "ring"
    done = subprocess.run(["go", "build", "-o", str(target), "./ring"], cwd=source, check=False)
    return None if done.returncode else target


# The default of `vs`.
RULE = StoppingRule(100_000, decided=True, time_s=30.0)
WORDS = ("slower", "faster", "equivalent", "inconclusive")


def table(
    machine: str,
    duels: Sequence[Duel],
    times: int,
    folder: Path,
    tools: Sequence[str],
    results: Results,
    rule: StoppingRule,
) -> bool:
    """Run each duel this many times with each tool in turn; print the claims and durations. Returns whether
    Ringside meets its targets."""
    executor = Executor()
    for number in range(times):
        for which, duel in enumerate(duels):
            for tool in tools:
                key = (machine, duel.name, tool, number)
                if key in results.rows:
                    continue
                begun = time.monotonic()
                if tool == "ringside":
                    # Each gets a new order: a fixed one that favours a side would do so each time.
                    said = ours(duel, rule, which * times + number, folder, executor)
                else:
                    said = hyperfine(duel, folder) if tool == "hyperfine" else pyperf(duel, folder)
                results.add(key, said, time.monotonic() - begun)
    print(f"| commands, {machine} machine | tool | " + ", ".join(WORDS) + " | claims | median time |")
    print("|---|---|---:|---:|---:|")
    meets = True
    for tool in tools:
        total: Counter[str] = Counter()
        for duel in duels:
            rows = [results.rows[machine, duel.name, tool, number] for number in range(times)]
            counts = Counter(said for said, _ in rows)
            took = median(seconds for _, seconds in rows)
            print(f"| {duel.name} | {tool} | {_cell(counts)} | {took:.1f} s |", flush=True)
            total += counts
            if tool == "ringside" and duel.planted >= 0.05:
                meets = meets and counts["slower"] >= _LEAST_FOUND * times
        print(f"| all | {tool} | {_cell(total)} | |", flush=True)
        if tool == "ringside" and not any(duel.planted for duel in duels):
            meets = meets and total["slower"] + total["faster"] <= _MOST_CLAIMS * total.total()
    return meets


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
    parser.add_argument("--shares", default="0.05", help="the planted slowdowns, as 0.05,0.2")
    parser.add_argument("--lasting", type=float, default=0.1, help="how long a spin takes, in seconds")
    parser.add_argument("--time", type=float, default=RULE.time_s, help="as `vs --time`, in seconds")
    parser.add_argument("--ring", action="store_true", help="plant them in a Go ring over two cores, too")
    parser.add_argument("--machines", default="quiet,busy", help="only quiet, or busy")
    kept = "a file of its own for each --lasting and --time"
    parser.add_argument("--results", type=Path, default=Path("calibration.jsonl"), help=kept)
    parser.add_argument("--of", default="", help="only commands whose name holds this text")
    parser.add_argument("--without-peers", action="store_true", help="leave out hyperfine and pyperf")
    given = parser.parse_args()
    peers = [name for name in ("hyperfine", "pyperf") if not given.without_peers and _is_there(name)]
    results, meets = Results(given.results.resolve()), True
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "spin.py").write_text(_SPIN, encoding="utf-8")
        words = "".join(f"{i * 48271 % 2147483647:x}\n" for i in range(20_000))
        (folder / "words.txt").write_text(words, encoding="utf-8")
        rounds, start = rounds_in(given.lasting, folder) if given.same or given.planted else (0, 0)
        rule = replace(RULE, time_s=given.time)
        shares = [float(share) for share in given.shares.split(",")]
        equal = [duel for duel in same(rounds) if given.of in duel.name] if given.same else []
        ring = build_ring(folder) if given.ring else None
        slower = planted(rounds, start, shares, ring) if given.planted else []
        slower = [duel for duel in slower if given.of in duel.name]
        for machine in given.machines.split(",") if equal or slower else ():
            surroundings: AbstractContextManager[None] = nullcontext()
            with busy_machine() if machine == "busy" else surroundings:
                if equal:
                    each = max(1, given.same // len(equal))
                    print(f"\nA command against itself, {each} times each")
                    meets &= table(machine, equal, each, folder, ["ringside", *peers], results, rule)
                if slower:
                    print(f"\nA planted slowdown, {given.planted} times each")
                    tools = ["ringside", *(peer for peer in peers if peer == "hyperfine")]
                    meets &= table(machine, slower, given.planted, folder, tools, results, rule)
    if given.simulated:
        simulated.main(given.simulated)
    if given.tables:
        simulated_tables.main(given.tables)
    return int(not meets)


def _is_there(tool: str) -> bool:
    return bool(shutil.which(tool) if tool == "hyperfine" else importlib.util.find_spec(tool))


if __name__ == "__main__":
    sys.exit(main())
