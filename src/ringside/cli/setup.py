"""`ringside setup`: installs what can be installed and builds contenders."""

from collections.abc import Sequence
from functools import partial

from ringside.cli import EXIT_FAILED, context, streams
from ringside.measure.runs import plan
from ringside.measure.toolchain import apt
from ringside.model.catalogue import Contender, Unavailable
from ringside.store.plans import Selection
from ringside.text import LOG_LINES, last_lines

_say = partial(streams.say, name="setup")


def setup(names: Sequence[str], experiments: Sequence[str]) -> int:
    """Build the contenders of these names and experiments, or all, with their runtimes."""
    toolchain = context.toolchain(lambda each: _say(f"building {each.name}; this may take a minute"))
    catalogue = context.catalogue()
    wanted: dict[str, Contender | Unavailable] = {name: catalogue.contender(name) for name in names}
    for experiment in experiments:
        for part in plan.experiments(catalogue, Selection(experiment)):
            wanted |= plan.contenders_of(part, catalogue)
    contenders = [each for each in wanted.values() if isinstance(each, Contender)]
    errors = {name: each.reason for name, each in wanted.items() if isinstance(each, Unavailable)}
    if not wanted:
        contenders, unread = catalogue.contenders()
        errors = {name: str(error) for name, error in unread.items()}
    contenders = [
        each
        for each in contenders
        if each.name in names
        or not each.runtime.optional
        or not isinstance(toolchain.receipt(each.runtime), str)
    ]
    apt.install_missing(contenders, toolchain, _say)
    unavailable = []
    for result in toolchain.prepare_all(contenders):
        if isinstance(result, Unavailable):
            unavailable.append(result)
        else:
            _say(f"{result.contender.name} is ready")
    for result in unavailable:
        _say(f"{result.contender.name} is not available: {result.reason}")
        for line in last_lines(result.log, LOG_LINES):
            _say(f"  | {line}")
        _say(f"  {result.remedy}")
    for name, why in errors.items():
        _say(f"{name} is not available: {why}")
    return EXIT_FAILED if unavailable or errors else 0
