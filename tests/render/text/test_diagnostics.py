"""The texts of all diagnostics. When they are raised is tested beside `analysis.diagnostics`."""

import pytest

from ringside.model.results import Diagnostic
from ringside.render.text import diagnostics
from tests.support import golden
from tests.support.cases import tables

# By code: subjects and values.
CASES = tables(__file__)


def test_diagnostics_read_as_they_did() -> None:
    lines = []
    for code in diagnostics.CODES:
        text, remedy = diagnostics.words(Diagnostic(code, *CASES[code]))
        lines += [f"# {code}", f"  {text}", f"  {remedy}"]
    golden.check("diagnostics.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"io_pressure": 0.194}, "I/O pressure (PSI): 19 % of the time: ratios hold"),
        ({"steal": 0.1}, "the hypervisor took 10 % of the CPUs' time (steal): ratios hold"),
    ],
)
def test_only_observed_noise_is_named(values: dict[str, float], text: str) -> None:
    assert diagnostics.words(Diagnostic("noisy-neighbour", values=values))[0].startswith(text)


def test_a_text_of_its_own_is_used_as_it_is() -> None:
    own = Diagnostic("short-run", ("a",), {"x": 1}, "the {run} was short.", "take --duration 10s.")
    assert diagnostics.words(own) == ("the {run} was short", "take --duration 10s")
    assert diagnostics.sentences(own) == "The {run} was short. Take --duration 10s."


def test_hostile_values_are_no_templates() -> None:
    text, _ = diagnostics.words(Diagnostic("one-sided", ("{x}", "{0}")))
    assert text == "{x}, {0}: in only one of the runs"


def test_rows_of_documents() -> None:
    assert diagnostics.rows([Diagnostic("one-sided", ("go",))]) == [
        {"code": "one-sided", "text": "go: in only one of the runs", "remedy": "nothing needs to be done"}
    ]
