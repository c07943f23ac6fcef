"""Shows the progress of a run on stderr: a live line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ringside.measure.runs.loop import Listener, StoppingRule
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Point, varying_factors
from ringside.model.results import Outcome, Run, Trial
from ringside.render.text.command import with_options, with_store
from ringside.stats.interval import MIN_BLOCKS
from ringside.stats.sequential import FIRST_LOOK
from ringside.store.plans import read_plan
from ringside.text import LOG_LINES, last_lines, one_line
from ringside.units import count, duration, quantity
from ringside.workloads.base import Measurement, Workload

# Something that lasts longer is shown with its time.
_LONG_S = 2.0
# A larger limit is only the default, so it is not shown.
_PLANNED_BLOCKS = 10_000
# The first estimate of the time that a part of a suite takes besides its blocks: builds and warm-ups.
_PREPARATION_S = 15.0
# If a block of commands takes `_SLOW_BLOCK_S` or longer, a line says so, and again when that time has changed
# by the share `_CHANGE`. Without a live line, another one says every `_SILENCE_S` what is done.
_SLOW_BLOCK_S, _CHANGE, _SILENCE_S = 2.0, 0.25, 10.0
# Trials redraw the live line no more often: that takes as long as a trial of a brief command.
_REDRAW_S = 0.05


class LiveProgress(Listener):
    """Shows what happens. With `quiet`, only on the live line, except slow commands with `paces`. Redraws at
    the end of each trial and once a second, no more often, so as not to disturb the measurement."""

    def __init__(self, console: Console, *, quiet: bool = False, paces: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._paces = paces
        self._said_s, self._block_s = time.monotonic(), 0.0
        self._due = FIRST_LOOK
        self._values: dict[Cell, list[float]] = {}
        self._is_live = console.is_terminal
        # No thread of its own: the line is drawn when something has changed. Off a terminal it draws nothing.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._doing, self._since, self._drawn = "", time.monotonic(), 0.0
        self._block, self._first_block, self._blocks_began = 0, 0, 0.0
        # The run's time limit, its number of blocks if that is fixed, and its smallest number.
        self._time_s: float | None = None
        self._most = self._least = 0
        self._failed: set[Cell] = set()
        self._said: set[str] = set()
        # When the first part of a suite began, and when the last one, or a run by itself, may end.
        self._suite_began = self._ends = 0.0
        self._part: tuple[str, ...] = ()
        # The arguments of `ringside repeat`: the run, and its contenders outside the catalogue.
        self._repeated: tuple[str, ...] = ()
        # A point in words, by the factors that vary in the run.
        self._label: Callable[[Point], str] = lambda _: ""

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to other output meanwhile."""
        self._live.update("", refresh=True)
        self._live.stop()
        yield
        self._live.start()

    def on_part(self, number: int, parts: Sequence[tuple[str, float | None]]) -> None:
        """A part of a suite begins; `parts`: the names of all, and how long their blocks may take."""
        now = time.monotonic()
        self._suite_began = self._suite_began or now
        self._block, self._ends = 0, 0.0
        planned_s = [_PREPARATION_S + time_s for _, time_s in parts if time_s is not None]
        if len(planned_s) == len(parts):
            done_s = sum(planned_s[: number - 1])
            rate = (now - self._suite_began) / done_s if done_s else 1.0
            self._ends = now + rate * (sum(planned_s) - done_s)
        after = f" (then {parts[number][0]})" if number < len(parts) else ""
        self._part = (f"part {number} of {len(parts)}", f"{parts[number - 1][0]}{after}")
        self._now("starting", self._where())

    def on_prepare(self, contender: str) -> None:
        self._now(f"preparing {contender}")

    def on_build(self, contender: Contender) -> None:
        self._now(f"building {contender.name}", f"building {contender.name}")

    def on_prepared(self, contender: Ready | Unavailable) -> None:
        if isinstance(contender, Unavailable):
            remedy = f" ({contender.remedy})" if contender.remedy else ""
            why = f"{contender.contender.name}: {contender.reason}{remedy}"
            # Once, not in each part of a suite.
            if why not in self._said:
                self.on_say(why)
                for line in last_lines(contender.log, LOG_LINES):
                    self._print(f"  | {line}")

    def on_input(self, name: str, most_bytes: int) -> None:
        self._now(f"writing {name}", f"writing {name}, up to {most_bytes / 1e6:,.0f} MB")

    def on_say(self, text: str) -> None:
        """A line that is shown even where it is quiet, once."""
        if text not in self._said:
            self._said.add(text)
            self._said_s = time.monotonic()
            self._console.print(Text(one_line(text, most=1000)))

    def on_wait(self) -> None:
        # Even where it is quiet: nothing else tells why nothing happens.
        self.on_say("another ringside is measuring on this machine: waiting until it ends (Ctrl-C gives up)")

    def on_begin(self, run: Run, rule: StoppingRule, cells: Sequence[Cell], measurement: Measurement) -> None:
        self._block = 0
        self._failed.clear()
        self._values = {cell: [] for cell in cells if self._paces and not cell.point.levels}
        self._headline = measurement.metric(measurement.shown(read_plan(run).experiment)[0])
        self._figures = measurement.figures
        self._repeated = ()
        varying = varying_factors([cell.point for cell in cells])
        self._label = lambda point: measurement.label(point, varying)
        self._time_s, self._most = rule.time_s, rule.max_blocks if rule.is_fixed else 0
        self._least = self._most or min(rule.max_blocks, rule.min_timed_blocks)
        self._due = min(rule.max_blocks, FIRST_LOOK if rule.decided else rule.max_blocks)
        if isinstance(measurement, Workload):
            self._repeated = (run.id, *with_options(read_plan(run).chosen))
        if self._part:
            return
        # Time ends no run before its least number of blocks.
        limits = [duration(rule.time_s)] if rule.time_s and rule.max_blocks > rule.min_timed_blocks else []
        limits += [count(rule.max_blocks, "block")] if rule.max_blocks <= _PLANNED_BLOCKS else []
        self._print(f"run {run.id}: {count(len(cells), 'cell')}, {' or '.join(limits)} at most")

    def on_warm_up(self, cell: Cell) -> None:
        line = "" if self._doing.startswith("warming up") else "warming up"
        self._now(f"warming up {cell.contender}", line)

    def on_trial(self, block: int, cell: Cell) -> None:
        # Machines of a cluster are at several blocks: a trial of an earlier one is no news.
        now, is_new = time.monotonic(), block > self._block
        if not self._block:
            self._blocks_began, self._first_block = now, block
            if not self._part:
                self._ends = now + self._time_s if self._time_s else 0.0
        elif is_new:
            a_block_s = (now - self._blocks_began) / (block - self._first_block)
            if not self._part:
                ends = now + a_block_s * (self._least - block + 1)
                self._ends = ends if self._most else max(self._ends, ends) if self._time_s else 0.0
            if self._paces:
                self._pace(a_block_s, block - 1)
        self._block = max(self._block, block)
        doing = f"{cell.contender}  {self._label(cell.point)}".rstrip()
        self._now(doing, self._where() * is_new, draws=now - self._drawn >= _REDRAW_S)

    def _pace(self, block_s: float, done: int) -> None:
        """Print how long a block takes, when the first verdict is due, and the ratios so far."""
        if block_s < _SLOW_BLOCK_S or abs(block_s - self._block_s) < _CHANGE * self._block_s:
            return
        self._block_s, left = block_s, self._due - done
        due = f", the first verdict is due in about {duration(left * block_s)}" if 0 < left < 1000 else ""
        if self._due < MIN_BLOCKS:
            due = f", and {count(self._due, 'block')} are too few for a verdict, which needs {FIRST_LOOK}"
        elif due and 0 < self._ends < time.monotonic() + (left - 1) * block_s:
            due = f", the time is over before the first verdict: --min-runs {self._due} waits for it"
        levels = [(cell.contender, median(own)) for cell, own in self._values.items() if own]
        ratios = [f"{name} / {levels[0][0]} {level / levels[0][1]:.2f}" for name, level in levels[1:]]
        so_far = f"; so far {', '.join(ratios)} in {self._headline.noun}" if ratios else ""
        self.on_say(f"a block takes {quantity(block_s, 's')}{due}{so_far}")

    def on_tick(self) -> None:
        self._draw()

    def on_trial_end(self, trial: Trial) -> None:
        if trial.outcome is Outcome.OK:
            if trial.cell in self._values and (value := self._figures(trial).get(self._headline.name)):
                self._values[trial.cell].append(value)
            return
        cell = trial.cell
        where = f" ({label})" if (label := self._label(cell.point)) else ""
        self._print(f"{cell.contender}{where}: {trial.outcome}: {trial.detail}")
        # At the first failure of a cell, show the end of the program's output, and how to repeat its trial.
        if cell in self._failed or trial.report is None or trial.outcome is Outcome.INTERRUPTED:
            return
        for line in last_lines(trial.report.stderr_tail):
            self._print(f"  | {line}")
        if self._repeated and cell.contender not in {failed.contender for failed in self._failed}:
            run, *outside = self._repeated
            again = with_store("repeat", run, cell.contender, *outside)
            self._print(f"  all output of {cell.contender}: {again}")
        self._failed.add(cell)

    def _where(self) -> str:
        """The part of a suite, the time left and the block, as far as known, before terminals cut it."""
        left_s = self._ends - time.monotonic()
        # Minutes where nobody counts seconds.
        left = f"{left_s / 60:.0f} min" if left_s >= 90 else duration(max(1.0, left_s))
        block = f"block {self._block}{f' of {self._most}' * bool(self._most)}" if self._block else ""
        known = [*self._part, *([block] if block else [])]
        if known and self._ends:
            known[0] += f", about {left} left"
        return ": ".join(known)

    def _now(self, doing: str, line: str = "", *, draws: bool = True) -> None:
        """Show the current activity; `line`: the text for a log without a live line."""
        self._doing, self._since = doing, time.monotonic()
        if draws:
            self._draw()
        if line and not self._is_live:
            self._print(line)

    def _draw(self) -> None:
        spent = time.monotonic() - self._since
        where = f"{self._where()}: ".removeprefix(": ")
        lasting = f" ({duration(spent)})" if spent >= _LONG_S else ""
        if not self._is_live:
            if self._paces and time.monotonic() - self._said_s >= _SILENCE_S:
                self.on_say(f"{where}{self._doing}{lasting}")
            return
        self._drawn = time.monotonic()
        line = Text(one_line(f"{where}{self._doing}{lasting}"), no_wrap=True, overflow="ellipsis")
        self._live.update(line, refresh=True)

    def _print(self, text: str) -> None:
        if not self._quiet:
            self._console.print(Text(one_line(text)))
