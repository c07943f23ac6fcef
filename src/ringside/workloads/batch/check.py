"""Tests the rules of `batch` that only it has."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import Subject
from ringside.workloads.batch.workload import MAX, MIN

# The good input, and what may be wrong with one. Each is a text that the good one has, and what takes its
# place.
_GOOD_INPUT = "3\n2\n1 2\n3 4\n1\n5\n6\n2\n7 8\n9 10\n"
_BROKEN_INPUTS: Sequence[tuple[str, str, str]] = (
    ("cut off between two cases", "1\n5\n6\n2\n7 8\n9 10\n", ""),
    ("a letter for a number", "8", "x"),
    ("a case more than declared", "3\n2", "2\n2"),
    ("cut off in a number", "10\n", "1"),
    ("a case fewer than declared", "3\n2", "4\n2"),
    ("a number too few", "7 8\n", "7\n"),
    ("a number too many", "7 8\n", "7 8 9\n"),
    ("a negative size", "1\n5", "-1\n5"),
    ("a number out of range", "8", "100001"),
    ("a number beyond 64 bits", "8", "9223372036854775808"),
    ("a count beyond 64 bits", "3\n2", "9" * 30 + "\n2"),
    ("a large size", "1\n5", "1000000\n5"),
    ("a fraction", "8", "8.5"),
    ("cut off after a vector", "9 10\n", ""),
    ("letters for a size", "1\n5", "one\n5"),
    ("a negative count", "3\n2", "-3\n2"),
    ("a number far beyond 64 bits", "8", "-" + "9" * 6000),
    ("a large count", "3\n2", "999999999999\n2"),
    ("a zero byte", "8", "8\0"),
    ("bytes that are no text", "8", "\xff"),
    ("empty", _GOOD_INPUT, ""),
)


def _broken_input(subject: Subject) -> None:
    path = subject.folder / "input.txt"
    for what, old, new in _BROKEN_INPUTS[: 3 if subject.quick else None]:
        text = _GOOD_INPUT.replace(old, new, 1)
        path.write_text(text, encoding="latin-1")
        done = subject.run(f"input={path}", "cores=1")
        if not done.is_refusal:
            escaped = text.replace("\n", "\\n")
            line = subject.by_hand("input=/dev/stdin", "cores=1", before=f"printf '{escaped}' | ")
            subject.report(
                "batch-input", f"status 2 and one line on stderr for an input with {what}", done, line
            )
            return


def _sizes_in_one_input(subject: Subject) -> None:
    """Cases of all sizes in one input, with equal values and those at the ends of the range."""
    random = Random(7)
    cases = [
        *(
            [[random.randint(MIN, MAX) for _ in range(size)] for _ in range(2)]
            for size in (0, 1, 0, *range(2, 40), 5000, 3)
        ),
        *([[7] * 30, [-7] * 30], [[0] * 5, [0] * 5], [[MIN, MAX] * 10] * 2, [[MIN] * 9, [MAX] * 9]),
        [[random.randint(-2, 2) for _ in range(200)] for _ in range(2)],
    ]
    lines = [str(len(cases))]
    for first, second in cases:
        lines += [str(len(first)), " ".join(map(str, first)), " ".join(map(str, second))]
    path = subject.folder / "sizes.txt"
    path.write_text("\n".join(lines) + "\n")
    done = subject.run(f"input={path}", "cores=2")
    came = [line for line in done.stdout.decode(errors="replace").splitlines() if not line.startswith("::")]
    expected = [f"Case #{number}: {_smallest(*case)}" for number, case in enumerate(cases, start=1)]
    if came != expected:
        wrong = next((at for at, line in enumerate(expected) if came[at : at + 1] != [line]), len(expected))
        wanted = expected[wrong] if wrong < len(expected) else "no more lines"
        shown = came[wrong][:100] if wrong < len(came) else str(done)
        subject.report("evidence", wanted, shown, subject.by_hand(f"input={path}", "cores=2"))


def _smallest(first: list[int], second: list[int]) -> int:
    return sum(a * b for a, b in zip(sorted(first), sorted(second, reverse=True), strict=True))


CHECKS: RuleTests = (_broken_input, _sizes_in_one_input)
