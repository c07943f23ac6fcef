"""The texts of all diagnostics. When they are raised is tested beside `analysis.diagnostics`."""

from __future__ import annotations

from typing import Any

import pytest

from ringside.model.results import Diagnostic
from ringside.render import diagnostics

# By code: subjects, values, text, remedy.
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any], str, str]] = {
    "too-few-blocks": (
        (),
        {"blocks": 2, "needed": 9},
        "too few blocks for intervals and verdicts (2 of 6)",
        "run it with --blocks 9",
    ),
    "unfinished": (
        (),
        {"run": "run-5"},
        "the run was interrupted: its figures come from the blocks measured before that",
        "continue it with `ringside run --resume run-5`",
    ),
    "faster-than-floor": (
        ("perl", "go", "c"),
        {"floor": "limit", "times": {"perl": 5712.3, "go": 1.2, "c": 10.04}},
        "perl (5,710×), go (1.2×), c (10×): faster than limit, by more than the interval allows. limit is "
        "written to be the floor: the program may not do all of the work, or limit can be better",
        "read its source before you trust its figures",
    ),
    "below-a-cycle": (
        ("perl",),
        {"amounts": {"perl": 0.01}, "noun": "time per hop"},
        "perl (0.01 ns): a time per hop below one cycle of a CPU (0.2 ns): the program cannot have done the "
        "work",
        "read its source before you trust its figures",
    ),
    "too-little-memory": (
        ("perl",),
        {"memory": {"perl": 0.5}},
        "perl (0.5 B): less memory for each unit than a unit can take (a page for a thread or a process, 8 "
        "bytes inside one): the program may have no such units",
        "read its source before you trust its figures",
    ),
    "answered-unasked": (
        ("perl",),
        {"counts": {"perl": 1200}},
        "perl (1,200): answers before they were asked, or sooner than a reply can come",
        "read its source before you trust its figures",
    ),
    "failed-blocks": (
        ("go / erlang",),
        {},
        "go / erlang: more than 10 % of the blocks failed, so there is no verdict: the blocks that are left "
        "may be those in which the failing one was fast",
        "find out why trials failed; the table of failures has the reasons",
    ),
    "same-values": (
        ("a / b", "c / b", "d / b", "e / b", "f / b"),
        {},
        "a / b, c / b, d / b and 2 more: the same value in every block, so there is no verdict: a clock or a "
        "counter is too coarse",
        "let each trial do more work",
    ),
    "no-steady-state": (
        ("go / erlang", "pony / erlang"),
        {},
        "go / erlang, pony / erlang: repeats in one process reach no steady state, so there is no verdict; "
        "figures are medians of the later half",
        "use more repeats, or compare the first ones",
    ),
    "carry-over": (
        ("go", "erlang"),
        {"effects": {"go": 0.0312, "erlang": -0.015}},
        "the trial after go has 3.1% more, erlang has 1.5% less: contenders influence those that run after "
        "them, and ratios of two contenders may be wrong by up to as much",
        "look for what outlives a trial: dirty pages, caches, clock frequency; longer trials reduce it",
    ),
    "noisy-neighbour": (
        (),
        {"steal": 0.031, "others": 0.12, "memory_pressure": 0.28, "io_pressure": 0.194},
        "the hypervisor took 3 % of the CPUs' time (steal); other programs used 12 % of the contenders' "
        "CPUs; memory pressure (PSI): 28 % of the time; I/O pressure (PSI): 19 % of the time. Intervals are "
        "wider and absolute times longer than on a quiet machine",
        "stop other programs, or use a dedicated machine; `ringside doctor` shows how quiet it is",
    ),
    "drift": (
        (),
        {"share": 0.2},
        "the machine's speed changed: a reference computation took up to 20 % longer in some blocks than in "
        "others; paired ratios are robust to this, medians are not",
        "trust the ratios; fix the clock frequency, or wait until the machine is quiet",
    ),
    "bimodal": (
        ("a", "b", "c", "d", "e"),
        {"ratios": {"a": 1.351, "b": 1.2, "c": 2.0, "d": 1.1, "e": 1.5}},
        "a (1.35× apart), b (1.20× apart), c (2.00× apart) and 2 more: the values have two modes, and the "
        "median may be near neither",
        "look at the single trials; a frequent cause is where the scheduler places threads: compare with one "
        "CPU",
    ),
    "generator-bound": (
        ("go", "limit"),
        {},
        "go, limit: the load engine was the bottleneck, so the server may be faster than shown",
        "leave the engine a CPU of its own, or read these figures as lower bounds",
    ),
    "two-sided": (
        (),
        {"engines": 2, "within_ns": 800_000},
        "the load came from 2 engines on other machines, which started within 800 µs of each other: "
        "latencies have the network's round trip, and kernel memory is that of the server's end",
        "compare these figures only with others whose load came over the same network",
    ),
    "cores-shared": (
        (),
        {},
        "some contenders used all CPUs, so the probe shared them",
        "leave the probe a CPU: set cores below the machine's number of CPUs",
    ),
    "memory-cap-near": (
        ("go",),
        {"share": 0.8},
        "go: used more than 80 % of a trial's memory limit",
        "raise `memory_bytes` in the experiment's [limits], or choose smaller levels",
    ),
    "left-behind": (
        ("go",),
        {},
        "go: processes still ran after the program had ended, and were killed",
        "make the program wait for the processes that it starts",
    ),
    "left-files": (
        ("go", "tbb"),
        {"counts": {"go": 1200, "tbb": 1}},
        "go (1,200), tbb (1): files left in TMPDIR or in shared memory, which were removed",
        "make the program remove the files that it makes, also when it gets SIGTERM",
    ),
    "uncounted-memory": (
        ("go",),
        {"sizes": {"go": 104857600}},
        "go (100 MiB): memory in files that no process had mapped (memfd, shared memory): it is in no figure",
        "do not compare its memory with that of others",
    ),
    "interference": (
        ("go (SIGTERM to the probe from process 7 of the trial)",),
        {},
        "a program acted on the probe, or on files of another, instead of its work: go (SIGTERM to the probe "
        "from process 7 of the trial)",
        "read its source before you trust its figures; with --sandbox it can reach neither",
    ),
    "slow-end": (
        ("erlang",),
        {},
        "erlang: still ran 2 s after SIGTERM",
        "end at once on SIGTERM, even with open connections; the figures do not depend on it",
    ),
    "accounting": (
        (),
        {"missing": ("cgroup: not writable", "PSI")},
        "not available here: cgroup: not writable, PSI",
        "nothing needs to be done: sampling of /proc replaces it",
    ),
    "no-reference": (
        (),
        {},
        "one of the runs has no reference computation, so the change of the machine's speed between them is "
        "unknown: there are no verdicts",
        "measure both again, best as one experiment with both contenders",
    ),
    "no-memory-reference": (
        (),
        {},
        "one of the runs has no memory-bound reference computation: a program that waits for memory may "
        "have changed with the machine by more than intervals allow for",
        "measure both again",
    ),
    "other-machine": (
        (),
        {"facts": ("cpu_model", "kernel")},
        "the machines or kernels differ (cpu_model, kernel), so the ratios compare them as well",
        "compare runs of one machine",
    ),
    "one-sided": (("go",), {}, "go: in only one of the runs", "nothing needs to be done"),
}


def test_every_code_has_a_case() -> None:
    assert set(CASES) == set(diagnostics.CODES)


@pytest.mark.parametrize("code", CASES)
def test_texts(code: str) -> None:
    subjects, values, text, remedy = CASES[code]
    assert diagnostics.words(Diagnostic(code, subjects, values)) == (text, remedy)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"io_pressure": 0.194}, "I/O pressure (PSI): 19 % of the time."),
        ({"steal": 0.1}, "the hypervisor took 10 % of the CPUs' time (steal)."),
    ],
)
def test_only_observed_noise_is_named(values: dict[str, float], text: str) -> None:
    assert diagnostics.words(Diagnostic("noisy-neighbour", values=values))[0].startswith(text)


def test_few_bimodal_contenders_are_all_named() -> None:
    text, _ = diagnostics.words(Diagnostic("bimodal", values={"ratios": {"a": 1.3, "b": 1.2, "c": 1.1}}))
    assert text.startswith("a (1.30× apart), b (1.20× apart), c (1.10× apart): ")


def test_a_text_of_its_own_is_used_as_it_is() -> None:
    own = Diagnostic("short-run", ("a",), {"x": 1}, "the {run} was short.", "take --duration 10s.")
    assert diagnostics.words(own) == ("the {run} was short", "take --duration 10s")
    assert diagnostics.sentences(own) == "The {run} was short. Take --duration 10s."


def test_a_diagnostic_without_a_remedy_is_one_sentence() -> None:
    assert diagnostics.sentences(Diagnostic("load-failed", text="it failed")) == "It failed."


def test_hostile_values_are_no_templates() -> None:
    text, _ = diagnostics.words(Diagnostic("slow-end", ("{x}", "{0}")))
    assert text == "{x}, {0}: still ran 2 s after SIGTERM"


def test_rows_of_documents() -> None:
    assert diagnostics.rows([Diagnostic("one-sided", ("go",))]) == [
        {"code": "one-sided", "text": "go: in only one of the runs", "remedy": "nothing needs to be done"}
    ]
