"""`--fail-if` of comparisons: which verdicts make the exit status 1."""

import itertools
import math
from collections.abc import Iterator, Sequence

from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import CellChange
from ringside.cli import EXIT_FAILED, streams
from ringside.model.design import Metric
from ringside.model.results import Comparison, Obstacle, Verdict
from ringside.render.text.command import is_load
from ringside.render.text.paired import over_first
from ringside.render.text.words import listed, undecided, verdict_text
from ringside.stats.sequential import FIRST_LOOK
from ringside.text import one_line

_TOO_FEW = (Obstacle.TOO_FEW_BLOCKS, Obstacle.TOO_FEW_REQUESTS)
_UNDECIDABLE = (Obstacle.NO_REFERENCE, Obstacle.UNFINISHED, *_TOO_FEW)
# How a line begins, the metric, and the ratio with its verdict.
Judged = tuple[str, Metric, Comparison | CellChange]


def judged(analysis: RunAnalysis) -> Iterator[Judged]:
    """The judged comparisons: each pair at each point; of a command alone, each point over the first."""
    metrics = analysis.metrics if is_load(analysis) else (analysis.headline,)
    for metric, point, pair in itertools.product(metrics, analysis.points, analysis.pairs):
        where = f" at {analysis.label(point)}" if point.levels else ""
        if comparison := analysis.comparison(metric, *pair, point):
            yield one_line(f"{' over '.join(pair)}{where}"), metric, comparison
    for comparison in over_first(analysis).values():
        yield f"{comparison.contender} over {comparison.baseline}", analysis.headline, comparison


def status(gates: Sequence[tuple[str, float]], judged: Sequence[Judged]) -> int:
    """The exit status. Prints a line on stderr for each ratio that a gate stops, and for undecided ones that
    may reach its size. Without any verdict, a gate fails."""
    if gates and all(ratio.obstacle in _UNDECIDABLE for _, _, ratio in judged):
        short = [ratio for _, _, ratio in judged if ratio.obstacle in _TOO_FEW]
        of_vs = ", of vs with --until end --time 20s" if short and isinstance(short[0], CellChange) else ""
        remedy = f"; make {FIRST_LOOK} blocks or more{of_vs}" if short else ""
        streams.say(f"--fail-if cannot decide: there are no verdicts{remedy}")
        return EXIT_FAILED
    status, passed = 0, []
    for verdict, share in gates:
        for subject, metric, judgement in judged:
            ratio = judgement.ratio if metric.smaller_is_better else judgement.ratio.inverse
            reach = (ratio.high or math.inf) - 1 if verdict == Verdict.SLOWER else 1 - (ratio.low or 0)
            if judgement.verdict is Verdict.INCONCLUSIVE and reach >= share:
                passed.append(f"{subject} in {metric.noun} ({undecided(judgement)})")
            estimate, worse_by = judgement.ratio.estimate, ratio.estimate - 1
            if judgement.verdict is not Verdict(verdict) or abs(worse_by) < share:
                continue
            status = EXIT_FAILED
            word = verdict_text(judgement, metric)
            allowed = f"; --fail-if allows {share * 100:.3g} %" if share else ""
            # Half as many requests are 100 % worse, as twice the time is: the gate is for that figure.
            by = "" if metric.smaller_is_better else f", {worse_by * 100:.1f} % worse"
            streams.say(f"{subject}: {word} in {metric.noun} ({estimate - 1:+.1%}{by}){allowed}")
    if passed and not status:
        names = listed(list(dict.fromkeys(passed)))
        streams.say(f"--fail-if passed {names}: add --fail-if inconclusive to fail instead")
    return status
