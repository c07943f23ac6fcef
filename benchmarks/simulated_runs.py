"""Simulated runs of two to eight contenders, of which the answer is compared with the table beside it, and
with how the run ended: `python benchmarks/simulated_runs.py RUNS`. Target: no contradiction."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.simulated import contradictions, simulated

# How far apart contenders may be, and the noise of their times.
STEPS, NOISES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.5), (0.01, 0.03, 0.1)


def main(runs: int) -> int:
    """Print what the runs have shown, and each contradiction; how many runs have one."""
    places: Counter[str] = Counter()
    contradicted = 0
    for seed in range(runs):
        dice = random.Random(seed)
        count, step, noise = dice.choice((2, 3, 3, 4, 6, 8)), dice.choice(STEPS), dice.choice(NOISES)
        times = [1 + step * dice.randrange(3) for _ in range(count)]

        def draw(of: random.Random, deviation: float = noise) -> float:
            return of.gauss(0, deviation) + (of.random() < 0.05) * 0.3

        made = simulated(times, dice.choice((7, 15, 30, 40)), seed, draw)
        wrong = contradictions(made)
        places[made.conclusion.here.first_place] += 1
        contradicted += bool(wrong)
        print("".join(f"{times}: {each}\n" for each in wrong), end="", flush=True)
    print(f"{runs} runs, {contradicted} with a contradiction; {dict(places)}")
    return contradicted


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000) else 0)
