"""The machine as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside import units
from ringside.text import one_line

# What the machine did when a run began, and what looked at it: they differ between runs of one machine.
_MOMENTARY = {
    "load_average": "load average",
    "pressure_cpu": "CPU pressure (PSI)",
    "memory_available_bytes": "memory available",
}
_OF_RINGSIDE = ("ringside", "revision", "python")


def machine(host: Mapping[str, Any]) -> str:
    """The machine in one line; of several, those that are alike together."""
    machines = host.get("machines")
    if isinstance(machines, Mapping) and len(machines) > 1:
        by_text: dict[str, list[str]] = {}
        for name, own in machines.items():
            by_text.setdefault(_one(own), []).append(one_line(str(name)))
        machine = "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())
    else:
        machine = _one(host)
    engines = host.get("engines") if isinstance(host.get("engines"), int) else 0
    load = f"load from {units.count(engines, 'engine')} on other machines" if engines else ""
    return " · ".join(part for part in (machine, load) if part)


def _one(host: Mapping[str, Any]) -> str:
    memory, usable = host.get("memory_bytes"), len(host.get("cpus_usable") or [])
    cpus = f"{host.get('cpus', '?')} CPUs"
    parts = [
        str(host.get("cpu_model") or "unknown CPU"),
        cpus if usable in (0, host.get("cpus")) else f"{cpus}, {usable} usable",
        f"Linux {host.get('kernel') or '?'}",
        f"virtual machine ({host['hypervisor']})" if host.get("hypervisor") else "no hypervisor detected",
        units.quantity(memory, "B") if isinstance(memory, int) else "",
    ]
    return " · ".join(part for part in parts if part)


def rows(host: Mapping[str, Any]) -> list[tuple[str, str]]:
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
                for what, text in rows({fact: item for fact, item in own.items() if fact != "contenders"})
            ]
            continue
        pairs = value.items() if isinstance(value, Mapping) else [("", value)]
        for inside, item in pairs:
            name = " ".join(filter(None, (key, inside))).replace("_bytes", "").replace("_", " ")
            facts.append((name, _text(key, item)))
    return facts


def moments(host: Mapping[str, Any], name: str = "") -> list[dict[str, str]]:
    """What each machine of a run did when the run began, by the headings of a table."""
    machines = {each: host[each] for each in ("machines", "engines") if isinstance(host.get(each), Mapping)}
    own = {title: _moment(key, host[key]) for key, title in _MOMENTARY.items() if host.get(key) is not None}
    of_ringside = {key: str(host[key]) for key in _OF_RINGSIDE if host.get(key) is not None}
    rows = [({"machine": name} if name else {}) | own | of_ringside] if own or of_ringside else []
    for kind, each in machines.items():
        for inner, facts in each.items():
            shown = f"engine {inner}" if kind == "engines" else str(inner)
            if isinstance(facts, Mapping):
                rows += moments(facts, ": ".join(filter(None, (name, shown))))
    return rows


def _moment(key: str, value: Any) -> str:
    """A value of a moment, rounded to what it can mean."""
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
