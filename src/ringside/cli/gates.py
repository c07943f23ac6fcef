"""`--fail-if` of `compare` and `vs`: which verdicts make the exit status 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.cli import EXIT_FAILED, streams
from ringside.model.design import Metric
from ringside.model.results import Interval, Obstacle, Verdict
from ringside.render.text.words import verdict_word

_UNDECIDABLE = (Obstacle.NO_REFERENCE, Obstacle.TOO_FEW_BLOCKS, Obstacle.UNFINISHED)


@dataclass(frozen=True, slots=True)
class RatioVerdict:
    """A ratio with its verdict; `subject`: of what, as a line on stderr begins."""

    subject: str
    metric: Metric
    ratio: Interval
    verdict: Verdict
    obstacle: Obstacle | None

    @property
    def worse_by(self) -> float:
        """The share by which it is worse; below 0 where it is better."""
        return (self.ratio.estimate if self.metric.smaller_is_better else 1 / self.ratio.estimate) - 1


def status(gates: Sequence[tuple[str, float]], ratios: Sequence[RatioVerdict]) -> int:
    """The exit status; a line on stderr for each ratio with the verdict of a gate, and as large a difference.
    Without any verdict nothing passes."""
    if gates and all(each.obstacle in _UNDECIDABLE for each in ratios):
        streams.say("--fail-if cannot decide: there are no verdicts")
        return EXIT_FAILED
    status = 0
    for verdict, share in gates:
        for each in ratios:
            if each.verdict is not Verdict(verdict) or abs(each.worse_by) < share:
                continue
            status = EXIT_FAILED
            word = verdict_word(each.verdict, each.metric)
            allowed = f"; --fail-if allows {share * 100:.3g} %" if share else ""
            # Half as many requests are 100 % worse, as twice the time is: the gate is for that figure.
            by = "" if each.metric.smaller_is_better else f", {each.worse_by * 100:.1f} % worse"
            change = f"{each.ratio.estimate - 1:+.1%}{by}"
            streams.say(f"{each.subject}: {each.metric.title} is {word} ({change}){allowed}")
    return status
