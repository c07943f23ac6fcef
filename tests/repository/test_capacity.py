"""The table of docs/CLUSTER.md is the arithmetic of scripts/capacity.py, on figures of our record."""

import html
import re

import pytest
from scripts import capacity

from tests.support import ROOT

DOCS = ROOT / "docs"


def test_the_page_has_the_table() -> None:
    assert capacity.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("connections", "default_ports", "all_ports", "descriptors"),
    [(28_232, 1, 1, 28_300), (28_233, 2, 1, 28_301), (64_513, 3, 2, 32_257 + 68), (1, 1, 1, 69)],
)
def test_engines_by_ports(connections: int, default_ports: int, all_ports: int, descriptors: int) -> None:
    need = capacity.need(connections)
    assert (need.engines_default_ports, need.engines_all_ports) == (default_ports, all_ports)
    assert need.descriptors_per_engine == descriptors


def test_measured_figures_are_those_of_the_record() -> None:
    engine = (DOCS / "ENGINE.md").read_text(encoding="utf-8")
    held = re.findall(r"^\| [\d,]+ \| .* of a core \| .* \| ([\d.]+) MiB \|", engine, re.MULTILINE)
    assert [float(peak) for peak in held] == list(capacity.ENGINE_PEAKS_MIB)
    page = (DOCS / "site" / "posts" / "posts-feed.html").read_text(encoding="utf-8")
    tables = [[_texts(row) for row in table.split("<tr")[1:]] for table in page.split("<table")[1:]]
    header, *rows = next(table for table in tables if "Kernel/conn" in table[0])
    record = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert record["limit"]["Kernel/conn"] == "8.14 KiB"
    assert record["limit"]["Memory/conn"].startswith("72.5 B")
    assert record["go"]["Memory/conn"].startswith("26.7 KiB")


def _texts(row: str) -> list[str]:
    """The texts of a row of a table in HTML."""
    return [
        html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()
        for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
    ]
