"""A form's fields as a command to copy. Nothing is run: the command is checked as `ringside run` checks it,
as far as that needs no contender's runtime."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside import units
from ringside.catalogue.loader import Catalogue
from ringside.errors import RingsideError, UsageError
from ringside.measure import plan
from ringside.measure.plan import Selection, experiments
from ringside.model.design import Experiment
from ringside.text import one_line
from ringside.units import count
from ringside.workloads import workload as find_workload

_MAX_BLOCKS = 10_000
_MAX_SEED = 2**62
_MAX_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class FactorField:
    """A factor that can be given other levels: what the experiment has, and what it means."""

    name: str
    levels: str
    meaning: str
    value: str


@dataclass(frozen=True, slots=True)
class Form:
    """What the form shows. `command` is empty where a field is wrong; `trouble` says what."""

    names: Sequence[str]
    experiment: str
    contenders: Sequence[str]
    factors: Sequence[FactorField]
    chosen: Sequence[str]
    fields: Mapping[str, str]
    has_full: bool
    command: str
    trouble: str
    size: str


def form(catalogue: Catalogue, query: Mapping[str, str], only: Sequence[str]) -> Form:
    """The form with a query's values, `only` those of the contenders' boxes."""
    names = catalogue.experiment_names()
    name = query.get("experiment", "")
    fields = {key: query.get(key, "").strip()[:_MAX_LENGTH] for key in _FIELDS}
    if name not in names:
        trouble = f"there is no experiment `{one_line(name, 60)}`: choose one of the list" if name else ""
        return Form(names, "", (), (), (), fields, False, "", trouble, "")
    contenders: list[str] = []
    factors: list[FactorField] = []
    has_full = False
    try:
        members = experiments(catalogue, Selection(name, full=bool(fields["full"])))
        suite = catalogue.suite(name)
        has_full = bool(suite and suite.full)
        contenders = list(dict.fromkeys(each for member in members for each in member.contenders))
        factors = _factors(members, query)
        command, size = _command(catalogue, name, query, fields, only, factors)
        trouble = ""
    except (RingsideError, ValueError) as error:
        command, trouble, size = "", str(error), ""
    return Form(names, name, contenders, factors, only, fields, has_full, command, trouble, size)


_FIELDS = ("blocks", "until", "margin", "time", "seed", "sandbox", "full", "serve")


def _factors(members: Sequence[Experiment], query: Mapping[str, str]) -> list[FactorField]:
    """The factors of all members; the levels of the first that sets one."""
    fields: dict[str, FactorField] = {}
    for member in members:
        for factor in find_workload(member.workload).factors:
            levels = member.factors.get(factor.name) or tuple(
                dict.fromkeys(own[factor.name] for own in member.at if factor.name in own)
            )
            text = ",".join(map(str, levels or (factor.default,)))
            value = query.get(f"set-{factor.name}", "").replace(" ", "")[:_MAX_LENGTH]
            fields.setdefault(factor.name, FactorField(factor.name, text, factor.explanation, value))
    return list(fields.values())


def _command(
    catalogue: Catalogue,
    name: str,
    query: Mapping[str, str],
    fields: Mapping[str, str],
    only: Sequence[str],
    factors: Sequence[FactorField],
) -> tuple[str, str]:
    settings = {
        factor.name: tuple(factor.value.split(","))
        for factor in factors
        if factor.value and factor.value != factor.levels
    }
    for factor, levels in settings.items():
        if not all(levels):
            raise UsageError(f"{factor}: write its levels with a comma between them, like 10,100")
    until = fields["until"]
    selection = Selection(
        name=name,
        only=tuple(only),
        settings=settings,
        blocks=_whole(fields["blocks"], "blocks", 1, _MAX_BLOCKS),
        until=units.goal(until) if until else None,
        margin=units.margin(fields["margin"]) if fields["margin"] else None,
        seed=_whole(fields["seed"], "the seed", 0, _MAX_SEED),
        full=bool(fields["full"]),
        sandbox=bool(fields["sandbox"]),
    )
    if fields["time"]:
        units.seconds(fields["time"])
    for contender in only:
        catalogue.contender(contender)
    chosen = experiments(catalogue, selection)
    cells = blocks = 0
    for experiment in chosen:
        workload = find_workload(experiment.workload)
        points = plan.points(experiment, workload, len(os.sched_getaffinity(0)))
        cells += len(points) * len(experiment.contenders)
        blocks = max(blocks, experiment.blocks)
    words = ["ringside", "run", name]
    if only:
        words += ["--only", ",".join(only)]
    for factor, levels in settings.items():
        words += ["--set", f"{factor}={','.join(levels)}"]
    for option in ("blocks", "until", "margin", "time", "seed"):
        if fields[option]:
            words += [f"--{option}", fields[option]]
    words += [f"--{option}" for option in ("full", "sandbox", "serve") if fields[option]]
    size = f"{count(cells, 'cell')}, {count(cells * blocks, 'trial')} in {count(blocks, 'block')} at most"
    if len(chosen) > 1:
        size = f"{count(len(chosen), 'experiment')}, {count(cells, 'cell')}, {count(blocks, 'block')} at most"
    return shlex.join(words), size


def _whole(text: str, what: str, least: int, most: int) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not least <= int(text[:20]) <= most:
        raise UsageError(f"{what}: write a whole number from {least:,} to {most:,}")
    return int(text)
