"""`ringside load --vs`: two targets under the same load in turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringside.cli import EXIT_FAILED, EXIT_INTERRUPTED, streams
from ringside.cli.load_options import LoadArguments
from ringside.model.design import DEFAULT_MARGIN
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.analysis.run import RunAnalysis
    from ringside.load.live import Screen
    from ringside.load.target import Target
    from ringside.probe.protocol import EngineMessage, LoadPlan

_BLOCKS = 10


def compare(
    targets: Mapping[str, Target],
    addresses: Mapping[str, list[str]],
    plans: Mapping[str, LoadPlan],
    seed: int,
    arguments: LoadArguments,
) -> int:
    """Carry out and show the comparison of the targets A and B. Returns the exit status."""
    from ringside.analysis.run import analysis_of
    from ringside.cli import context, load_from
    from ringside.load import versus
    from ringside.load.live import Screen, progress_interval_s
    from ringside.render import paired
    from ringside.store.plans import read_plan

    plan, blocks = plans["A"], arguments.blocks or _BLOCKS
    margin = DEFAULT_MARGIN if arguments.margin is None else arguments.margin
    storage = context.open_store(arguments.store, anywhere=True)
    interrupted = False
    everywhere = [address for each in addresses.values() for address in each]
    with load_from.driver(arguments, everywhere) as driver:
        engines = load_from.machines(driver)
        run = versus.begin(targets, plan, blocks, margin, seed, storage, engines)
        experiment = read_plan(run).experiment
        with Screen(context.talk(), wanted=load_from.is_watched(arguments)) as screen:
            progress_s = progress_interval_s(versus.part(plan, blocks, 0)) if screen.is_shown else None
            whole = {
                name: versus.with_addresses(plans[name], addresses[name], progress_s) for name in targets
            }
            observer = _Turns(screen, targets, blocks)
            try:
                versus.conduct(run, experiment, whole, storage, driver, observer)
            except KeyboardInterrupt:
                # What was measured until then is shown.
                interrupted = True
    analysis = analysis_of(storage, storage.run(run.id), for_plots=False)
    with streams.output():
        if arguments.form == "json":
            duration_s = versus.part(plan, blocks, 0).duration_s
            facts: dict[str, Any] = {
                "blocks": blocks,
                "margin": margin,
                "seed": seed,
                "duration_s": duration_s,
            }
            if engines:
                within_ms = versus.started_within_ns(analysis) / 1e6
                facts |= {"engines": list(engines), "engines_started_within_ms": within_ms}
            loads = versus.documents(analysis, targets, plan)
            print(json.dumps(paired.load_document(analysis, facts, loads), indent=2))
        else:
            paired.show(analysis, _how(analysis, targets, plans, list(engines)), context.out())
    if interrupted:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    return 0 if analysis.is_complete else EXIT_FAILED


def _how(
    analysis: RunAnalysis,
    targets: Mapping[str, Target],
    plans: Mapping[str, LoadPlan],
    engines: Sequence[str],
) -> str:
    """The load of each block, the blocks, and the nodes of engines elsewhere, in one line."""
    from msgspec import structs

    from ringside.load import summary, versus
    from ringside.units import count, quantity

    plan, blocks, done = plans["A"], analysis.experiment.blocks, analysis.blocks_done
    parts, differs = [], plans["B"].http2 != plan.http2
    if results := versus.results(analysis, plan):
        first_part = versus.part(plan, blocks, 0)
        common = structs.replace(first_part, http2=None) if differs else first_part
        parts.append(f"{summary.how(targets['A'], common, results[0][1])} each")
    whole = count(blocks, "block") if done == blocks else f"{done} of {blocks} blocks"
    parts.append(f"{whole} in random order, seed {analysis.run.seed}; run {analysis.run.id}")
    if engines:
        within = quantity(versus.started_within_ns(analysis), "ns")
        names = one_line(", ".join(engines), 200)
        parts.append(f"engines on {names}, which started within {within} of each other")
    if results and differs:
        parts.append(", ".join(f"{name}: {summary.version(plans[name])}" for name in targets))
    return "; ".join(parts)


class _Turns:
    """Shows each load of a comparison on the screen."""

    def __init__(self, screen: Screen, targets: Mapping[str, Target], blocks: int) -> None:
        self._screen = screen
        self._targets = targets
        self._blocks = blocks

    def on_load(self, block: int, target: str, plan: LoadPlan) -> None:
        turn = f"block {block} of {self._blocks}" if block else "warm-up"
        self._screen.begin(f"{turn}: {target} = {self._targets[target].text}", plan)

    def on_message(self, message: EngineMessage) -> None:
        self._screen.receive(message)
