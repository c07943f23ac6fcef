"""Makes the table of docs/CONTENDERS.md from the manifests: which contender takes part in which workload, in
which class.

    .venv/bin/python scripts/coverage.py            write it
    .venv/bin/python scripts/coverage.py --check    exit status 1 if it differs from the manifests
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.model.catalogue import Contender
from ringside.render.text.markdown import escape
from ringside.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts import blocks  # noqa: E402


def gaps(contenders: Sequence[Contender]) -> list[tuple[str, str]]:
    """Contenders and workloads that they neither take part in nor give a reason for leaving out."""
    return [
        (one.name, workload)
        for one in contenders
        for workload in WORKLOADS
        if "@" not in one.name and workload not in one.workloads and workload not in one.without
    ]


def table(contenders: Sequence[Contender]) -> str:
    """A row for each folder: its workloads, and its variants with their workloads. `contenders`: the
    contenders on their first runtimes, sorted, with their variants."""
    lines = ["| contender | language | workloads | variants |", "|---|---|---|---|"]
    for one in (each for each in contenders if "@" not in each.name):
        own = _workloads(one)
        variants = {
            each.name.partition("@")[2]: _workloads(each)
            for each in contenders
            if each.name.startswith(f"{one.name}@")
        }
        shown = "; ".join(
            f"`@{name}`: {'the same' if taken == own else taken}" for name, taken in variants.items()
        )
        link = f"[{one.name}](../contenders/{one.name}/README.md)"
        lines.append(f"| {link} | {escape(one.language)} | {own} | {shown} |")
    return "\n".join(lines)


def _workloads(contender: Contender) -> str:
    """The workloads of a contender, with its class if that is not `idiomatic`."""
    classes = {name: contender.kind_in(name) for name in WORKLOADS if name in contender.workloads}
    if len(classes) == len(WORKLOADS) and len(set(classes.values())) == 1:
        return f"all{_marked(classes['ring'])}"
    return ", ".join(f"{name}{_marked(kind)}" for name, kind in classes.items())


def _marked(kind: str) -> str:
    return "" if kind == "idiomatic" else f" ({kind})"


PAGE = ROOT / "docs" / "CONTENDERS.md"


def bundled() -> list[Contender]:
    """Contenders on their first runtimes, and variants of these."""
    catalogue = Catalogue([ROOT])
    by_folder = (catalogue.runtimes(name) for name in catalogue.contender_names())
    return [one for all_of in by_folder for one in all_of if one.runtime == all_of[0].runtime]


def main(arguments: Sequence[str]) -> int:
    contenders = bundled()
    for name, workload in gaps(contenders):
        print(
            f"contenders/{name}/contender.toml: add `{workload}` to `[without]`, with a reason",
            file=sys.stderr,
        )
    page = PAGE.read_text(encoding="utf-8")
    made = blocks.replaced(page, "coverage.py", table(contenders))
    differs = made != page
    if "--check" not in arguments:
        PAGE.write_text(made, encoding="utf-8")
    elif differs:
        print("docs/CONTENDERS.md differs from the manifests: run scripts/coverage.py", file=sys.stderr)
    return int(("--check" in arguments and differs) or bool(gaps(contenders)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
