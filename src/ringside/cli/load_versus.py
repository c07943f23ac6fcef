"""`ringside load --vs`: two targets under the same load in turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ringside.cli import streams
from ringside.cli.load_options import LoadArguments
from ringside.model.design import DEFAULT_MARGIN

if TYPE_CHECKING:
    from ringside.load.live import Screen
    from ringside.load.target import Target
    from ringside.probe.protocol import EngineMessage, LoadPlan

EXIT_INTERRUPTED = 130
_BLOCKS = 10


def compare(
    targets: Mapping[str, Target],
    addresses: Mapping[str, list[str]],
    plans: Mapping[str, LoadPlan],
    seed: int,
    arguments: LoadArguments,
) -> int:
    """Carry out and show the comparison of the targets A and B. Returns the exit status."""
    from msgspec import structs

    from ringside.cli import context, load_from
    from ringside.load import summary, versus
    from ringside.load.live import Screen, progress_interval_s
    from ringside.measure.suites import analysis_of
    from ringside.render import paired
    from ringside.store.plans import read_plan
    from ringside.units import count

    plan, blocks = plans["A"], arguments.blocks or _BLOCKS
    margin = DEFAULT_MARGIN if arguments.margin is None else arguments.margin
    storage = context.open_store(arguments.store, anywhere=True)
    run = versus.begin(targets, plan, blocks, margin, seed, storage)
    experiment = read_plan(run).experiment
    interrupted = False
    everywhere = [address for each in addresses.values() for address in each]
    with (
        load_from.driver(arguments, everywhere) as driver,
        Screen(context.talk(), wanted=load_from.is_watched(arguments)) as screen,
    ):
        progress_s = progress_interval_s(versus.part(plan, blocks, 0)) if screen.is_shown else None
        whole = {name: versus.with_addresses(plans[name], addresses[name], progress_s) for name in targets}
        observer = _Turns(screen, targets, blocks)
        try:
            versus.conduct(run, experiment, whole, storage, driver, observer)
        except KeyboardInterrupt:
            # What was measured until then is shown.
            interrupted = True
    analysis = analysis_of(storage, storage.run(run.id))
    first_part = versus.part(plan, blocks, 0)
    with streams.output():
        if arguments.form == "json":
            facts = {"blocks": blocks, "margin": margin, "seed": seed, "duration_s": first_part.duration_s}
            loads = versus.documents(analysis, targets, plan)
            print(json.dumps(paired.load_document(analysis, facts, loads), indent=2))
        else:
            done = analysis.blocks_done
            how = count(blocks, "block") if done == blocks else f"{done} of {blocks} blocks"
            how += f" in random order, seed {seed}; run {run.id}"
            if results := versus.results(analysis, plan):
                differs = plans["B"].http2 != plan.http2
                common = structs.replace(first_part, http2=None) if differs else first_part
                how = f"{summary.how(targets['A'], common, results[0][1])} each; {how}"
                if differs:
                    how += "; " + ", ".join(f"{name}: {summary.version(plans[name])}" for name in targets)
            paired.show(analysis, how, context.out())
    if interrupted:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    return 0 if analysis.is_complete else 1


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
