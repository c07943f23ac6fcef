"""What each diagnostic says, and what to do about it (docs/METHODOLOGY.md has the codes)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ringside.analysis.cells import MAX_FAILED_SHARE
from ringside.analysis.examination import BLOCKS_FOR_VERDICT
from ringside.analysis.plausibility import POINTER_BYTES
from ringside.model.results import Diagnostic
from ringside.render.text.command import with_store
from ringside.text import capitalised
from ringside.units import count, percent, quantity, significant
from ringside.workloads.phases import CYCLE_NS

# More contenders than this are counted, not named.
_MAX_NAMED = 3
# Text and remedy by code. Fields are the values of the diagnostic, its subjects, and what `_fields` adds.
_TEMPLATES: Mapping[str, tuple[str, str]] = {
    "too-few-blocks": (
        "too few blocks for intervals and verdicts ({blocks} of {least})",
        "run it with {option} {needed}",
    ),
    "unfinished": (
        "the run is not finished: it stopped after {done} of {planned} blocks, when its time was over or it "
        "was interrupted; verdicts need {least}",
        "continue it with `{resume}`",
    ),
    "failed-blocks": (
        "{pairs}: more than {most_failed} of the blocks failed, so there is no verdict: the blocks that are "
        "left may be those in which the failing one was fast",
        "find out why trials failed; the table of failures has the reasons",
    ),
    "same-values": (
        "{pairs}: the same value in every block, so there is no verdict: a clock or a counter is too coarse",
        "let each trial do more work",
    ),
    "no-steady-state": (
        "{pairs}: repeats in one process reach no steady state, so there is no verdict; figures are medians "
        "of the last third",
        "use more repeats, or compare the first ones",
    ),
    "warming-up": (
        "{pairs}: one of the two still got faster when its repeats ended, so there is no verdict; its figure "
        "is the median of their last third",
        "use more repeats, or compare the first ones",
    ),
    "carry-over": (
        "the trial after {effects}: contenders influence those that run after them; a difference that this "
        "may explain has no verdict",
        "look for what outlives a trial: dirty pages, caches, clock frequency; longer trials reduce it",
    ),
    "noisy-neighbour": (
        "{reasons}: ratios hold for a machine as busy as this{parallel}",
        "stop other programs, also what hooks left; `ringside doctor --machine` shows how quiet it is",
    ),
    "drift": (
        "the machine's speed changed: a reference computation took {share} longer in the slowest tenth of "
        "blocks than in the fastest: medians are of no one speed",
        "fix the clock frequency, or wait until the machine is quiet",
    ),
    "bimodal": (
        "{ratios}: the values have two modes, and the median may be near neither",
        "look at the single trials: caches, and where the scheduler places threads, are frequent causes",
    ),
    "generator-bound": (
        "{subjects}: the load engine was the bottleneck, so the server may be faster than shown",
        "leave the engine a CPU of its own, or read these figures as lower bounds",
    ),
    "two-sided": (
        "the load came from {engines} on other machines, which started within {within} of each other: "
        "latencies have the network's round trip, and kernel memory is that of the server's end",
        "compare these figures only with others whose load came over the same network",
    ),
    "cores-shared": (
        "some contenders used all CPUs, so the probe shared them",
        "leave the probe a CPU: set cores below the machine's number of CPUs",
    ),
    "memory-cap-near": (
        "{subjects}: used more than {share} of a trial's memory limit",
        "raise `memory_bytes` in the experiment's [limits], or choose smaller levels",
    ),
    "uncounted-memory": (
        "{sizes}: memory in files that no process had mapped (memfd, shared memory): it is in no figure",
        "do not compare its memory with that of others",
    ),
    "faster-than-floor": (
        "{times}: faster than {floor}, by more than the interval allows. {floor} is written to be the floor: "
        "the program may not do all of the work, or {floor} can be better",
        "read its source before you trust its figures",
    ),
    "beyond-floor": (
        "{times}: better than {floor} in the {noun}, by more than the interval allows: {reason}",
        "do not read multiples of {floor} as distances from the least possible here",
    ),
    "below-a-cycle": (
        "{amounts}: a {noun} below one cycle of a CPU ({cycle} ns): the program cannot have done the work",
        "read its source before you trust its figures",
    ),
    "too-little-memory": (
        "{memory}: less memory for each unit than a unit can take (a page for a thread or a process, "
        "{pointer} bytes inside one): the program may have no such units",
        "read its source before you trust its figures",
    ),
    "answered-unasked": (
        "{counts}: answers before they were asked, or sooner than a reply can come",
        "read its source before you trust its figures",
    ),
    "left-behind": (
        "{subjects}: processes still ran after the program had ended, and were killed where they did not end "
        "soon: what they did is not in the time",
        "make the program wait for the processes that it starts",
    ),
    "left-files": (
        "{counts}: files left in TMPDIR or in shared memory, which were removed",
        "make the program remove the files that it makes, also when it gets SIGTERM",
    ),
    "interference": (
        "a program acted on the probe, or on files of another, instead of its work: {subjects}",
        "read its source before you trust its figures; with --sandbox it can reach neither",
    ),
    "accounting": (
        "not as usual here: {missing}",
        "compare with runs in which it was the same only",
    ),
    "one-session": (
        "{pairs}: this run measured one build and one boot; others of the same programs differ by about 1 % "
        "(a standard deviation), so the difference may be theirs",
        "make more runs, with the programs built anew, and see whether it stays",
    ),
    "single-runs": (
        "with one run a side differences between runs cannot be seen: intervals take them to be {share} (a "
        "standard deviation), so that no change below {claimed} is claimed",
        "make more runs, and name several a side, as A1,A2,A3 B1,B2,B3",
    ),
    "no-reference": (
        "one of the runs has no reference computation, so the change of the machine's speed between them is "
        "unknown: there are no verdicts",
        "measure both again, best as one experiment with both contenders",
    ),
    "no-memory-reference": (
        "one of the runs has no memory-bound reference computation: a program that waits for memory may have "
        "changed with the machine by more than intervals allow for",
        "measure both again",
    ),
    "other-machine": (
        "the machines or kernels differ ({facts}), so the ratios compare them as well",
        "compare runs of one machine",
    ),
    "one-sided": ("{subjects}: in only one of the runs", "nothing needs to be done"),
}
CODES = tuple(_TEMPLATES)
NOISE = {
    "steal": "the hypervisor took {} of the CPUs' time (steal)",
    "others": "other programs used {} of the contenders' CPUs",
    "memory_pressure": "memory pressure (PSI): {} of the time",
    "io_pressure": "I/O pressure (PSI): {} of the time",
}


def words(diagnostic: Diagnostic) -> tuple[str, str]:
    """The text and the remedy of a diagnostic, without their last full stops: its own, or those of its code.
    Raises KeyError for an unknown code without a text."""
    text, remedy = diagnostic.text, diagnostic.remedy
    if not text:
        fields = _fields(diagnostic)
        text, remedy = (template.format(**fields) for template in _TEMPLATES[diagnostic.code])
    return text.strip().rstrip("."), remedy.strip().rstrip(".")


def sentences(diagnostic: Diagnostic) -> str:
    """Text and remedy as sentences."""
    return " ".join(f"{_capital(part, diagnostic)}." for part in words(diagnostic) if part)


def rows(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    """Diagnostics as they stand in every JSON document."""
    return [
        dict(zip(("code", "text", "remedy"), (each.code, *words(each)), strict=True)) for each in diagnostics
    ]


def for_pages(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    """Diagnostics as they stand in pages: the text as a sentence without its full stop."""
    return [row | {"text": _capital(row["text"], each)} for each in diagnostics for row in rows([each])]


def _capital(text: str, diagnostic: Diagnostic) -> str:
    """A text as the beginning of a sentence; names stay as they are written."""
    is_name = any(text.startswith(name) for name in diagnostic.subjects if name)
    return text if is_name else capitalised(text)


def _fields(diagnostic: Diagnostic) -> dict[str, str]:
    """The values as texts: shares as percentages, several names in a row."""
    fields = {name: _text(value) for name, value in diagnostic.values.items()}
    by_contender = {
        field: _named([write(name, value) for name, value in diagnostic.values.get(field, {}).items()])
        for field, write in _BY_CONTENDER.items()
    }
    return {
        **fields,
        **by_contender,
        "subjects": ", ".join(diagnostic.subjects),
        "pairs": _named(diagnostic.subjects),
        "resume": with_store("run", "--resume", fields.get("run", "")),
        "reasons": "; ".join(text.format(fields[name]) for name, text in NOISE.items() if name in fields),
        "engines": count(diagnostic.values.get("engines", 0), "engine"),
        "within": quantity(diagnostic.values.get("within_ns", 0), "ns"),
        "least": str(BLOCKS_FOR_VERDICT),
        "cycle": f"{CYCLE_NS:g}",
        "pointer": str(POINTER_BYTES),
        "parallel": f", and {', '.join(names)} used several CPUs, so lost most"
        if (names := diagnostic.subjects)
        else "",
        "most_failed": percent(MAX_FAILED_SHARE),
    }


def _text(value: object) -> str:
    if isinstance(value, float):
        return percent(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _plain(value: float, digits: int = 3) -> str:
    """A number without an exponent, and without zeros at its end."""
    return f"{value:.{digits}g}" if 1e-4 <= value < 10**digits - 0.5 else significant(value, digits)


# Of values that each contender has its own of, how a contender stands in the text.
_BY_CONTENDER: Mapping[str, Callable[[str, float], str]] = {
    "times": lambda name, times: f"{name} ({_plain(times)}×)",
    "amounts": lambda name, ns: f"{name} ({_plain(ns, 2)} ns)",
    "memory": lambda name, size: f"{name} ({_plain(size)} B)",
    "counts": lambda name, number: f"{name} ({number:,})",
    "sizes": lambda name, size: f"{name} ({quantity(size, 'B')})",
    "ratios": lambda name, ratio: f"{name} ({ratio:.2f}× apart)",
    "effects": lambda name, share: f"{name} has {abs(share):.1%} {'more' if share > 0 else 'less'}",
}


def _named(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return ", ".join(texts[:_MAX_NAMED]) + more
