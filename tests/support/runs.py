"""Made-up runs in a store, without measuring anything: for tests of what reads them."""

import dataclasses
import json
import math
import random
from collections.abc import Collection, Mapping
from typing import Any

from ringside.catalogue.experiments import read_experiment
from ringside.catalogue.loader import Catalogue
from ringside.measure.runs import plan
from ringside.measure.runs.loop import blocks as random_blocks
from ringside.measure.toolchain.builds import source_files
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import ProgramOutput, Sample, TrialOutcome
from ringside.store import Store, text_hash
from ringside.store.plans import PlannedContender, RunPlan
from ringside.workloads import workload as find_workload
from ringside.workloads.ring.workload import checksum, order
from tests.support import ROOT, TESTS, asleep, computed, served

HOSTILE = "</script><img src=x onerror=alert(1)><!-- {{ 7 * 7 }} \x1b[31mred\x1b[0m & 'quotes\""

# Start-up CPU in s, ns per hop, ns per spawn, bytes per unit, bytes without units; model, queue, scheduler.
_KINDS: dict[str, tuple[float, float, float, float, float, str, str, str]] = {
    "erlang": (0.18, 95, 1_500, 2_700, 24e6, "actors: isolated processes", "unbounded", "preemptive"),
    "go": (0.004, 155, 900, 2_750, 2.1e6, "goroutines and channels", "0", "preemptive"),
    "stackless-pypy": (0.09, 620, 4_000, 6_100, 52e6, "tasklets and channels", "0", "cooperative"),
    "stackless-greenlet": (0.05, 590, 5_200, 3_900, 14e6, "channels on greenlets", "0", "cooperative"),
    "multitask": (0.04, 9_500, 6_000, 2_300, 9e6, "generators and a trampoline", "30", "cooperative"),
    "python-asyncio": (0.12, 1_980, 9_000, 3_300, 22e6, "tasks and queues", "30", "cooperative"),
    "python-threads": (0.05, 14_000, 61_000, 19_000, 11e6, "threads of the kernel", "30", "preemptive"),
    "limit": (0.001, 6.5, 30, 420, 1.2e6, "the floor: a hand-written run queue", "30", "cooperative"),
}
_OTHER = (0.05, 400.0, 2_000.0, 3_000.0, 10e6, "something else", "1", "cooperative")

HOST: dict[str, Any] = json.loads((TESTS / "support" / "host.json").read_text(encoding="utf-8"))


def experiment(file: str = "showdown-ring", /, **changes: Any) -> Experiment:
    """An experiment with fields replaced: `experiment("ring-cores", blocks=3)`. Factors are given as in a
    file: `factors={"nodes": (10, 100), "messages": 5}`. The showdown is the one of `experiments/` here, whose
    ring has four points, all in the post's table."""
    if file == "showdown-ring":
        changes.setdefault("factors", {"nodes": (100, 1000), "messages": (100, 1000)})
    if "factors" in changes:
        factors = changes["factors"].items()
        changes["factors"] = {key: given if isinstance(given, tuple) else (given,) for key, given in factors}
    own = TESTS / "support" / "experiments" / f"{file}.toml"
    path = own if own.exists() else ROOT / "experiments" / f"{file}.toml"
    return dataclasses.replace(read_experiment(path), **changes)


def make_run(
    store: Store,
    of: Experiment,
    *,
    seed: int = 1,
    noise: float = 0.05,
    blocks: int | None = None,
    crashed: Mapping[str, int] | None = None,
    unavailable: Collection[str] = (),
    hostile: bool = False,
    ended: bool = True,
    samples: int = 0,
    own_sources: bool = False,
) -> Run:
    """A run in the store, with log-normal figures by `seed`.

    `noise`: standard deviation of a figure's logarithm; half of it again moves whole blocks.
    `blocks`: how many were made, all of the experiment's if left out.
    `crashed`: for a contender the number of its trials at each point that crash, from the first block on.
    `unavailable`: contenders whose toolchain is missing. `hostile`: texts that try to break a page.
    `ended`: False leaves the run cut off. `samples`: how many are kept of each trial; services have their own
    number. `own_sources`: contenders have the files of their folders in place of short made-up ones.
    """
    workload = find_workload(of.workload)
    points = plan.points(of, workload, int(HOST["cpus"]))
    sources: dict[str, str] = {}
    contenders = {
        name: _described(name, sources, name in unavailable, hostile, own_sources) for name in of.contenders
    }
    published = Catalogue([ROOT]).published(of.published) if of.published else None
    if hostile:
        of = dataclasses.replace(of, title=f"{of.title} {HOSTILE}", note=HOSTILE)
    planned = RunPlan(of, tuple(points), contenders, published).values()
    run = store.begin_run(of.name, seed, planned, HOST, sources)
    rng = random.Random(seed)
    for point in points:
        for name in unavailable:
            row = Trial(0, 0, Cell(name, point), Outcome.UNAVAILABLE, "no erl; apt-get install erlang")
            store.add_trial(run, row)

    def make(blank: Trial, rng: random.Random, noise: float, moved: float) -> Trial:
        if workload.service(blank.cell.point, seed):
            return served.ok(blank, workload, rng, noise, moved)
        if workload.name in ("batch", "jobs"):
            return computed.ok(blank, workload, rng, noise, moved)
        if workload.name == "sleepers":
            return asleep.ok(blank, seed, rng, noise, moved)
        return _ok(blank, rng, noise, moved, samples)

    drift: dict[tuple[int, Point], float] = {}
    order = random_blocks(points, of.contenders, of.blocks if blocks is None else blocks, seed)
    for block, cells in enumerate(order, 1):
        for position, cell in enumerate(cells):
            if cell.contender in unavailable:
                continue
            moved = drift.setdefault((block, cell.point), rng.gauss(0, noise / 2))
            blank = Trial(block, position, cell, Outcome.OK, "", cpus=(2,), started_at=run.started_at)
            if block <= (crashed or {}).get(cell.contender, 0):
                store.add_trial(run, _crash(blank, hostile))
            else:
                store.add_trial(run, make(blank, rng, noise, moved))
    if ended:
        store.end_run(run)
    return store.run(run.id)


def _described(
    name: str, sources: dict[str, str], missing: bool, hostile: bool, own_sources: bool
) -> PlannedContender:
    *_, model, queue, scheduler = _KINDS.get(name, _OTHER)
    texts = {
        "contender.toml": f'title = "{name}"\nmodel = "{model}"\n',
        "README.md": f"# {name}\n\nWritten as *its community* would: see [its guide](https://example.org/).\n\n"
        "- a list\n- of `two`\n",
        "ring.py": f"# {name}\ndef main(nodes: int) -> None:\n    print('::result checksum=1', nodes)\n",
    }
    if hostile:
        texts["README.md"] += f"\n{HOSTILE}\n\n[click](javascript:alert(1)) ![x](https://example.org/x.png)\n"
        texts["ring.py"] += f"# {HOSTILE}\n"
    if own_sources:
        own = Catalogue([ROOT]).contender(name)
        texts = {path: data.decode(errors="replace") for path, data in source_files(own).items()}
    files = {}
    for path, text in texts.items():
        files[path] = text_hash(text)
        sources[files[path]] = text
    planned = PlannedContender(
        title=f"{name.capitalize()} {HOSTILE}" if hostile else name.capitalize(),
        family={"erlang": "actors", "go": "channels"}.get(name, ""),
        model=f"{model} {HOSTILE}" if hostile else model,
        language="Erlang" if name == "erlang" else "Python",
        queue=queue,
        scheduler=scheduler,
        parallel=name in ("erlang", "go"),
        kind="floor" if name == "limit" else "idiomatic",
        runtime="default",
        runs_on="Erlang" if name == "erlang" else "Python",
        command=("{runtime}", "ring.py", *([HOSTILE] if hostile else [])),
        files=files,
    )
    if missing:
        log = f"$ make\nerror: {HOSTILE}\n" if hostile else "$ make\nmake: cc: No such file or directory\n"
        return dataclasses.replace(planned, unavailable="no erl", remedy="apt-get install erlang", log=log)
    return dataclasses.replace(
        planned, version="1.2.3", receipt="1.2.3 (test)", executable="/usr/bin/x", content="c"
    )


def _ok(blank: Trial, rng: random.Random, noise: float, moved: float, samples: int) -> Trial:
    point = blank.cell.point
    nodes, messages = int(point["nodes"]), int(point["messages"])
    start_s, hop_ns, spawn_ns, unit_bytes, base_bytes, *_ = _KINDS.get(blank.cell.contender, _OTHER)

    def about(value: float, times: float = 1.0) -> int:
        return max(1, round(value * math.exp(rng.gauss(0, noise * times) + moved)))

    hops = nodes * messages
    traced = 900 if point.as_dict().get("trace") == 1 else 0
    # Longer chains fall out of the caches.
    relay_ns = about((hop_ns * (1 + nodes / 40_000) + traced) * hops)
    spawned_ns = about(spawn_ns * nodes)
    cpu_ns = about(start_s * 1e9, 2) + relay_ns + spawned_ns
    held = about(base_bytes + unit_bytes * nodes, 0.1)
    threads = nodes + 1 if blank.cell.contender == "python-threads" else 1
    end_ns = round(cpu_ns * 1.02)
    report = TrialOutcome(
        outcome="ok",
        exit_status=0,
        wall_ns=end_ns,
        paused_ns=1_000_000,
        cpu_user_ns=round(cpu_ns * 0.9),
        cpu_system_ns=round(cpu_ns * 0.1),
        cpu_source="rusage",
        peak_pss_bytes=round(held * 1.1),
        peak_threads=threads,
        peak_processes=1,
        voluntary_switches=about(40 + hops / 50, 3),
        involuntary_switches=about(9, 3),
        minor_faults=2000,
        major_faults=0,
        run_queue_ns=about(end_ns * 0.01, 5),
        result={"checksum": str(checksum(nodes, messages)), "order": str(order(nodes, messages))},
        output=ProgramOutput(stdout_bytes=200, lines=hops if traced else 0),
        probe_cpu_ns=2_000_000,
        samples=20,
        sample_interval_ns=50_000_000,
    )
    mark = Sample(spawned_ns, "spawned", pss_bytes=held, threads=threads)
    looks = (Sample(end_ns * i // samples, pss_bytes=held, threads=threads) for i in range(samples))
    return dataclasses.replace(
        blank,
        report=report,
        phases={"spawn": (spawned_ns,), "relay": (relay_ns,)},
        marks={"spawned": mark},
        samples=tuple(looks),
    )


def _crash(blank: Trial, hostile: bool) -> Trial:
    detail = f"exit status 1: {HOSTILE}" if hostile else "exit status 1"
    report = TrialOutcome(
        outcome="crashed",
        detail=detail,
        exit_status=1,
        wall_ns=5_000_000,
        cpu_user_ns=4_000_000,
        cpu_system_ns=1_000_000,
        peak_threads=1,
        stderr_tail=f"Traceback:\n{HOSTILE}\n" if hostile else "Traceback:\nValueError: no\n",
    )
    return dataclasses.replace(blank, outcome=Outcome.CRASHED, detail=detail, report=report)
