"""What the post of 2016 concluded from its gateway, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside.model.claims import Finding
from ringside.workloads.claims import AnalysedRun, Band, ClaimTest, about, at_least, ratio_claim

_WAY_FASTER = 5.0


def _median_latency(runs: Sequence[AnalysedRun], kind: str, band: Band) -> Finding:
    """The median latency of Tornado over Go's, in closed loops without a tail."""
    return ratio_claim(
        runs,
        f"fanout-{kind}",
        "fanout",
        "latency_ms.p50",
        "tornado",
        "go",
        band,
        applies=lambda point: point["kind"] == kind and not point["rate"] and not point["tail"],
        where=f"at kind={kind}",
    )


def go_7_times_where_it_waits(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=io: nearly all of a request is waiting."""
    return _median_latency(runs, "io", about(7))


def go_way_faster_where_it_computes(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=cpu: nearly all of a request is computing."""
    return _median_latency(runs, "cpu", at_least(_WAY_FASTER))


def go_20_times_in_between(runs: Sequence[AnalysedRun]) -> Finding:
    """kind=mixed: a request waits, and computes."""
    return _median_latency(runs, "mixed", about(20))


CLAIMS: Mapping[str, ClaimTest] = {
    "2016-go-fanout/go-7-times-where-it-waits": go_7_times_where_it_waits,
    "2016-go-fanout/go-way-faster-where-it-computes": go_way_faster_where_it_computes,
    "2016-go-fanout/go-20-times-in-between": go_20_times_in_between,
}
