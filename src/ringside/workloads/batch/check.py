"""Tests the rules of `batch` that only it has."""

from random import Random

from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import Subject
from ringside.files import tables_beside
from ringside.workloads.batch.workload import MAX, MIN

_INPUTS = tables_beside(__file__, "inputs.toml")


def _broken_input(subject: Subject) -> None:
    path = subject.folder / "input.txt"
    for what, old, new in _INPUTS["broken"][: 3 if subject.quick else None]:
        # Far more digits than fit into a number.
        text = _INPUTS["good"].replace(old, new.format(nines="9" * 6000), 1)
        path.write_text(text, encoding="latin-1")
        done = subject.run(f"input={path}", "cores=1")
        if not done.is_refusal:
            escaped = text.replace("\n", "\\n")
            line = subject.by_hand("input=/dev/stdin", "cores=1", before=f"printf '{escaped}' | ")
            expected = f"status 2 and one line on stderr for an input with {what}"
            subject.report("batch-input", expected, done, line)
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
    pairs = (zip(sorted(first), sorted(second, reverse=True), strict=True) for first, second in cases)
    smallest = (sum(a * b for a, b in pair) for pair in pairs)
    expected = [f"Case #{number}: {product}" for number, product in enumerate(smallest, start=1)]
    if came != expected:
        wrong = next((at for at, line in enumerate(expected) if came[at : at + 1] != [line]), len(expected))
        wanted = expected[wrong] if wrong < len(expected) else "no more lines"
        shown = came[wrong][:100] if wrong < len(came) else str(done)
        subject.report("evidence", wanted, shown, subject.by_hand(f"input={path}", "cores=2"))


CHECKS: RuleTests = (_broken_input, _sizes_in_one_input)
