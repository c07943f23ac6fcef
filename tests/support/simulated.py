"""Runs whose times are drawn: they take the looks of real ones, and cells leave them as they do there."""

import math
import random
import re
from collections.abc import Callable, Sequence

from ringside.analysis.run import RunAnalysis
from ringside.measure.runs.loop import BlockProgress, blocks, rule_of
from ringside.model.design import Point
from ringside.model.results import Trial, Verdict
from ringside.render.text.answers import answers
from ringside.store.plans import read_plan
from tests.support.analyses import HOP, Exact, analyse, ok, planned

HERE = Point(())


def simulated(
    times: Sequence[float], most: int, seed: int, draw: Callable[[random.Random], float]
) -> RunAnalysis:
    """The analysis of a run of up to so many blocks, of contenders that take these times, the first of which
    is the baseline. `draw`: the noise of a trial, as a logarithm."""
    names = [f"c{number:02}" for number in range(len(times))]
    dice, run = random.Random(seed), planned(names, (HERE,), blocks=most, until_decided=True)
    experiment = read_plan(run).experiment
    progress = BlockProgress(rule_of(experiment), experiment, Exact(), (HERE,))
    trials: list[Trial] = []
    for block, cells in enumerate(blocks((HERE,), names, most, seed), 1):
        needed = [cell.contender for cell in cells if progress.is_needed(cell)]
        values = {name: 1e3 * math.exp(draw(dice)) for name in needed}
        made = [
            ok(block, name, HERE, hop_ns=value * times[names.index(name)]) for name, value in values.items()
        ]
        trials += made
        progress.add_block(made)
        if progress.is_reached:
            break
    return analyse(run, trials, Exact())


def contradictions(of: RunAnalysis) -> list[str]:
    """Contradictions between the answer of such a run and its table, and how it ended."""
    text, table = answers(of)[0].text, of.comparisons[HOP.name, HERE]
    ranks, baseline = of.rankings[HOP.name, HERE].ranks, of.experiment.baseline
    head = re.split(r" is fastest|: time per hop|; c\d\d has the|, equal within", text)[0]
    # Names beyond three are a number.
    said = set(of.conclusion.here.first if " other" in head else re.findall(r"\bc\d\d\b", head))
    is_open = text.startswith("Too close to call")
    is_alone = " is fastest" in text
    verdicts = {name: table[name, baseline].verdict for name in of.names if name != baseline}
    wrong = [
        f"{name} has the rank {ranks[name]}" for name in of.names if (ranks[name][0] == 1) != (name in said)
    ]
    if not is_open and not is_alone and "share the first place" not in text and "No verdict" not in text:
        wrong.append("it says nothing of the first place")
    if is_open and of.blocks_done < of.experiment.blocks:
        wrong.append("the run ended before its time")
    if baseline in said:
        expected = {Verdict.INCONCLUSIVE, Verdict.EQUIVALENT} if is_open else {Verdict.EQUIVALENT}
        wrong += [f"{one} is {verdicts[one]}" for one in said - {baseline} if verdicts[one] not in expected]
        wrong += [f"{name} is faster" for name in verdicts if verdicts[name] is Verdict.FASTER]
        others = [name for name in verdicts if name not in said]
        if is_alone:
            wrong += [f"{one} is {verdicts[one]}" for one in others if verdicts[one] is not Verdict.SLOWER]
    elif all(verdicts[name] is not Verdict.FASTER for name in said):
        wrong.append("none of the first is faster than the baseline")
    return [f"{each}: {text}" for each in wrong]
