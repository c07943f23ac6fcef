"""Commands that make runs and trials again, and what shows why trials failed."""

import shlex
from contextvars import ContextVar
from dataclasses import replace

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.store.plans import KeptOptions, RunPlan, Selection
from ringside.text import LOG_LINES, last_lines
from ringside.workloads.base import Workload
from ringside.workloads.target import TARGET

# The store that the command line names: commands that are printed have to name it too.
NAMED_STORE: ContextVar[str | None] = ContextVar("named_store", default=None)


def with_store(*words: str) -> str:
    """A command that reads a stored run or adds one, as it works when it is pasted. A record is only read."""
    store = NAMED_STORE.get()
    if store and words[0] == "run" and store.endswith(".json.xz"):
        store = None
    return shlex.join(["ringside", *words, *(["--store", store] if store else [])])


def is_load(analysis: RunAnalysis) -> bool:
    """Whether servers were compared, by `load --vs`."""
    return analysis.measurement.name == TARGET.name


def command(analysis: RunAnalysis) -> str:
    """The command that makes the run again, with the options that changed the measurement."""
    if not isinstance(analysis.measurement, Workload):
        return shlex.join(["ringside", *comparison_words(analysis.plan)])
    words = _words(chosen) if (chosen := analysis.plan.chosen) else [analysis.experiment.name]
    return shlex.join(["ringside", "run", *words])


def own_command(analysis: RunAnalysis) -> str:
    """The command that makes this run alone: for a part of a suite, the suite's options that concern it."""
    suite = analysis.plan.suite
    if suite is None or not isinstance(analysis.measurement, Workload):
        return command(analysis)
    name, factors = analysis.experiment.name, analysis.experiment.factors
    only = analysis.experiment.contenders if suite.only else ()
    settings = {factor: levels for factor, levels in (suite.settings or {}).items() if factor in factors}
    part = replace(suite, name=name, full=False, only=only, settings=settings)
    return shlex.join(["ringside", "run", *_words(part)])


def with_options(selection: Selection | None) -> list[str]:
    """The `--with` of a run: `ringside repeat` and `--resume` need them again."""
    outside = selection.outside if selection else ()
    return [word for each in outside for word in ("--with", each)]


def option_words(options: KeptOptions) -> list[str]:
    """Options as they are written on a command line."""
    words: list[str] = []
    for option, values in options.items():
        for value in values:
            if isinstance(value, str):
                words.append(f"{option}={value}")
            else:
                words += [option] if isinstance(value, bool) else [option, *value]
    return words


def comparison_words(plan: RunPlan) -> list[str]:
    """The command line of `vs` or `load --vs` without the program, but for what only shows the run."""
    options, words = plan.options, option_words(plan.options)
    texts = [plan.contenders[name].title for name in plan.experiment.contenders]
    if plan.experiment.workload == TARGET.name:
        return ["load", *words, texts[0], *(word for text in texts[1:] for word in ("--vs", text))]
    texts = texts["--reference" in options : 1 if "--rev" in options else None]
    return ["vs", *words, *(["--"] if any(text.startswith("-") for text in texts) else []), *texts]


def _words(selection: Selection) -> list[str]:
    words = [selection.name]
    if selection.full:
        words.append("--full")
    if selection.only:
        words += ["--only", ",".join(selection.only)]
    for factor, levels in (selection.settings or {}).items():
        words += ["--set", f"{factor}={','.join(map(str, levels))}"]
    for option in ("blocks", "until", "margin", "seed"):
        if (value := getattr(selection, option)) is not None:
            words += [f"--{option}", str(value)]
    if selection.sandbox:
        words.append("--sandbox")
    if selection.engines:
        words += ["--on", "auto", "--engines", str(selection.engines)]
    return [*words, *with_options(selection)]


def command_to_repeat(analysis: RunAnalysis, cell: CellAnalysis) -> str:
    """The command that repeats a trial of a cell that failed; empty if none can."""
    failed = {*cell.failures} - {Outcome.UNAVAILABLE} or cell.missing
    if not failed or not isinstance(analysis.measurement, Workload):
        return ""
    name, point, outside = cell.cell.contender, cell.cell.point, with_options(analysis.plan.chosen)
    settings = [word for factor in analysis.varying for word in ("--set", f"{factor}={point[factor]}")]
    return with_store("repeat", analysis.run.id, name, *settings, *outside)


def failure_notes(analysis: RunAnalysis, cell: CellAnalysis) -> tuple[str, ...]:
    """The last output of a failed program or its build, and how to repeat the trial."""
    name = cell.cell.contender
    lines: list[str] = []
    if stderr := last_lines(cell.stderr):
        lines += [f"{name} wrote to stderr:", *(f"  | {line}" for line in stderr)]
    elif log := last_lines(analysis.contenders[name].log, LOG_LINES):
        lines += [f"the build of {name} printed:", *(f"  | {line}" for line in log)]
    if again := command_to_repeat(analysis, cell):
        lines.append(f"all output of {name}: {again}")
    return tuple(lines)
