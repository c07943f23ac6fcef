"""What the post of 2009 said of Erlang in its change of heart, as a test of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside.model.results import Finding
from ringside.workloads.claims import MORE, AnalysedRun, ClaimTest, ratio_claim


def failures_are_erlangs(runs: Sequence[AnalysedRun]) -> Finding:
    """From a failure to the first answer of the unit that took its place: gevent over Erlang. The stand-ins
    for Stackless take no part in `restarts`; gevent runs on greenlet, as one of them does."""
    return ratio_claim(
        runs,
        "posts-restarts",
        "restarts",
        "recovery_s.p50",
        "gevent",
        "erlang",
        MORE,
        where="where one message of a hundred makes its unit fail",
        note="gevent runs on greenlet, which grew out of Stackless",
    )


CLAIMS: Mapping[str, ClaimTest] = {"2009-erlang-vs-stackless/failures-are-erlangs": failures_are_erlangs}
