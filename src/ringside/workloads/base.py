"""The base of workloads: factors, evidence, metrics, views. Nothing here starts anything."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, ClassVar

from msgspec import convert

from ringside.errors import UsageError
from ringside.files import tables_beside
from ringside.model import design
from ringside.model.catalogue import Question
from ringside.model.design import Cell, Experiment, Input, InputFile, Level, Metric, Point, Unit, grouped
from ringside.model.results import Diagnostic, Interval, Outcome, Timeline, Trial
from ringside.probe.protocol import Evidence, LoadMessage, Service
from ringside.text import nearest
from ringside.units import count, whole
from ringside.workloads.phases import PhaseRule

# Values of metrics by name: of a trial, or medians of a cell.
Figures = Mapping[str, float]
# The program's own share of a figure, and the rest in words that follow the contender's name.
OwnShare = tuple[float, str]
# Seeds that contenders get are from 0 up to this.
LARGEST_SEED = 4_294_967_295


class Factor(design.Table, frozen=True):
    """A parameter of a workload: integers from `least` to `most` and `words`, or one of `choices`."""

    name: str
    default: Level
    explanation: str
    least: int = 0
    most: int = 0
    choices: tuple[Level, ...] = ()
    words: tuple[str, ...] = ()
    # Levels besides the default that every conforming program supports.
    plain: tuple[Level, ...] = ()
    # A level in words, `{}` standing for it: one text for all levels, or texts by level and `other`. A level
    # with an empty text is not mentioned.
    phrase: str | Mapping[str, str] = {}

    def say(self, level: Level) -> str:
        """The level in words: `1,000 messages`, `1 core`."""
        texts = {"other": self.phrase} if isinstance(self.phrase, str) else self.phrase
        text = texts.get(str(level), texts.get("other", f"{self.name}={{}}"))
        said = text.format(f"{level:,}" if isinstance(level, int) else level)
        return re.sub(r"\b(1 \w+)s\b", r"\1", said)

    def check(self, level: Level) -> Level:
        """The level itself. Raises UsageError when it is out of range."""
        for choice in (*self.choices, *self.words):
            if str(choice) == str(level):
                return choice
        if "=" in str(level):
            raise UsageError(f"{self.name}={level}: write a --set for each factor")
        if self.choices:
            raise UsageError(f"{self.name}={level} is none of {', '.join(map(str, self.choices))}")
        try:
            number = whole(str(level))
        except ValueError:
            raise UsageError(f"{self.name}={level}: {self.name} must be an integer") from None
        if not self.least <= number <= self.most:
            raise UsageError(f"{self.name}={number} is out of range: {self.least} to {self.most}")
        return number

    def is_plain(self, level: Level) -> bool:
        """Whether a program of the core of the contract knows what to do at this level."""
        return level in (self.default, *self.plain)


class Capability(design.Table, frozen=True):
    """A feature beyond the core of a workload's contract; a program's manifest names it."""

    name: str
    explanation: str
    # Levels of this factor that are not plain ask for it.
    factor: str = ""
    # So does an experiment whose headline is one of these.
    metrics: tuple[str, ...] = ()
    # Arguments that a program which offers it must refuse.
    bad: tuple[str, ...] = ()


class Cores(Factor, frozen=True):
    """The number of CPUs: up to the machine's, `all`, `walk` (1, 2, 4 … and all), or `each`."""

    def resolve(self, level: Level, available: int) -> tuple[int, ...]:
        """The numbers of CPUs that `level` means on a machine with `available` of them. Raises UsageError."""
        number = self.check(level)
        if number == "all":
            return (available,)
        if number == "walk":
            doubled = (1 << power for power in range(available.bit_length()))
            return (*(number for number in doubled if number < available), available)
        if number == "each":
            return tuple(range(1, available + 1))
        if int(number) > available:
            are = f"{count(available, 'CPU')} {'is' if available == 1 else 'are'}"
            raise UsageError(f"cores={number}: only {are} available; take fewer, or `all`")
        return (int(number),)


_SHARED = tables_beside(__file__, "shared.toml")
CORES = convert(_SHARED["cores"], Cores)
AUTO = "auto"
REPEATS = convert(_SHARED["repeats"], Factor)
REPEATED = convert(_SHARED["repeated"], Capability)
# The capability of waiting, with `hold=1`, until a line arrives on stdin.
HOLD = "hold"


class Slope(design.Table, frozen=True):
    """The growth of a metric per unit of a factor. `is_own`: of a program's memory, which each unit needs."""

    name: str
    unit: Unit
    title: str
    explanation: str
    over: str
    metric: str
    regardless_of: tuple[str, ...] = ()
    is_own: bool = True


class Curve(design.Table, frozen=True):
    """Metrics as one line per contender: `steps` are places on x, their labels and metrics. It applies to
    points with the levels of `where`. Curves of one title are panels of one plot, told apart by `panel`."""

    title: str
    explanation: str
    x_title: str
    y_title: str
    steps: tuple[tuple[float, str, str], ...]
    where: Mapping[str, Level] = {}
    logarithmic: bool = False
    panel: str = ""

    def applies(self, point: Point) -> bool:
        return self.where.items() <= point.as_dict().items()


class Distribution(design.Table, frozen=True):
    """Times of single requests as a curve over percentiles: a histogram of a step's load."""

    title: str
    explanation: str
    y_title: str
    step: str
    load: str = "all"
    histogram: str = "latency"


class OverRate(design.Table, frozen=True):
    """Metrics over the levels of a factor that is a rate; its level 0 is a closed loop, which has none."""

    factor: str
    metrics: tuple[str, ...]


class ScalingLaw(design.Table, frozen=True):
    """How a metric should change: over `cores` by the Universal Scalability Law, over a `size` by a power.
    Points that differ in `over`, and in `regardless_of`, make one fit."""

    over: str
    metric: str
    kind: str = "size"
    regardless_of: tuple[str, ...] = ()


# In `Timeline.cpu`, all threads that are not named there.
OTHER_THREADS = "others"


class TimelineView(design.Table, frozen=True):
    """The texts of `timeline_of`'s pictures: CPU and memory over time, and each second's latest message."""

    caption: str
    x_title: str
    latest_title: str
    latest_y_title: str
    latest_caption: str


class SpansView(design.Table, frozen=True):
    """The texts of the picture of `Trial.spans`. `origin`: the event at 0 on its axis, `seconds since …`."""

    title: str
    caption: str
    origin: str


class Checks(design.Table, frozen=True):
    """The inputs that `ringside check` tries."""

    # Required arguments, and words that a contender must refuse as their values.
    required: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    # Levels and seeds of trials.
    sizes: tuple[tuple[Mapping[str, Level], int], ...] = (({}, 1), ({}, 2))

    # For programs: the levels of a small trial as arguments; None: the defaults of the factors.
    small: Mapping[str, Level] | None = None
    # The phases that it reports.
    phases: frozenset[str] = frozenset()
    # Levels at which it waits with `hold=1`, besides the small ones, and the phase that it reports before.
    held: Mapping[str, Level] = {}
    before_hold: str = ""
    # Phases that are made to take a while, each with the factor that it scales with.
    growing: tuple[tuple[str, str], ...] = ()
    # Its programs mostly wait, so several are tested at once.
    waits: bool = False

    # For servers: arguments; none: the defaults of the factors.
    arguments: str = ""
    # A client for a shell.
    ask: str = "nc -z 127.0.0.1 8123"
    # For HTTP: methods, targets, their statuses, and the bodies that are sent.
    paths: tuple[tuple[str, str, int, str], ...] = ()
    # The factor that is a number of connections.
    factor: str = ""
    # How much a client sends that reads nothing.
    unread_bytes: int = 0


_DIAGNOSTICS = tables_beside(__file__, "diagnostics.toml")


def told(
    code: str, subjects: Iterable[str] = (), values: Mapping[str, Any] | None = None, **fields: str
) -> Diagnostic:
    """A diagnostic in the words of its code, with these fields filled in."""
    text, remedy = (_DIAGNOSTICS[code][part].strip().format(**fields) for part in ("text", "remedy"))
    return Diagnostic(code, tuple(subjects), values or {}, text, remedy)


class Measurement(ABC):
    """The reduction of a run's trials: metrics and views."""

    name: str
    title: str
    metrics: tuple[Metric, ...]
    # The metrics that are compared, the headline first.
    compared: tuple[str, ...]
    # Whether they share one error rate; else the headline has one, and each of the others its own.
    one_family: bool = False
    # Places, such as rates; each has its own metric.
    series: Mapping[str, tuple[int, ...]] = {}
    # Metrics that have a plot, whether they are compared or not.
    plotted: tuple[str, ...] = ()
    # Metrics in the same tables, without verdicts.
    secondary: tuple[str, ...] = ()
    slopes: tuple[Slope, ...] = ()
    curves: tuple[Curve, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    over_rate: OverRate | None = None
    scaling_laws: tuple[ScalingLaw, ...] = ()
    # The step, load and histogram of metrics that are high percentiles, and their levels: they come from the
    # requests of all blocks together, where trials keep these.
    percentiles: ClassVar[Mapping[str, tuple[str, str, str, float]]] = {}
    # Metrics that show where the time of a trial went.
    breakdown: tuple[str, ...] = ()
    # Pairs of metrics that are plotted against each other, all contenders of a point in one plot: x, y.
    scatters: tuple[tuple[str, str], ...] = ()
    # With a view, samples have threads and the kernel's memory too, and figures are made from all of them.
    timeline_view: TimelineView | None = None
    spans_view: SpansView | None = None
    # The phases of programs that metrics are made from.
    phase_of: Mapping[str, str] = {}
    # The phase that each repeat in one process prints, and the metric of `repeats_of` that is made from it.
    repeated_phase: str = ""
    repeated_metric: str | None = None
    # Whether a run that ended early can go on.
    resumable: bool = True
    # How a trial proved its work, in a sentence for the report.
    evidence_note: str = ""

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises UsageError for an unknown one."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = ", ".join(metric.name for metric in self.metrics)
        raise UsageError(f"the workload `{self.name}` has no metric `{name}`; known: {known}")

    def shown(self, experiment: Experiment) -> tuple[str, ...]:
        """The metrics that an experiment compares, the headline first."""
        return experiment.show.metrics or self.compared

    def label(self, point: Point, factors: Collection[str]) -> str:
        """These factors of a point, in words for people."""
        return point.label(factors)

    @abstractmethod
    def figures(self, trial: Trial) -> dict[str, float]:
        """The metrics of an `ok` trial, by name; unobserved ones are left out."""

    def medians(self, trials: Iterable[Trial], of: Callable[[Figures], float | None]) -> dict[Cell, float]:
        """By cell, the median of `of` over its `ok` trials in which it is neither None nor 0."""
        ok = (trial for trial in trials if trial.outcome is Outcome.OK)
        values = ((trial.cell, value) for trial in ok if (value := of(self.figures(trial))))
        return {cell: median(each) for cell, each in grouped(values).items()}

    def timeline_of(self, trial: Trial) -> Timeline | None:
        """The trial over time; None if that is not kept."""
        return None

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        """The repeated metric of each repeat in one process; empty if the work was done once."""
        return ()

    def decisive_loads(self, trial: Trial) -> Sequence[LoadMessage]:
        """The loads in which a saturated load engine would have bounded the figures."""
        return trial.loads

    def expects_warning(self, trial: Trial, code: str) -> bool:
        """Whether a trial provokes this warning of the load engine on purpose."""
        # The experiment chose how much is asked; blocks repeat it.
        return code == "short-run"

    def program_share(self, headline: str, point: Point, figures: Figures) -> OwnShare | None:
        """The program's own share of a headline; None if all is its own."""
        return None

    def diagnosis(self, contender: str, point: Point, figures: Mapping[str, Interval]) -> str | None:
        """Why the work took so long, in a sentence; None if the figures do not show it."""
        return None

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Weak points that only this measurement knows of, with their own texts."""
        return []


class Workload(Measurement):
    """A concurrency problem with a written contract (docs/PROTOCOL.md)."""

    factors: tuple[Factor, ...]
    # Further arguments of a server, besides its factors, `port`, `host` and `seed`.
    server_arguments: tuple[str, ...] = ()
    # Features of programs beyond the core of the contract.
    capabilities: tuple[Capability, ...] = ()
    # Contenders of other distributions; Ringside's own are files of the catalogue.
    questions: tuple[Question, ...] = ()
    checks: Checks = Checks()
    # The rules of `ringside check` that no other workload has, by their ids, and the module whose CHECKS test
    # them (`ringside.conformance.kit`). It is imported for that alone.
    rules: Mapping[str, str] = {}
    check_module: str = ""
    # The factors whose product is the size of the work.
    sized_by: tuple[str, ...] = ()
    # The names that every program waits for by `::await`.
    awaited: tuple[str, ...] = ()
    # The levels at which the work is the same when it is done again in one process.
    repeated_at: Mapping[str, Level] = {}
    # Levels of a rehearsal: a number is the most that it has.
    rehearsed: Mapping[str, Level] = {}
    # The position of phases in a trial, as far as the probe can see it.
    phase_rules: Mapping[str, PhaseRule] = {}

    def factor(self, name: str) -> Factor:
        """The factor of that name. Raises UsageError for an unknown one."""
        for factor in self.factors:
            if factor.name == name:
                return factor
        names = [factor.name for factor in self.factors]
        near = nearest(name, names)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(names)}"
        raise UsageError(f"the workload `{self.name}` has no factor `{name}`; {hint}")

    def label(self, point: Point, factors: Collection[str]) -> str:
        """These factors in words, `400 units, 300 messages`, without obvious defaults unless all are."""
        levels = point.as_dict()
        known = [each for each in self.factors if each.name in factors and each.name in levels]
        obvious = [each for each in known if not each.default or isinstance(each.default, str)]
        special = [each for each in known if each not in obvious or levels[each.name] != each.default]
        said = (filter(None, (each.say(levels[each.name]) for each in some)) for some in (special, known))
        return next(filter(None, map(", ".join, said)), "")

    def check(self, point: Point) -> None:
        """Raise UsageError for a point whose levels do not go together."""

    def missing(self, offered: Collection[str], point: Point, headline: str) -> str | None:
        """The capability that a contender needs at this point for that metric and lacks, else None."""
        levels = point.as_dict()
        for capability in self.capabilities:
            if capability.name in offered:
                continue
            factor, reason = capability.factor, ""
            if factor in levels and not self.factor(factor).is_plain(levels[factor]):
                reason = f"{factor}={levels[factor]}"
            elif headline in capability.metrics:
                reason = f"the metric {headline}"
            if reason:
                return f"{reason} needs the capability `{capability.name}`, which its manifest does not name"
        return None

    def cores(self, point: Point) -> int:
        """How many CPUs the contender gets at this point."""
        return int(point.as_dict().get(CORES.name, CORES.default))

    def descriptors(self, point: Point) -> tuple[int, str]:
        """How many files one process must be allowed to have open, and how to ask for fewer."""
        return 0, ""

    @property
    def is_service(self) -> bool:
        """Whether its contenders listen."""
        return type(self).service is not Workload.service

    def service(self, point: Point, seed: int) -> Service | None:
        """The probe's work with a contender that listens; None for a program that ends without a signal."""
        return None

    def input(self, point: Point) -> InputFile | None:
        """The file that the program reads, given as the argument `input`."""
        return None

    def input_cached(self, point: Point) -> bool:
        """Whether that file lies in the page cache when the program starts."""
        return True

    def arguments(self, point: Point) -> dict[str, str]:
        """Arguments of the contender besides the point's levels."""
        return {}

    def awaits(self, point: Point) -> tuple[str, ...]:
        """The names of its `::await` lines. With the capability `hold`, only those that offer it wait."""
        return self.awaited

    @abstractmethod
    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        """The evidence of the work. `input`: the point's file. Raises UsageError if it cannot be read."""

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError if what an `ok` trial reported cannot be true, where that depends on times."""

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        """By phase, the time that a CPU of 8 GHz would need. `input_bytes`: the size of the input."""
        return {}

    def output_bytes(self, point: Point) -> int:
        """Programs that print more than this are ended."""
        return 1 << 20

    def work(self, point: Point) -> int:
        """The size of the work, to estimate how long a trial takes: only ratios matter."""
        return math.prod(int(point[factor]) for factor in self.sized_by)

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        is_of_a_part = self.repeated_metric is not None and self.metric(self.repeated_metric).unit == "ns"
        # A metric in nanoseconds is the time of one of so many parts of the work.
        unit_ns = self.work(trial.cell.point) if is_of_a_part else 1e9
        return tuple(ns / unit_ns for ns in trial.repeats_ns(self.repeated_phase))

    def can_repeat(self, point: Point) -> bool:
        """Whether the work of this point is the same when it is done again in one process."""
        is_same = self.repeated_at.items() <= point.as_dict().items()
        return bool(self.repeated_phase) and is_same and point.as_dict().get(REPEATS.name) == AUTO

    def rehearsal(self, point: Point) -> Point:
        """The point at which a contender runs before the first block: all code runs, and long work is cut."""

        def changes(factor: str, level: Level) -> bool:
            return isinstance(level, str) or float(point[factor]) > level

        return point.but(**{name: level for name, level in self.rehearsed.items() if changes(name, level)})


def repeats(point: Point) -> int:
    """How often the program does its work; 1 where no number is known yet."""
    level = point.as_dict().get(REPEATS.name, AUTO)
    return 1 if level == AUTO else int(level)
