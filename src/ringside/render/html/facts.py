"""The machine as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside import units
from ringside.text import one_line


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
    """All facts of the machine: what, how much."""
    facts = []
    for key, value in host.items():
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


def _text(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if key.endswith("_bytes") and isinstance(value, int):
        return units.quantity(value, "B")
    return f"{value:,}" if isinstance(value, int) else str(value)
