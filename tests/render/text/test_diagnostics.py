"""The texts of all diagnostics. When they are raised is tested beside `analysis.diagnostics`."""

from __future__ import annotations

from typing import Any

import pytest

from ringside.model.results import Diagnostic
from ringside.render.text import diagnostics

# By code: subjects, values, and how they stand in the text and in the remedy.
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any], str, str]] = {
    "too-few-blocks": (
        (),
        {"blocks": 2, "needed": 9, "option": "--runs"},
        "verdicts (2 of 6)",
        "run it with --runs 9",
    ),
    "unfinished": ((), {"run": "run-5"}, "interrupted", "`ringside run --resume run-5`"),
    "faster-than-floor": (
        ("perl", "go", "c"),
        {"floor": "limit", "times": {"perl": 5712.3, "go": 1.2, "c": 10.04}},
        "perl (5,710×), go (1.2×), c (10×): faster than limit, by more than the interval allows. limit is",
        "read its source",
    ),
    "beyond-floor": (
        ("perl",),
        {"floor": "limit", "times": {"perl": 2.5}, "noun": "p99 lateness", "reason": "one timer wheel"},
        "perl (2.5×): better than limit in the p99 lateness, by more than the interval allows: one timer",
        "do not read multiples of limit",
    ),
    "below-a-cycle": (
        ("perl",),
        {"amounts": {"perl": 0.01}, "noun": "time per hop"},
        "perl (0.01 ns): a time per hop below one cycle of a CPU (0.125 ns)",
        "read its source",
    ),
    "too-little-memory": (("perl",), {"memory": {"perl": 0.5}}, "perl (0.5 B): less", "read its source"),
    "answered-unasked": (("perl",), {"counts": {"perl": 1200}}, "perl (1,200): answers", "read its source"),
    "failed-blocks": (("go / erlang",), {}, "go / erlang: more than 10 % of the blocks failed", "failures"),
    "same-values": (tuple("abcde"), {}, "a, b, c and 2 more: the same value in every block", "more work"),
    "no-steady-state": (("go / c", "d / c"), {}, "go / c, d / c: repeats", "use more repeats"),
    "carry-over": (
        ("go", "erlang"),
        {"effects": {"go": 0.0312, "erlang": -0.015}},
        "the trial after go has 3.1% more, erlang has 1.5% less: contenders influence",
        "look for what outlives a trial",
    ),
    "noisy-neighbour": (
        (),
        {"steal": 0.031, "others": 0.12, "memory_pressure": 0.28, "io_pressure": 0.194},
        "the hypervisor took 3 % of the CPUs' time (steal); other programs used 12 % of the contenders' "
        "CPUs; memory pressure (PSI): 28 % of the time; I/O pressure (PSI): 19 % of the time. Intervals",
        "`ringside doctor` shows how quiet it is",
    ),
    "drift": ((), {"share": 0.2}, "took 20 % longer in the slowest tenth", "trust the ratios"),
    "bimodal": (
        ("a", "b", "c", "d", "e"),
        {"ratios": {"a": 1.351, "b": 1.2, "c": 2.0, "d": 1.1, "e": 1.5}},
        "a (1.35× apart), b (1.20× apart), c (2.00× apart) and 2 more: the values have two modes",
        "look at the single trials",
    ),
    "generator-bound": (("go", "limit"), {}, "go, limit: the load engine was the bottleneck", "lower bounds"),
    "two-sided": (
        (),
        {"engines": 2, "within_ns": 800_000},
        "from 2 engines on other machines, which started within 800 µs of each other",
        "the same network",
    ),
    "cores-shared": ((), {}, "some contenders used all CPUs", "leave the probe a CPU"),
    "memory-cap-near": (("go",), {"share": 0.8}, "go: used more than 80 % of", "raise `memory_bytes`"),
    "left-behind": (("go",), {}, "go: processes still ran", "wait for the processes"),
    "left-files": (("go", "c"), {"counts": {"go": 1200, "c": 1}}, "go (1,200), c (1): files", "SIGTERM"),
    "uncounted-memory": (("go",), {"sizes": {"go": 100 << 20}}, "go (100 MiB): memory", "do not compare"),
    "interference": (("go (SIGTERM)",), {}, "instead of its work: go (SIGTERM)", "with --sandbox"),
    "slow-end": (("erlang",), {}, "erlang: still ran 2 s after SIGTERM", "end at once on SIGTERM"),
    "accounting": ((), {"missing": ("cgroup", "PSI")}, "not available here: cgroup, PSI", "nothing needs"),
    "single-runs": (
        (),
        {"share": 0.01, "claimed": 0.028},
        "no change below 3 % is claimed",
        "make more runs",
    ),
    "no-reference": ((), {}, "no reference computation", "measure both again"),
    "no-memory-reference": ((), {}, "no memory-bound reference computation", "measure both again"),
    "other-machine": ((), {"facts": ("cpus", "kernel")}, "differ (cpus, kernel)", "runs of one machine"),
    "one-sided": (("go",), {}, "go: in only one of the runs", "nothing needs to be done"),
}


@pytest.mark.parametrize("code", diagnostics.CODES)
def test_texts(code: str) -> None:
    subjects, values, *parts = CASES[code]
    words = diagnostics.words(Diagnostic(code, subjects, values))
    for part, of in zip(parts, words, strict=True):
        assert part in of
        assert not of.endswith(".")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"io_pressure": 0.194}, "I/O pressure (PSI): 19 % of the time."),
        ({"steal": 0.1}, "the hypervisor took 10 % of the CPUs' time (steal)."),
    ],
)
def test_only_observed_noise_is_named(values: dict[str, float], text: str) -> None:
    assert diagnostics.words(Diagnostic("noisy-neighbour", values=values))[0].startswith(text)


def test_a_text_of_its_own_is_used_as_it_is() -> None:
    own = Diagnostic("short-run", ("a",), {"x": 1}, "the {run} was short.", "take --duration 10s.")
    assert diagnostics.words(own) == ("the {run} was short", "take --duration 10s")
    assert diagnostics.sentences(own) == "The {run} was short. Take --duration 10s."


def test_hostile_values_are_no_templates() -> None:
    text, _ = diagnostics.words(Diagnostic("slow-end", ("{x}", "{0}")))
    assert text == "{x}, {0}: still ran 2 s after SIGTERM"


def test_rows_of_documents() -> None:
    assert diagnostics.rows([Diagnostic("one-sided", ("go",))]) == [
        {"code": "one-sided", "text": "go: in only one of the runs", "remedy": "nothing needs to be done"}
    ]
