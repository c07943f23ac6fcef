"""The cost of a report: `ringside report` of 5,000 trials with two million samples (targets: 5 s, 500 MB), of
a ring, whose report needs no sample, and of a feed, whose report reads them all; the size of the showdown's
page (target: 2 MB), and its first paint from a file (target: 1 s). The figures of the trials are made up;
sources are those of the contenders.

    .venv/bin/python benchmarks/report_cost.py [TRIALS]
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import ROOT
from tests.support.browsers import launched
from tests.support.runs import experiment, make_run

from ringside.catalogue.experiments import read_experiment
from ringside.catalogue.loader import Catalogue
from ringside.model.design import Experiment
from ringside.store import Store

RINGSIDE = str(Path(sys.executable).parent / "ringside")
SAMPLES = 400
_PAINTS = 7
# The first report, which does not count, compiles the modules. The bytecode is kept unless that is forbidden.
_AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_PAINTED = "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"


def report(store: Path, page: Path, *runs: str) -> str:
    """Time and peak memory of a report. The peak is the process' own (VmHWM): the kernel's figure at exit
    starts with the size of the process that started it."""
    command = [RINGSIDE, "report", *runs, "--store", str(store), "-o", str(page)]
    begun_s, cpu_s, peak_kib = time.perf_counter(), _children_cpu_s(), 0
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=_AS_INSTALLED)
    while process.poll() is None:
        if known := re.search(r"VmHWM:\s*(\d+)", _status(process.pid)):
            peak_kib = int(known[1])
        time.sleep(0.005)
    taken_s = time.perf_counter() - begun_s
    if process.returncode:
        raise SystemExit(f"ringside report ended with {process.returncode}")
    used_s = _children_cpu_s() - cpu_s
    return f"report in {taken_s:.2f} s ({used_s:.2f} s of CPU), {peak_kib * 1024 / 1e6:.0f} MB at most"


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def megabytes(file: Path) -> float:
    return file.stat().st_size / 1e6


def _status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return ""


def first_paints_ms(page: Path) -> list[float]:
    """The time from the start of the navigation to the first text or picture, each time in a window without a
    cache."""
    paints = []
    with launched() as browser:
        for _ in range(_PAINTS):
            window = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            window.goto(page.as_uri())
            while not (entries := window.evaluate(_PAINTED)):
                window.wait_for_timeout(50)
            paints.append(float(entries[0]))
            window.close()
    return paints


def large(name: str, trials: int) -> Experiment:
    """An experiment with this many trials and room for 400 samples in each."""
    if name == "ring-showdown":
        return experiment(name, blocks=round(trials / 9 / len(experiment(name).contenders)))
    # Two samples per second: ten seconds of opening, 190 seconds of holding.
    factors = {"connections": (1000, 2500, 5000, 10_000), "ramp": 1000, "seconds": SAMPLES // 2 - 10}
    feed = experiment("feed-memory", factors=factors)
    return experiment("feed-memory", factors=factors, blocks=round(trials / 4 / len(feed.contenders)))


def main() -> int:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for name in ("ring-showdown", "feed-memory"):
            where = Path(folder) / f"{name}.sqlite"
            store = Store(where)
            run = make_run(store, large(name, trials), samples=SAMPLES, own_sources=True)
            count = store.progress(run.id).trials
            samples = sum(len(trial.usage().t_ns) for trial in store.trials(run, samples=True))
            store.close()
            if name == "ring-showdown":
                report(where, page)
            print(
                f"{name}: {count:,} trials with {samples:,} samples, store of {megabytes(where):.0f} MB: "
                f"{report(where, page)}; page of {megabytes(page):.2f} MB",
                flush=True,
            )
        where = Path(folder) / "showdown.sqlite"
        store = Store(where)
        parts = Catalogue([ROOT]).suite("showdown")
        assert parts
        # The files unchanged: `experiment` alters some of them.
        files = [ROOT / "experiments" / f"{part}.toml" for part in parts.experiments]
        runs = [
            make_run(store, replace(read_experiment(file), blocks=9), own_sources=True).id for file in files
        ]
        store.close()
        cost = report(where, page, *runs)
        paints_ms = first_paints_ms(page)
        print(
            f"showdown: {cost}; page of {megabytes(page):.2f} MB; "
            f"first paint after {median(paints_ms):.0f} ms, {max(paints_ms):.0f} ms at most of {_PAINTS}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
