"""A run, its headline and its machine, in a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.render.text.words import blocks
from ringside.text import one_line
from ringside.workloads.base import REPEATS


def heading(analysis: RunAnalysis) -> str:
    """The run: id, blocks, trials, fixed factors."""
    fixed = " ".join(f"{factor}={level}" for factor, level in analysis.fixed.items())
    blocks_done = blocks(analysis, is_over=analysis.run.ended_at is not None)
    parts = [f"run {analysis.run.id}", blocks_done, units.count(analysis.trial_count, "trial"), fixed]
    return ", ".join(part for part in parts if part) + repeats(analysis) + control(analysis)


def repeats(analysis: RunAnalysis) -> str:
    """`; at least 100 ms of work: 3 to 2,941 repeats, one of threads`; empty where their number was not
    found by trials."""
    by_cell = {
        cell: analysis.plan.repeats_of(cell) for cell, each in analysis.cells.items() if each.has_figures
    }
    numbers = [number for number in by_cell.values() if number]
    if not numbers:
        return ""
    once = dict.fromkeys(cell.contender for cell, number in by_cell.items() if number == 1)
    low, high = min(numbers), max(numbers)
    several = f"{low:,} to {high:,} repeats" if low < high else units.count(high, "repeat")
    alone = f", one of {', '.join(once)}" if once and high > 1 else ""
    least = f"at least {units.quantity(analysis.experiment.least_s, 's')} of work"
    most = " or as many as there can be" if high == REPEATS.most else ""
    return f"; {least}{most}: {several}{alone}"


def control(analysis: RunAnalysis) -> str:
    """`; a program beside itself: 1.004 (0.991–1.018); too few trials to see carry-over`; empty where nothing
    is known of it."""
    unseen = "" if analysis.sees_carry_over else "; too few trials to see carry-over"
    return f"; a program beside itself: {units.ratio(analysis.control)}{unseen}" if analysis.control else ""


def machine(host: Mapping[str, Any]) -> str:
    """The machine: CPU, memory, kernel; of several, those that are alike together; and where the load came
    from, if from others."""
    machines, engines = host.get("machines"), host.get("engines")
    elsewhere = ""
    if isinstance(engines, int) and engines:
        elsewhere = f"; load from {units.count(engines, 'engine')} on other machines"
    if isinstance(machines, Mapping) and len(machines) > 1:
        alone = {name: {**facts, "machines": None, "engines": None} for name, facts in machines.items()}
        return _together(alone) + elsewhere
    if isinstance(machines, Mapping) and len(machines) == 1 and engines:
        (only,) = machines.values()
        if isinstance(own := only.get("engines"), Mapping):
            return f"{machine({**host, 'machines': None, 'engines': None})}; load from {_together(own)}"
    memory, cpus = host.get("memory_bytes"), host.get("cpus", "?")
    usable = len(host.get("cpus_usable") or ())
    parts = [
        one_line(str(host.get("cpu_model", "unknown CPU"))),
        f"{cpus} CPUs" if usable in (0, cpus) else f"{cpus} CPUs, {usable} usable",
        f"{memory / 2**30:.0f} GiB" if isinstance(memory, int) else "",
        f"Linux {host.get('kernel', '?')}",
        f"virtual ({host['hypervisor']})" if host.get("hypervisor") else "",
    ]
    return ", ".join(part for part in parts if part) + elsewhere


def _together(machines: Mapping[str, Mapping[str, Any]]) -> str:
    """Machines by name, those that are alike together."""
    by_text: dict[str, list[str]] = {}
    for name, facts in machines.items():
        by_text.setdefault(machine(facts), []).append(one_line(str(name)))
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())
