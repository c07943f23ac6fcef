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
from ringside.render.text.cells import TableData, table

# What the machine did when a run began, and what looked at it: they differ between runs of one machine.
_MOMENTARY = {
    "load_average": "load average",
    "pressure_cpu": "CPU pressure (PSI)",
    "memory_available_bytes": "memory available",
}
_OF_RINGSIDE = ("ringside", "revision", "python")


def _machine_facts(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of the machine that are the same in all of its runs: what, how much."""
    facts = []
    for key, value in host.items():
        if key in _MOMENTARY or key in _OF_RINGSIDE:
            continue
        if key in ("machines", "engines") and isinstance(value, Mapping):
            kind = "engine " if key == "engines" else ""
            for name, own in value.items():
                # Receipts have a table of their own.
                lasting = {fact: item for fact, item in own.items() if fact != "contenders"}
                facts += [(f"{kind}{name}: {what}", text) for what, text in _machine_facts(lasting)]
            continue
        for inside, item in value.items() if isinstance(value, Mapping) else [("", value)]:
            name = " ".join(filter(None, (key, inside))).replace("_bytes", "").replace("_", " ")
            facts.append((name, _text(key, item)))
    return facts


def _momentary_facts(host: Mapping[str, Any], name: str = "") -> list[dict[str, str]]:
    """What each machine of a run did when the run began, by the headings of a table."""
    facts = {title: _text(key, host[key]) for key, title in _MOMENTARY.items() if host.get(key) is not None}
    facts |= {key: str(host[key]) for key in _OF_RINGSIDE if host.get(key) is not None}
    rows = [({"machine": name} if name else {}) | facts] if facts else []
    for kind in ("machines", "engines"):
        machines = host.get(kind)
        for inner, own in machines.items() if isinstance(machines, Mapping) else ():
            shown = f"engine {inner}" if kind == "engines" else str(inner)
            if isinstance(own, Mapping):
                rows += _momentary_facts(own, f"{name}: {shown}" if name else shown)
    return rows


def _text(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        # A load average, with few digits.
        return ", ".join(f"{each:.2f}" if isinstance(each, float) else str(each) for each in value)
    if key == "pressure_cpu" and isinstance(value, int | float):
        return f"{value:.1f} %"
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
    mine = [(analysis, analysis.contenders[name]) for analysis in analyses if name in analysis.names]
    planned = [each for _, each in mine]
    files = {(path, digest) for each in planned for path, digest in each.files.items()}
    readme = next((texts.text(digest) for path, digest in sorted(files) if path.lower() == "readme.md"), None)
    # Why it could not be measured; with the experiment where it could in others.
    absent = [(analysis.experiment.name, each) for analysis, each in mine if each.unavailable]
    reasons = [(where, "; ".join(filter(None, (each.unavailable, each.remedy)))) for where, each in absent]
    everywhere = len(absent) == len(planned)
    commands = {analysis.measurement.name: " ".join(each.command) for analysis, each in mine}
    return {
        "name": name,
        "anchor": f"contender-{number}",
        # One that was available tells more than one that was not.
        "planned": next((each for each in planned if not each.unavailable), planned[0]),
        "logs": list(dict.fromkeys(each.log for each in planned if each.log)),
        "unavailable": list(
            dict.fromkeys(why if everywhere else f"{where}: {why}" for where, why in reasons)
        ),
        "commands": [{"problem": problem, "command": text} for problem, text in commands.items()],
        "readme": templates.markdown(readme) if readme else None,
        "files": [
            texts.add(path, digest)
            for path, digest in sorted(files, key=_by_interest)
            if path.lower() != "readme.md"
        ],
        "failures": [
            {
                "label": f"{analysis.experiment.name}, {analysis.label(cell.point)}",
                "stderr": analysed.stderr,
                "repeat": command.command_to_repeat(analysis, analysed),
            }
            for analysis, _ in mine
            for cell, analysed in analysis.cells.items()
            if cell.contender == name and any(outcome is not Outcome.OK for outcome in analysed.outcomes)
        ],
    }


def _by_interest(item: tuple[str, str]) -> tuple[bool, str, str]:
    """Programs first, manifests and locks behind."""
    path, digest = item
    return path.endswith((".toml", ".lock", ".sum", ".mod", ".json")), path, digest


def machines(analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """The facts of each machine once: runs stand together that agree in all that lasts longer than a run."""
    together: dict[str, dict[str, Any]] = {}
    for analysis in analyses:
        rows = _machine_facts(analysis.run.host)
        entry = together.setdefault(json.dumps(rows), {"rows": rows, "runs": []})
        entry["runs"].append(analysis.run.id)
    return list(together.values())


def moments(analyses: Sequence[RunAnalysis]) -> TableData:
    """What the machines did when each run began, and the version that ran it."""
    rows = [
        (analysis.run.id, facts) for analysis in analyses for facts in _momentary_facts(analysis.run.host)
    ]
    columns = tuple(dict.fromkeys(column for _, facts in rows for column in facts))
    return table(
        "When each run began" if len(analyses) > 1 else "When the run began",
        [[("run", run), *((column, facts.get(column, "")) for column in columns)] for run, facts in rows],
        columns=("run", *columns),
    )
