"""`load=overload`: more requests than a server can answer for a while; its answers, and its recovery."""

from collections.abc import Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from ringside.model.design import Cell
from ringside.model.results import Diagnostic, Trial
from ringside.probe.protocol import LoadPlan, SlotOfLoad, Staircase, StaircaseStep, Step, TimedMark
from ringside.workloads.base import told
from ringside.workloads.serving import percentiles_s, step

# The step whose rate the server can keep.
CAPACITY = "capacity"
# How long a client waits before it hangs up.
DEADLINE_S = 0.5
# Rates as multiples of that, and durations as multiples of `seconds`: before, the overload, after.
_PHASES = ((0.5, 1), (2.0, 1), (0.5, 3))
_SLOTS = 4
_ALL_SLOTS = _SLOTS * sum(length for _, length in _PHASES)
_OVERLOAD = slice(_SLOTS, 2 * _SLOTS)
# A slot is as before when nearly all of its requests are answered in time, at no more than twice the latency:
# medians of slots differ by some 10 % through their histograms alone.
_ANSWERED, _SLOWER = 0.99, 2.0
# A server that answers a larger share of the overload in time was not overloaded.
_OVERLOADED = 0.9
EXPECTED_WARNINGS = frozenset({"rate-not-kept", "unfinished", "errors"})


def step_of(closed: LoadPlan, seconds: float) -> Step:
    """The overload, of requests as in the closed loop that found the rate."""
    stairs = tuple(StaircaseStep(rate, length * seconds) for rate, length in _PHASES)
    plan = replace(
        closed,
        pacing=Staircase(stairs, of=CAPACITY),
        duration_s=None,
        patience_s=DEADLINE_S,
        course_s=seconds / _SLOTS,
    )
    marks = [TimedMark("calm", seconds), TimedMark("overloaded", 2 * seconds)]
    return step("measured", counts=True, marks=marks, all=plan)


def figures(trial: Trial) -> dict[str, float]:
    """The answers in time, the memory that the overload took, and the time until recovery."""
    capacity, load = trial.load(CAPACITY), trial.load("measured")
    if capacity is None or load is None or not load.course or len(load.course) < _ALL_SLOTS:
        return {}
    seconds, course = float(trial.cell.point["seconds"]), load.course[:_ALL_SLOTS]
    overload, due_per_slot = course[_OVERLOAD], capacity.achieved_rate_per_s * seconds / _SLOTS
    answered = sum(slot.answered for slot in overload)
    figures = {
        "requests_per_s": capacity.achieved_rate_per_s,
        # More answers than the closed loop found are an error of its rate.
        "goodput_percent": min(100.0, 100 * answered / (due_per_slot * _SLOTS)),
        "recovered_s": _recovered_slots(course) * seconds / _SLOTS,
    }
    if due := sum(slot.due for slot in overload):
        figures["lost_percent"] = 100 * (1 - answered / due)
    if "p99" in (latencies_s := percentiles_s(load)):
        figures["timely_p99_s"] = latencies_s["p99"]
    calm, overloaded = trial.marks.get("calm"), trial.marks.get("overloaded")
    if calm and overloaded and calm.pss_bytes and overloaded.pss_bytes:
        figures["overload_bytes"] = float(max(0, overloaded.pss_bytes - calm.pss_bytes))
    for number, slot in enumerate(course):
        figures[f"timely_percent_at_{number}"] = 100 * slot.answered / due_per_slot
        if slot.answered:
            figures[f"timely_p50_s_at_{number}"] = slot.p50_ns * 1e-9
    return figures


def _recovered_slots(course: Sequence[SlotOfLoad]) -> int:
    """How many slots after the overload differ from before; one good slot between bad ones counts as bad."""
    # In the first slot connections are opened.
    before_ns = median(slot.p50_ns for slot in course[1:_SLOTS])
    after = course[_OVERLOAD.stop :]
    is_good = [slot.answered >= _ANSWERED * slot.due and slot.p50_ns <= _SLOWER * before_ns for slot in after]
    pairs = zip(is_good, [*is_good[1:], True], strict=True)
    return next((number for number, pair in enumerate(pairs) if all(pair)), len(after))


def answered_share(figures: Mapping[str, float]) -> float | None:
    """The share of the requests of the overload that was answered in time, by a trial's figures."""
    lost = figures.get("lost_percent")
    return None if lost is None else 1 - lost / 100


def diagnostics(answered: Mapping[Cell, float]) -> list[Diagnostic]:
    """Loads that did not overload a server. `answered`: by cell, the share that was answered in time."""
    names = sorted({cell.contender for cell, share in answered.items() if share > _OVERLOADED})
    return [told("not-overloaded", names=", ".join(names), most=f"{_OVERLOADED:.0%}")] if names else []
