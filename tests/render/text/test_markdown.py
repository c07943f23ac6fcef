from __future__ import annotations

from ringside.analysis.run_diff import diff
from ringside.render.text import markdown
from ringside.render.text.cells import TableCell, TableData
from tests.support.analyses import HOSTILE, analysis, point, scaled

P = point(nodes=10)


def test_a_run() -> None:
    values = {("erlang", P): {"hop_ns": scaled(100.0)}, ("go", P): {"hop_ns": scaled(50.0)}}
    text = markdown.render(analysis(values))
    assert text.startswith(
        "# An example\n\nrun run-1, 7 blocks, 14 trials, nodes=10\n\n"
        "Example CPU 3000, 4 CPUs, 16 GiB, Linux 6.1.0\n\n"
        "**go is first: time per hop 50.0 ns (48.5–52.0). "
        "erlang takes 2.00 times (2.00–2.00) as long as go.**\n\n## nodes=10\n\n"
        "| contender | Per hop | × erlang | verdict | rank |\n"
        "|---|---:|---:|---:|---:|\n"
        "| go | 50.0 ns (48.5–52.0) | 0.500 (0.500–0.500) | faster | 1 |\n"
        "| erlang | 100 ns (97–104) | 1 | baseline | 2 |\n\n"
    )
    assert "Warning" not in text


def test_a_run_that_was_interrupted_has_no_verdicts() -> None:
    values = {("erlang", P): {"hop_ns": scaled(100.0)}, ("go", P): {"hop_ns": scaled(50.0)}}
    text = markdown.render(analysis(values, ended=False))
    assert "| go | 50.0 ns (48.5–52.0) | 0.500 (0.500–0.500) | inconclusive | 1–2 |\n" in text
    assert text.endswith("Continue it with \\`ringside run --resume run-1\\`.\n")
    assert "**Warning:** The run was interrupted" in text


def test_titles_and_notes_of_a_table() -> None:
    table = TableData("T", ("a", "b"), ((TableCell("x", "text"), TableCell("1")),), "S", ("N",))
    assert markdown.table_markdown(table) == "## T\n\n*S*\n\n| a | b |\n|---|---:|\n| x | 1 |\n\nN"
    assert markdown.table_markdown(TableData("", ("a",), ())) == "| a |\n|---:|"


def test_hostile_text_is_text_and_keeps_tables_whole() -> None:
    values = {(HOSTILE, P): {"hop_ns": scaled(1.0)}, ("go", P): {"hop_ns": scaled(2.0)}}
    text = markdown.render(analysis(values, title=HOSTILE))
    assert "<img" not in text
    assert "\x1b" not in text
    block = text.split("## nodes=10")[1].split("##")[0].strip().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in block}) == 1


def test_two_runs() -> None:
    run = analysis({("go", P): {"hop_ns": scaled(1.0)}})
    text = markdown.render_diff(diff(run, run))
    assert "| go | nodes=10 | 1.00 ns | 1.00 ns | 1.00 | inconclusive |" in text
    assert "**Warning:** One of the runs has no reference computation" in text
