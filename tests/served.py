"""Trials of servers, with figures by chance, in the words of the probe."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

from ringside.model.results import Trial
from ringside.workloads.base import Workload

# Median of a request in seconds, and what each costs the server.
_SPEEDS = {"limit": 40e-6, "go": 60e-6, "erlang": 90e-6, "python-sync": 70e-6, "python-coroutines": 3e-3}
# When a load of streams begins.
_BEGIN_NS = 2_000_000_000
_QUANTILES = {"p50_ns": 1.0, "p90_ns": 1.6, "p95_ns": 2.0, "p99_ns": 4.0, "p99_9_ns": 9.0, "max_ns": 20.0}


def ok(blank: Trial, workload: Workload, rng: random.Random, noise: float, moved: float) -> Trial:
    """A trial in which all went well."""
    service = workload.service(blank.cell.point, 1)
    assert service
    about = math.exp(rng.gauss(0, noise) + moved)
    base = _SPEEDS.get(blank.cell.contender, 200e-6) * about
    delay = 0.15 if service.get("stub") else 0.0
    loads, marks, samples = [], {"idle": _mark(1, 0)}, []
    spent = 50_000_000
    for step in service["steps"]:
        marks[f"begin {step['name']}"] = _mark(1, spent)
        for load in step["loads"]:
            plan = load["plan"]
            if plan["protocol"] == "stream":
                loads.append(_stream(step["name"], load["name"], plan, base))
                samples = [
                    _look(plan, at_s / 2, base, spent) for at_s in range(2 * round(plan["duration_s"]) + 1)
                ]
                wanted = {mark["name"]: mark["at_s"] for mark in step["marks"]}
                marks |= {name: _look(plan, at_s, base, spent) for name, at_s in wanted.items()}
                marks[f"begin {step['name']}"] |= {"t_ns": _BEGIN_NS}
                spent = marks["held"]["cpu_ns"]
                continue
            seconds = base + delay + (8e-3 if plan.get("line") == "30" else 0.0)
            # Near its capacity a server is slow.
            rate = plan.get("pacing", {}).get("rate_per_s")
            seconds *= 1 + (rate * base / 0.8) ** 8 if rate else 1.0
            loads.append(_load(step["name"], load["name"], plan, seconds, base, bool(service.get("stub"))))
            spent += round(1e9 * base * loads[-1]["requests"])
        marks[f"end {step['name']}"] = _mark(2, spent)
    outcome = {
        "outcome": "ok",
        "detail": "",
        "exit_status": 0,
        "wall_ns": 10**10,
        "cpu_user_ns": spent,
        "cpu_system_ns": spent,
        "peak_pss_bytes": round(4e6 * about),
        "peak_threads": 7,
        "voluntary_switches": 100,
        "involuntary_switches": 10,
        "run_queue_ns": 1000,
        "left_behind": 0,
        "stderr_tail": "",
        "loads": loads,
        "threads": [{"tid": tid, "name": "worker", "cpu_ns": spent} for tid in (11, 12)] if samples else [],
    }
    return dataclasses.replace(blank, outcome_line=outcome, marks=marks, samples=tuple(samples))


def _mark(size: int, cpu_ns: int) -> dict[str, Any]:
    return {
        "pss_bytes": size * 1_500_000,
        "rss_bytes": size * 2_000_000,
        "cpu_ns": cpu_ns,
        "threads": 5,
        "kernel_bytes": 50_000_000,
        "tcp_bytes": 0,
    }


def _stream(step: str, name: str, plan: dict[str, Any], base: float) -> dict[str, Any]:
    spread = {key: base * times * 1e9 for key, times in _QUANTILES.items()}
    chunks = round(plan["connections"] * plan["duration_s"] / plan["stream"]["interval_s"])
    return {
        "step": step,
        "name": name,
        "outcome": "ok",
        "io": "epoll",
        "duration_ns": round(plan["duration_s"] * 1e9),
        "begin_ns": _BEGIN_NS,
        "end_ns": _BEGIN_NS + round(plan["duration_s"] * 1e9),
        "series": [
            {"t_s": t_s, "requests": chunks, "errors": 0, "max_ns": base * 5e9, "open": _open(plan, t_s + 1)}
            for t_s in range(round(plan["duration_s"]))
        ],
        "requests": 0,
        "late_requests": 0,
        "intended": None,
        "achieved_rate_per_s": chunks / plan["duration_s"],
        "cpu_share_most": 0.3,
        "busy_share_most": 0.1,
        "concurrency": float(plan["connections"]),
        "errors": {},
        "warnings": [],
        "streams": {"fed": plan["connections"], "chunks": chunks, "behind": 3},
        "histograms": {kind: dict(spread) for kind in ("lateness", "connect", "first_byte")},
    }


def _open(plan: dict[str, Any], at_s: float) -> int:
    return int(min(plan["connections"], plan["ramp_per_s"] * at_s))


def _look(plan: dict[str, Any], at_s: float, base: float, spent: int) -> dict[str, Any]:
    """A look while feeds are held: a hundred times the seconds of a chunk in bytes, and two KiB of the
    kernel's, for each connection that is open."""
    chunks = plan["connections"] * at_s / plan["stream"]["interval_s"]
    cpu_ns = spent + round(1e9 * base * chunks)
    look = _mark(1, cpu_ns)
    return look | {
        "t_ns": _BEGIN_NS + round(at_s * 1e9),
        "pss_bytes": look["pss_bytes"] + round(_open(plan, at_s) * base * 1e8),
        "kernel_bytes": look["kernel_bytes"] + 2048 * _open(plan, at_s),
        "cpu_by_thread": [(11, round(cpu_ns * 0.7)), (12, round(cpu_ns * 0.3))],
    }


def _load(step: str, name: str, plan: dict[str, Any], s: float, base: float, stub: bool) -> dict[str, Any]:
    duration_s = plan.get("duration_s", 1.0)
    rate = plan.get("pacing", {}).get("rate_per_s") or plan["connections"] / s
    requests = plan.get("requests") or max(1, round(rate * duration_s))
    found: dict[str, Any] = {
        "step": step,
        "name": name,
        "outcome": "ok",
        "io": "uring",
        "duration_ns": round(duration_s * 1e9),
        "requests": requests,
        "late_requests": 0,
        "intended": requests if "pacing" in plan else None,
        "achieved_rate_per_s": requests / duration_s,
        "cpu_share_most": 0.4,
        "busy_share_most": 0.2,
        "concurrency": float(plan["connections"]),
        "errors": {},
        "warnings": [],
        "histograms": {"latency": {key: s * times * 1e9 for key, times in _QUANTILES.items()}},
    }
    if stub:
        spread = {key: base * times * 1e9 for key, times in _QUANTILES.items()}
        found["upstreams"] = {"requests": requests, "overlapped": requests, "overhead": spread}
    return found
