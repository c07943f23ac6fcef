"""Whether the phases that a program reports can be true, by the clock of the probe that read their lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringside.probe.protocol import Phase
from ringside.text import one_line
from ringside.workloads.evidence import milliseconds

# The tolerance between a phase and the probe's own times: clocks differ, and a line needs some time.
_SHARE, _SLACK_NS = 0.02, 1_000_000
# The first use of input and output takes some runtimes milliseconds, before a phase begins or after it has
# ended: it can be shorter than the time between its lines. Where a runtime writes a line late, the next phase
# is longer than the time since that line.
_SHORTER_NS, _LONGER_NS, _BETWEEN_ENDS_NS = 10_000_000, 50_000_000, 50_000_000
# A cycle of an 8 GHz CPU, which is faster than any on sale: a lower bound on the time of each cycle anywhere.
CYCLE_NS = 0.125
# Waits for a CPU explain at most this much time, unless the program visibly had no CPU for longer. However
# busy the host is, a phase must account for half of the time.
_WAITED_NS, _WAITED_SHARE = 50_000_000, 0.5
# This many repeats of a phase may end in a stall of the host, which does not change their median.
_STALLED_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """Where a phase lies in its trial; its line is printed at its end. `after`: it begins after this phase's
    line [its own last one], with `exact` there; `since`: it begins with this phase, printed first. `summed`:
    over concurrent units, so perhaps longer than the trial."""

    after: str = ""
    exact: bool = False
    since: str = ""
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """An `::await`, during which the program's clock of a phase stands still."""

    t_ns: int
    paused_ns: int


def phase_contradictions(
    lines: Sequence[Phase],
    rules: Mapping[str, PhaseRule],
    pauses: Sequence[Pause] = (),
    waited_ns: int | None = None,
    idle_ns: int = 0,
) -> Iterator[str]:
    """The contradictions in a program's phases. `lines`: in reading order; `waited_ns`: the threads' waits
    for a CPU, if known; `idle_ns`: the program's time without CPU."""
    seen: dict[str, Phase] = {}
    # By name, how late the line of the latest phase may have been printed or read, if nothing else lies
    # between the phase and its anchor.
    late_ns: dict[str, int] = {}
    # By name, the contradictions of repeats that a stall of the host would explain.
    stalled: dict[str, list[str]] = {}
    counts = Counter(line.name for line in lines)
    for line in lines:
        rule = rules.get(line.name, PhaseRule())
        name = f"::phase name={one_line(line.name, 100)}"
        is_repeat = line.name in seen
        anchor = seen.get(rule.since or rule.after or line.name)
        seen[line.name] = line
        if rule.summed:
            continue
        if line.ns > line.t_ns * (1 + _SHARE) + _SLACK_NS:
            yield f"{name}: {milliseconds(line.ns)}, and the program had run for {milliseconds(line.t_ns)}"
            continue
        if anchor is None:
            continue
        passed_ns = line.t_ns - anchor.t_ns
        if rule.since:
            reported_ns, shorter_ns = line.ns - anchor.ns, _BETWEEN_ENDS_NS
            what = f"{milliseconds(reported_ns)} more than {rule.since}"
        else:
            reported_ns, shorter_ns, what = line.ns, _SHORTER_NS, milliseconds(line.ns)
            passed_ns -= sum(pause.paused_ns for pause in pauses if anchor.t_ns <= pause.t_ns <= line.t_ns)
        slack_ns = max(_WAITED_NS, _WAITED_SHARE * passed_ns)
        if waited_ns is not None:
            slack_ns = min(max(slack_ns, idle_ns), waited_ns)
        slack_ns += _SHARE * max(0, passed_ns)
        begun_before_ns = late_ns.get(anchor.name, 0)
        is_too_long = reported_ns - passed_ns - begun_before_ns > slack_ns + _LONGER_NS and not rule.since
        is_too_short = passed_ns - reported_ns > slack_ns + shorter_ns and (rule.exact or bool(rule.since))
        if rule.exact or anchor.name == line.name:
            late_ns[line.name] = max(0, passed_ns - reported_ns)
        if not is_too_long and not is_too_short:
            continue
        contradiction = (
            f"{name}: {what} by the program's clock, and {milliseconds(passed_ns)} by the probe's since "
            f"the line of {one_line(anchor.name, 100)}: a phase is printed when it ends, in nanoseconds"
        )
        if is_too_short and is_repeat:
            stalled.setdefault(line.name, []).append(contradiction)
        else:
            yield contradiction
    for name, found in stalled.items():
        if len(found) > _STALLED_SHARE * counts[name]:
            yield from found


def impossible_phases(lines: Sequence[Phase], least_ns: Mapping[str, float]) -> Iterator[str]:
    """Phases that are shorter than their work takes on any machine: `least_ns`, by name."""
    for line in lines:
        if line.ns < (bound := least_ns.get(line.name, 0)):
            yield f"::phase name={one_line(line.name, 100)}: {below(line.ns, bound)}"


def below(ns: int, least_ns: float) -> str:
    """The words of messages about an impossible time."""
    return f"{ns:,} ns, and no machine does its work in less than {least_ns:,.0f} ns"
