"""What happens while programs are prepared and measured: one stream of events, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Is called with what happens, and about what. `part`: the number of a suite's part that begins, and the name
# and time limit of each. `prepare`: the name of a contender; `prepared`: what came of it, Ready or
# Unavailable. `wait`: another process measures here. `begin`: a Run, its StoppingRule, its cells, their
# Measurement. `warm-up`: a Cell; `trial`: the number of a block, and a Cell; `tick`: about a second has
# passed; `trial-end`: a Trial, and its seconds. `say`: a line. `load`: the number of a block, the name of a
# target, and its LoadPlan; `message`: what an engine reports of a load.
Notify = Callable[..., None]


class Listener:
    """Takes events: calls its own method `on_trial_end`, say, where it has one."""

    def __call__(self, what: str, *about: Any) -> None:
        if method := getattr(self, f"on_{what.replace('-', '_')}", None):
            method(*about)
