"""The end of the page: contenders and machines, each once for all runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render.html import templates
from ringside.render.text import command
from ringside.render.text.cells import TableCell, TableData
from ringside.store.plans import PlannedContender

# What the machine did when a run began, and what looked at it: they differ between runs of one machine.
_MOMENTARY = {
    "load_average": "load average",
    "pressure_cpu": "CPU pressure (PSI)",
    "memory_available_bytes": "memory available",
}
_OF_RINGSIDE = ("ringside", "revision", "python")


def machine_facts(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of the machine that are the same in all of its runs: what, how much."""
    facts = []
    for key, value in host.items():
        if key in _MOMENTARY or key in _OF_RINGSIDE:
            continue
        if key in ("machines", "engines") and isinstance(value, Mapping):
            # Receipts have a table of their own.
            kind = "engine " if key == "engines" else ""
            facts += [
                (f"{kind}{name}: {what}", text)
                for name, own in value.items()
                for what, text in machine_facts(
                    {fact: item for fact, item in own.items() if fact != "contenders"}
                )
            ]
            continue
        pairs = value.items() if isinstance(value, Mapping) else [("", value)]
        for inside, item in pairs:
            name = " ".join(filter(None, (key, inside))).replace("_bytes", "").replace("_", " ")
            facts.append((name, _text(key, item)))
    return facts


def momentary_facts(host: Mapping[str, Any], name: str = "") -> list[dict[str, str]]:
    """What each machine of a run did when the run began, by the headings of a table."""
    machines = {each: host[each] for each in ("machines", "engines") if isinstance(host.get(each), Mapping)}
    own = {title: _moment(key, host[key]) for key, title in _MOMENTARY.items() if host.get(key) is not None}
    of_ringside = {key: str(host[key]) for key in _OF_RINGSIDE if host.get(key) is not None}
    machine_facts = [({"machine": name} if name else {}) | own | of_ringside] if own or of_ringside else []
    for kind, each in machines.items():
        for inner, facts in each.items():
            shown = f"engine {inner}" if kind == "engines" else str(inner)
            if isinstance(facts, Mapping):
                machine_facts += momentary_facts(facts, ": ".join(filter(None, (name, shown))))
    return machine_facts


def _moment(key: str, value: Any) -> str:
    """A fact that held at one moment only, such as the load average, with few digits."""
    if key == "load_average" and isinstance(value, list | tuple):
        return ", ".join(f"{each:.2f}" if isinstance(each, float) else str(each) for each in value)
    if key == "pressure_cpu" and isinstance(value, int | float):
        return f"{value:.1f} %"
    return _text(key, value)


def _text(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if key.endswith("_bytes") and isinstance(value, int):
        return units.quantity(value, "B")
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


class SourceTexts:
    """The sources of all contenders, each once, with their colours as HTML: the page unpacks them when one is
    opened. `texts`: by hash."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.highlighted: dict[str, str] = {}

    def text(self, digest: str) -> str:
        return self._texts.get(digest, "(not kept)")

    def add(self, path: str, digest: str) -> dict[str, str]:
        """A file as the template lists it."""
        text = self.text(digest)
        if digest not in self.highlighted:
            self.highlighted[digest] = templates.highlighted(path, text)
        return {"path": path, "digest": digest, "lines": templates.line_count(text)}


def contenders(analyses: Sequence[RunAnalysis], texts: SourceTexts) -> list[dict[str, Any]]:
    """Each contender with what is known of it, and what differs between the runs."""
    names = dict.fromkeys(name for analysis in analyses for name in analysis.names)
    return [_contender(name, number, analyses, texts) for number, name in enumerate(names, 1)]


def _contender(name: str, number: int, analyses: Sequence[RunAnalysis], texts: SourceTexts) -> dict[str, Any]:
    mine = [analysis for analysis in analyses if name in analysis.names]
    planned = [analysis.contenders[name] for analysis in mine]
    # One that was available tells more than one that was not.
    best = next((each for each in planned if not each.unavailable), planned[0])
    files = {(path, digest) for each in planned for path, digest in each.files.items()}
    readme = next((texts.text(digest) for path, digest in sorted(files) if path.lower() == "readme.md"), None)
    return {
        "name": name,
        "anchor": f"contender-{number}",
        "planned": best,
        "logs": list(dict.fromkeys(each.log for each in planned if each.log)),
        "unavailable": _unavailable(mine, planned),
        "commands": _commands(mine, planned),
        "readme": templates.markdown(readme) if readme else None,
        "files": [
            texts.add(path, digest)
            for path, digest in sorted(files, key=_by_interest)
            if path.lower() != "readme.md"
        ],
        "failures": [failure for analysis in mine for failure in _failures(analysis, name)],
    }


def _unavailable(mine: Sequence[RunAnalysis], planned: Sequence[PlannedContender]) -> list[str]:
    """Why it could not be measured; with the experiment where it could in others."""
    absent = [
        (analysis.experiment.name, "; ".join(filter(None, (each.unavailable, each.remedy))))
        for analysis, each in zip(mine, planned, strict=True)
        if each.unavailable
    ]
    everywhere = len(absent) == len(planned)
    return list(dict.fromkeys(why if everywhere else f"{name}: {why}" for name, why in absent))


def _commands(mine: Sequence[RunAnalysis], planned: Sequence[PlannedContender]) -> list[dict[str, str]]:
    by_problem = {
        analysis.measurement.name: " ".join(each.command)
        for analysis, each in zip(mine, planned, strict=True)
    }
    return [{"problem": problem, "command": command} for problem, command in by_problem.items()]


def _failures(analysis: RunAnalysis, name: str) -> list[dict[str, Any]]:
    return [
        {
            "label": f"{analysis.experiment.name}, {analysis.label(cell.point)}",
            "stderr": analysed.stderr,
            "repeat": command.command_to_repeat(analysis, analysed),
        }
        for cell, analysed in analysis.cells.items()
        if cell.contender == name and any(outcome is not Outcome.OK for outcome in analysed.outcomes)
    ]


def _by_interest(item: tuple[str, str]) -> tuple[bool, str, str]:
    """Programs first, manifests and locks behind."""
    path, digest = item
    return path.endswith((".toml", ".lock", ".sum", ".mod", ".json")), path, digest


def machines(analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """The facts of each machine once: runs stand together that agree in all that lasts longer than a run."""
    together: dict[str, dict[str, Any]] = {}
    for analysis in analyses:
        rows = machine_facts(analysis.run.host)
        entry = together.setdefault(json.dumps(rows), {"rows": rows, "runs": []})
        entry["runs"].append(analysis.run.id)
    return list(together.values())


def moments(analyses: Sequence[RunAnalysis]) -> TableData:
    """What the machines did when each run began, and the version that ran it."""
    by_run = [(analysis.run.id, momentary_facts(analysis.run.host)) for analysis in analyses]
    columns = tuple(dict.fromkeys(column for _, rows in by_run for row in rows for column in row))
    return TableData(
        "When each run began" if len(by_run) > 1 else "When the run began",
        ("run", *columns),
        tuple(
            (TableCell(run, "text"), *(TableCell(row.get(column, "–"), "text") for column in columns))
            for run, rows in by_run
            for row in rows
        ),
    )
