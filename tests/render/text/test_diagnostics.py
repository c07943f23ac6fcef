"""The texts of all diagnostics. When they are raised is tested beside `analysis.diagnostics`.
`.venv/bin/python -m tests.render.text.test_diagnostics` writes them anew."""

from __future__ import annotations

from typing import Any

import pytest

from ringside.model.results import Diagnostic
from ringside.render.text import diagnostics
from tests.support import TESTS

FILE = TESTS / "golden" / "diagnostics.txt"
# By code: subjects and values.
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "too-few-blocks": ((), {"blocks": 2, "needed": 9, "option": "--runs"}),
    "unfinished": ((), {"run": "run-5", "done": 2, "planned": 12}),
    "faster-than-floor": (
        ("perl", "go", "c"),
        {"floor": "limit", "times": {"perl": 5712.3, "go": 1.2, "c": 10.04}},
    ),
    "beyond-floor": (
        ("perl",),
        {"floor": "limit", "times": {"perl": 2.5}, "noun": "p99 lateness", "reason": "one timer wheel"},
    ),
    "below-a-cycle": (("perl",), {"amounts": {"perl": 0.01}, "noun": "time per hop"}),
    "too-little-memory": (("perl",), {"memory": {"perl": 0.5}}),
    "answered-unasked": (("perl",), {"counts": {"perl": 1200}}),
    "failed-blocks": (("go / erlang",), {}),
    "same-values": (("a", "b", "c", "d", "e"), {}),
    "no-steady-state": (("go / c", "d / c"), {}),
    "warming-up": (("java / c",), {}),
    "given-order": ((), {}),
    "carry-over": (("go", "erlang"), {"effects": {"go": 0.0312, "erlang": -0.015}}),
    "noisy-neighbour": (("B", "C"), {"steal": 0.031, "others": 0.12, "memory_pressure": 0.28}),
    "drift": ((), {"share": 0.2}),
    "bimodal": (("a", "b", "c", "d", "e"), {"ratios": {"a": 1.351, "b": 1.2, "c": 2.0, "d": 1.1, "e": 1.5}}),
    "generator-bound": (("go", "limit"), {}),
    "two-sided": ((), {"engines": 2, "within_ns": 800_000}),
    "cores-shared": ((), {}),
    "memory-cap-near": (("go",), {"share": 0.8}),
    "left-behind": (("go",), {}),
    "left-files": (("go", "c"), {"counts": {"go": 1200, "c": 1}}),
    "uncounted-memory": (("go",), {"sizes": {"go": 100 << 20}}),
    "interference": (("go (SIGTERM)",), {}),
    "accounting": ((), {"missing": ("cgroup", "launcher")}),
    "one-session": (("go / erlang",), {}),
    "single-runs": ((), {"share": 0.01, "claimed": 0.028}),
    "no-reference": ((), {}),
    "no-memory-reference": ((), {}),
    "other-machine": ((), {"facts": ("cpus", "kernel")}),
    "weak-reference": (("limit",), {"why": ""}),
    "waiting": (("go",), {"why": "the server was busy for 30 % of one core"}),
    "not-warm": (("go", "node"), {}),
    "years-apart": ((), {"oldest": "Python 3.9.2 (2020)", "newest": "Go 1.26 (2026)"}),
    "one-sided": (("go",), {}),
}


def golden() -> str:
    lines = []
    for code in diagnostics.CODES:
        text, remedy = diagnostics.words(Diagnostic(code, *CASES[code]))
        lines += [f"# {code}", f"  {text}", f"  {remedy}"]
    return "\n".join(lines) + "\n"


def test_diagnostics_read_as_they_did() -> None:
    hint = f"read the difference; if it is meant: .venv/bin/python -m {__name__}"
    assert golden().splitlines() == FILE.read_text(encoding="utf-8").splitlines(), hint


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


if __name__ == "__main__":
    FILE.write_text(golden(), encoding="utf-8")
