"""`ringside load`: the load engine by itself, at a server that is there already."""

from __future__ import annotations

import json
import os
import resource
import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringside.cli import context
from ringside.errors import UsageError
from ringside.load import compare, document, hdr, options, request, result, summary, target
from ringside.load.live import Screen, View
from ringside.load.options import Options, Words
from ringside.load.result import Result
from ringside.load.target import Target
from ringside.model.results import Warned
from ringside.probe.driving import Driver
from ringside.text import one_line

EXIT_INTERRUPTED = 130
_BLOCKS = 10


def load(
    text: str,
    *,
    as_json: bool = False,
    hdr_file: Path | None = None,
    versus: str | None = None,
    blocks: int | None = None,
    **given: Any,
) -> int:
    """Drive a load and show what came of it. Exit status 0; 1 where nothing was answered as expected;
    130 interrupted."""
    words = Words(**given)
    seed = secrets.randbelow(2**32) if words.seed is None else words.seed
    first = target.parse(text)
    wanted = options.parse(first.protocol, words, seed)
    if words.seed is not None and not versus and wanted.pacing["kind"] != "poisson":
        raise UsageError("--seed is for --poisson or --vs: leave it out")
    if blocks and not versus:
        raise UsageError("--blocks is for --vs: leave it out")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    options.check_machine(wanted, sorted(os.sched_getaffinity(0)), hard)
    if hdr_file and versus:
        raise UsageError("--hdr is for one target: leave out --vs")
    if hdr_file:
        _check_writable(hdr_file)
    if versus:
        second = target.parse(versus)
        compare.check(first, second, wanted)
        return _compare({"A": first, "B": second}, wanted, blocks or _BLOCKS, seed, as_json=as_json)
    return _one(first, wanted, as_json=as_json, hdr_file=hdr_file)


def _one(first: Target, wanted: Options, *, as_json: bool, hdr_file: Path | None) -> int:
    addresses, left_out = _addresses(first)
    driver = Driver()
    with Screen(context.talk(), wanted=not as_json) as screen:
        found = _drive(driver, screen, first, addresses, wanted, first.text)
    found = _with_left_out(found, left_out)
    if as_json:
        _print_json(document.as_document(first, wanted, found))
    else:
        summary.show(first, wanted, found, context.out())
    if hdr_file:
        _write_hdr(hdr_file, found)
    if found.outcome == "interrupted" or driver.interrupted:
        return EXIT_INTERRUPTED
    return 0 if found.answered() and found.outcome == "ok" else 1


def _compare(targets: dict[str, Target], wanted: Options, blocks: int, seed: int, *, as_json: bool) -> int:
    addresses = {name: _addresses(one)[0] for name, one in targets.items()}
    driver = Driver()
    part = wanted.part(blocks, 0, compare.LEAST_S)
    runs: list[compare.Run] = []
    interrupted = False
    try:
        with Screen(context.talk(), wanted=not as_json) as screen:
            turns = enumerate([compare.NAMES, *compare.orders(blocks, seed)])
            for number, name in ((number, name) for number, order in turns for name in order):
                which = f"block {number} of {blocks}" if number else "warm-up"
                title = f"{which}: {name} = {targets[name].text}"
                this = wanted.part(blocks, number, compare.LEAST_S)
                found = _drive(driver, screen, targets[name], addresses[name], this, title)
                if driver.interrupted or found.outcome == "interrupted":
                    # A run that was cut short is as unfit as the warm-up.
                    interrupted = True
                    break
                if number:
                    runs.append(compare.Run(number - 1, name, found))
    except KeyboardInterrupt:
        # Between two runs, or before the engine was ready for a signal: what is done is shown.
        interrupted = True
    first = targets["A"]
    compared = compare.compare(runs, compare.measures(first, wanted))
    if as_json:
        _print_json(compare.as_comparison(targets, part, runs, compared, blocks=blocks, seed=seed))
    else:
        done = compare.blocks_done(runs)
        counted = f"{blocks} blocks" if done == blocks else f"{done} of {blocks} blocks"
        how = f"{counted} in random order, seed {seed}"
        if runs:
            how = f"{summary.how(first, part, runs[0].result)} each; {how}"
        compare.show(targets, runs, compared, how, context.out())
    if interrupted:
        print("ringside: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    answered = {run.name for run in runs if run.result.answered()}
    return 0 if answered == set(targets) else 1


def _drive(
    driver: Driver, screen: Screen, at: Target, addresses: list[str], wanted: Options, title: str
) -> Result:
    total_s = wanted.total_s()
    streams = at.protocol == "stream"
    progress_s = request.progress_interval_s(total_s)
    view = View(title, total_s=total_s, requests=wanted.requests, streams=streams, column_s=progress_s)
    screen.begin(view)
    made = request.build(at, addresses, wanted, progress_s if screen.is_shown else None)
    return result.from_lines(driver.run(made, screen.seen if screen.is_shown else None))


def _addresses(one: Target) -> tuple[list[str], list[str]]:
    kept, left_out = target.answering(target.resolve(one))
    for address in left_out:
        print(f"ringside: {address} does not answer and is left out", file=sys.stderr)
    return kept, left_out


def _with_left_out(found: Result, left_out: list[str]) -> Result:
    more = [
        Warned(
            "address-left-out",
            f"{address} is an address of the target too, and nobody answers there: it got no load",
            "name the address in the target to be sure which one is measured",
        )
        for address in left_out
    ]
    return replace(found, warnings=[*found.warnings, *more])


def _print_json(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _check_writable(path: Path) -> None:
    """A load of minutes should not end in a file that cannot be written."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(
            f"--hdr {one_line(str(path))} cannot be written: give a file in a folder that is there"
        )


def _write_hdr(path: Path, found: Result) -> None:
    name = found.main()
    spread = found.spreads.get(name)
    made = hdr.text(
        found.counts.get(name, ()), spread.mean_ns if spread else 0, spread.stdev_ns if spread else 0
    )
    try:
        path.write_text(made, encoding="ascii")
    except OSError as error:
        raise UsageError(f"--hdr {one_line(str(path))} cannot be written: {error.strerror}") from error
    print(f"{one_line(str(path))}: percentiles of {name} for a plotter of HdrHistogram", file=sys.stderr)
