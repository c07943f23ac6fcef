"""What the post of 2016 concluded from the gateway, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside import units
from ringside.model.results import Answer, Finding
from ringside.workloads.claims import (
    AnalysedRun,
    Band,
    ClaimTest,
    about,
    at_least,
    between,
    decided_by,
    elsewhere,
    not_tested,
    ratio_claim,
)

_MOST_CALLS = 4096
_SEVEN_TIMES = between(
    3.5,
    14,
    "within a factor of two of 7; the post does not say at which load Tornado had its figure, and calls "
    "that wait for ten places wait the longer the more there are",
)
_WAY_FASTER = at_least(5, "the post's own figures give 17; five times is a wide margin")
_CAUSE = "where Tornado's client makes ten calls at a time, its default (max_clients)"
_TUNED = "tornado@tuned"
_NOT_THE_DEFAULT = (
    "Tornado's client makes ten calls at a time by default (max_clients), and the post names no other "
    f"number: only beside {_TUNED}, which makes up to {_MOST_CALLS:,}, is tornado known to do so"
)


def _median_latency(
    runs: Sequence[AnalysedRun], kind: str, band: Band, tornado: str = "tornado", work: int | None = None
) -> Finding:
    """The median latency of Tornado over Go's, in closed loops without a tail."""
    return ratio_claim(
        runs,
        f"fanout-{kind}",
        "fanout",
        "latency_s.p50",
        tornado,
        "go",
        band,
        applies=lambda point: (
            point["kind"] == kind
            and not point["rate"]
            and not point["tail"]
            and work in (None, point["work"])
        ),
        where=f"at kind={kind}" if work is None else f"at kind={kind} work={work}",
    )


def go_7_times_where_it_waits(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=io: nearly all of a request is waiting."""
    # In runs of earlier versions the plain name made as many calls as the tuned one.
    default = _median_latency([run for run in runs if _TUNED in run.names], "io", _SEVEN_TIMES)
    if default.answer is Answer.NOT_TESTED:
        return elsewhere(_median_latency(runs, "io", _SEVEN_TIMES), _NOT_THE_DEFAULT)
    return decided_by(_CAUSE, default, _median_latency(runs, "io", _SEVEN_TIMES, _TUNED))


def go_way_faster_where_it_computes(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=cpu: all of a request is computing."""
    return _median_latency(runs, "cpu", _WAY_FASTER)


def go_20_times_in_between(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=mixed at each amount of work, and kind=io and kind=cpu as its ends: the post says nothing of how
    much its handlers compute. Where the ratio is below the band at one end and not at the other, a mix
    between them has it."""
    band = about(20)
    ends = [_median_latency(runs, kind, band) for kind in ("io", "cpu")]
    amounts = sorted(
        {
            int(point["work"])
            for run in runs
            for point in run.points
            if run.experiment.workload == "fanout" and point.as_dict().get("kind") == "mixed"
        }
    )
    mixes = [_median_latency(runs, "mixed", band, work=work) for work in amounts]
    measured = [each for each in mixes if each.answer is not Answer.NOT_TESTED]
    if not measured:
        return not_tested("no run has tornado beside go at kind=mixed", "fanout-mixed")
    holding = [each for each in measured if each.answer is Answer.CONFIRMED]
    last = (holding or measured)[-1]
    reached = ends[1].figure is not None and (ends[1].figure.low or 0.0) >= band.low
    if holding or reached:
        result = Answer.OTHER_CONDITIONS
    elif ends[1].answer is Answer.REFUTED and all(each.answer is Answer.REFUTED for each in measured):
        result = Answer.REFUTED
    else:
        result = Answer.INCONCLUSIVE
    at_ends = "".join(
        f"; where it only {verb}, {units.ratio(end.figure)} times"
        for verb, end in zip(("waits", "computes"), ends, strict=True)
        if end.figure
    )
    return Finding(
        result,
        f"how much a request computes decides, which the post does not say: {last.sentence}{at_ends}",
        last.experiment,
        tuple(dict.fromkeys(run for each in (last, *ends) for run in each.runs)),
        last.figure,
    )


def too_many_open_files(runs: Sequence[AnalysedRun]) -> Finding:
    """Every contender has the limit of descriptors that the probe raised for all: nobody meets it."""
    del runs
    return not_tested("the soft limit of open files is raised for all contenders: none of them meets it")


CLAIMS: Mapping[str, ClaimTest] = {
    "2016-go-fanout/go-7-times-where-it-waits": go_7_times_where_it_waits,
    "2016-go-fanout/go-way-faster-where-it-computes": go_way_faster_where_it_computes,
    "2016-go-fanout/go-20-times-in-between": go_20_times_in_between,
    "2016-go-fanout/too-many-open-files": too_many_open_files,
}
