"""Times that hyperfine measured, as a run that can be shown and compared; none of them is paired."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.store.plans import PlannedContender, RunPlan
from ringside.text import one_line
from ringside.workloads.command import COMMAND

SUFFIX = ".json"
_NEVER = "1970-01-01"  # The file does not say when they were measured.


class _Result(msgspec.Struct):
    command: str
    times: list[Annotated[float, msgspec.Meta(gt=0, le=1e9)]] = []
    parameters: dict[str, str] = {}


class _Export(msgspec.Struct):
    results: list[_Result]


def sides(*texts: Mapping[str, bytes | None]) -> list[list[RunAnalysis]]:
    """The runs of each side, from files of `--export-json` by name; None: to be read. Commands that are alone
    in all files are compared, whatever their names. Raises UsageError."""
    times = [{name: _times(name, text) for name, text in side.items()} for side in texts]
    firsts = [next(iter(each)) for side in times for each in side.values()]
    if all(len(each) == 1 for side in times for each in side.values()) and len({*firsts}) > 1:
        label = f"{firsts[0]} → {firsts[-1]}"
        times = [{name: {label: next(iter(each.values()))} for name, each in side.items()} for side in times]
    return [[_run(name, each) for name, each in side.items()] for side in times]


def _times(name: str, text: bytes | None) -> dict[str, list[float]]:
    """In seconds, by command. Raises UsageError."""
    try:
        results = msgspec.json.decode(text or Path(name).read_bytes(), type=_Export).results
    except OSError as error:
        raise UsageError(f"{one_line(name)} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{one_line(name)} is not an export of hyperfine: {one_line(str(error))}") from error
    times = {}
    for each in results:
        levels = ", ".join(f"{key}={level}" for key, level in each.parameters.items())
        is_same = levels and [other.command for other in results].count(each.command) > 1
        times[one_line(f"{each.command} ({levels})" if is_same else each.command, 200)] = each.times
    if not times or not all(times.values()) or len(times) < len(results):
        raise UsageError(f"{one_line(name)}: each command needs its own name and its `times`")
    return times


def _run(name: str, times: Mapping[str, Sequence[float]]) -> RunAnalysis:
    """Each command has blocks of its own, since it was not measured beside the others."""
    here = Point(())
    experiment = Experiment("vs", name, COMMAND.name, (*times,), {}, baseline=next(iter(times)), blocks=1)
    plan = RunPlan(experiment, (here,), {each: PlannedContender(each) for each in times}).values()
    walls = [
        (Cell(each, here), TrialOutcome("ok", wall_ns=round(1e9 * s))) for each in times for s in times[each]
    ]
    trials = [Trial(n, 0, cell, Outcome.OK, "", report=wall) for n, (cell, wall) in enumerate(walls, 1)]
    return RunAnalysis(Run(name, "vs", _NEVER, _NEVER, 0, plan, {}), trials)
