"""Whether a run of the store can go on: as it was planned, where it began, with what it began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from ringside.errors import UsageError
from ringside.measure import host
from ringside.measure.runs.prepare import Prepared, described
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.results import Run
from ringside.store.plans import PlannedContender, RunPlan, read_plan
from ringside.workloads import measurement
from ringside.workloads.base import Workload
from ringside.workloads.command import COMMAND


def check_origin(run: Run, *, on_cluster: bool) -> RunPlan:
    """The plan of a run that can go on here. Raises UsageError for one of `vs` or `load --vs`, and where the
    run began on this machine and is to go on on a cluster, or the other way."""
    plan = read_plan(run)
    if not isinstance(measurement(plan.experiment.workload), Workload):
        is_vs = plan.experiment.workload == COMMAND.name
        way = f"`ringside vs --resume {run.id}` continues it" if is_vs else "start it anew"
        raise UsageError(f"run {run.id} is not one of `ringside run`: {way}")
    began_on_cluster = "machines" in run.host
    if began_on_cluster and not on_cluster:
        raise UsageError(f"run {run.id} began on a cluster: resume it with --on")
    if on_cluster and not began_on_cluster:
        raise UsageError(f"run {run.id} began without --on: resume it on its machine without --on")
    return plan


def check_machines(run: Run, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise UsageError where a machine is not the one that the run knows by its name: trials would not be
    comparable. `facts`: by name, as `host.facts`."""
    known = run.host.get("machines", {"": run.host})
    for name, now in facts.items():
        if name not in known or not (changed := host.differences(known[name], now)):
            continue
        there = "; ".join(changed)
        if not name:
            raise UsageError(
                f"run {run.id} began on another machine ({there}): resume it there, or start a new run"
            )
        raise UsageError(
            f"run {run.id} knows another machine as {name} ({there}): give this one another name (ray start "
            "--node-name), or start a new run"
        )


def as_it_began(run: Run, machines: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """What machines are ready for, by their names, where that is what they had when the run began; what could
    not be measured then stays so. Raises UsageError where a contender has changed since, or is not available
    any more: trials would not be comparable, or missing."""
    kept = read_plan(run)
    settled = {}
    for machine, prepared in machines.items():
        then = _known(run, kept, machine)
        where = f" on {machine}" if machine else ""
        contenders = {}
        for name, contender in prepared.contenders.items():
            sources = described(contender, prepared.workload.name, {}).files
            if kept.contenders[name].content is not None and (
                isinstance(contender, Ready) and sources != kept.contenders[name].files
            ):
                raise UsageError(f"contender `{name}` has changed since run {run.id} began: start a new run")
            contenders[name] = _as_it_was(run, contender, then.get(name), where)
        settled[machine] = replace(prepared, contenders=contenders)
    return settled


def _as_it_was(
    run: Run, now: Ready | Unavailable, then: PlannedContender | None, where: str
) -> Ready | Unavailable:
    if then is None:
        return now
    name = now.contender.name
    if then.content is None:
        return Unavailable(now.contender, then.unavailable, then.remedy)
    if isinstance(now, Unavailable):
        reason = now.reason + (f" ({now.remedy})" if now.remedy else "")
        raise UsageError(
            f"contender `{name}` was available{where} when run {run.id} began, and is not any more: "
            f"{reason}; restore it, or start a new run"
        )
    if now.content != then.content:
        raise UsageError(f"contender `{name}` has changed{where} since run {run.id} began: start a new run")
    return now


def _known(run: Run, plan: RunPlan, machine: str) -> Mapping[str, PlannedContender]:
    """The contenders of a machine when the run began; empty for one that the run does not know."""
    if not machine:
        return plan.contenders
    receipts = run.host["machines"].get(machine, {}).get("contenders", {})
    return {
        name: msgspec.convert({"title": name, **receipt}, PlannedContender)
        for name, receipt in receipts.items()
    }
