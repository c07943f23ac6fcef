"""`--fail-if` of `compare` and `vs`: which verdicts make the exit status 1."""

from __future__ import annotations

from collections.abc import Sequence

from ringside.analysis.run_diff import CellChange
from ringside.cli import EXIT_FAILED, streams
from ringside.model.design import Metric
from ringside.model.results import Comparison, Obstacle, Verdict
from ringside.render.text.words import verdict_word

_UNDECIDABLE = (Obstacle.NO_REFERENCE, Obstacle.TOO_FEW_BLOCKS, Obstacle.UNFINISHED)


def status(
    gates: Sequence[tuple[str, float]], judged: Sequence[tuple[str, Metric, Comparison | CellChange]]
) -> int:
    """The exit status; a line on stderr for each ratio with the verdict of a gate, and as large a difference.
    `judged`: how the line begins, the metric, and the ratio with its verdict. Without any verdict nothing
    passes."""
    if gates and all(ratio.obstacle in _UNDECIDABLE for _, _, ratio in judged):
        streams.say("--fail-if cannot decide: there are no verdicts")
        return EXIT_FAILED
    status = 0
    for verdict, share in gates:
        for subject, metric, judgement in judged:
            estimate = judgement.ratio.estimate
            worse_by = (estimate if metric.smaller_is_better else 1 / estimate) - 1
            if judgement.verdict is not Verdict(verdict) or abs(worse_by) < share:
                continue
            status = EXIT_FAILED
            word = verdict_word(judgement.verdict, metric)
            allowed = f"; --fail-if allows {share * 100:.3g} %" if share else ""
            # Half as many requests are 100 % worse, as twice the time is: the gate is for that figure.
            by = "" if metric.smaller_is_better else f", {worse_by * 100:.1f} % worse"
            streams.say(f"{subject}: {metric.title} is {word} ({estimate - 1:+.1%}{by}){allowed}")
    return status
