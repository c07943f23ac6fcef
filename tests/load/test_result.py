"""The engine's messages as one value, the document of `--json`, and HdrHistogram's text of percentiles."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import ProbeError
from ringside.load import document, result, summary
from ringside.probe import protocol as ipc
from tests.support import ROOT
from tests.support.loads import HTTP, MS, OPEN, histogram, http_plan, lines, load_result, outcome

PAGE = (ROOT / "docs" / "PROBE.md").read_text(encoding="utf-8").split("### Load\n")[1]


def test_a_load_that_failed_at_once_has_no_figures() -> None:
    failed = result.from_messages(
        [ipc.engine_message(b'{"type": "outcome", "outcome": "load-failed", "detail": "no port"}')]
    )
    assert (failed.figures.outcome, failed.figures.detail) == ("load-failed", "no port")
    assert (failed.is_answered, failed.started) == (False, None)
    assert document.as_document(HTTP, http_plan(), failed)["latency_ms"] is None


def test_an_answer_without_an_outcome() -> None:
    messages = [ipc.engine_message(line) for line in lines()[:-1]]
    assert isinstance(messages[1], ipc.LoadProgress)
    with pytest.raises(ProbeError, match="no outcome"):
        result.from_messages(messages)


@pytest.mark.parametrize(
    ("counts", "is_lower_bound"),
    [
        ({"intended": 130, "unfinished": 23, "late_requests": 7}, True),
        ({"intended": 107, "unfinished": 0, "late_requests": 7}, False),
        ({"intended": None, "unfinished": 23, "late_requests": 0}, False),
        ({"intended": 107, "unfinished": 0, "errors": {"timeout": 5}}, True),
        ({"intended": None, "unfinished": 0, "errors": {"timeout": 5}}, True),
        ({"intended": None, "unfinished": 0, "errors": {"reset": 5}}, False),
        ({"intended": 107, "errors": {"connect-timeout": 5}, "connects_timed_out": 5}, True),
        # The silence of a stream is no lateness.
        ({"histograms": {"latency": histogram(), "lateness": histogram()}, "errors": {"timeout": 5}}, False),
    ],
)
def test_latencies_are_lower_bounds_without_answers(counts: dict[str, Any], is_lower_bound: bool) -> None:
    whole = load_result(**counts)
    assert document.as_document(HTTP, http_plan(), whole)["latency_is_lower_bound"] is is_lower_bound


@pytest.mark.parametrize("name", ["requests", "late_requests", "messages"])
def test_anything_that_came_back_is_an_answer(name: str) -> None:
    nothing = {"requests": 0, "late_requests": 0, "messages": 0, "unfinished": 5}
    assert not load_result(**nothing).is_answered
    assert load_result(**nothing | {name: 1}).is_answered


def test_lateness_matters_most_where_there_is_any() -> None:
    assert load_result().main_histogram == "latency"
    both = {"latency": histogram(), "lateness": histogram()}
    assert load_result(histograms=both).main_histogram == "lateness"
    assert load_result(histograms=both | {"lateness": {"count": 0}}).main_histogram == "latency"


SILENT = "nothing was answered as expected from second 2 on"
GONE = {"errors": {"connect-refused": 4}, "connections": {"opened": 8, "open_at_end": 0}}
MANY = {"connections": {"opened": 101}}
TWO_SECONDS = (9, 9, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("answered", "changed", "ceased"),
    [
        (TWO_SECONDS, {"errors": {"timeout": 45}}, SILENT),
        # An answer with another status is one, but not as expected.
        (TWO_SECONDS, {"errors": {"status": 45}}, SILENT),
        # Requests did not go on: the last ones are waited for.
        (TWO_SECONDS, {"errors": {"timeout": 45}, "duration_ns": 2 * 10**9}, ""),
        # A server that is gone at the end is missed at once, in whatever second.
        *((answered, GONE, "the server was gone at the end") for answered in ((9, 9, 3), (9, 9, 0), (3,))),
        # It came back, or was slow to accept.
        ((9, 0, 9), GONE | {"connections": {"opened": 16, "open_at_end": 8}}, ""),
        ((9, 9, 3), GONE | {"errors": {"reset": 4}}, ""),
    ],
)
def test_answers_that_cease(answered: tuple[int, ...], changed: dict[str, Any], ceased: str) -> None:
    series = [{"t_s": t_s, "requests": n, "errors": int(n < 9)} for t_s, n in enumerate(answered)]
    codes = ["rate-not-kept", "errors", "unfinished", "little", "lag"]
    warnings = [{"code": code, "text": code, "remedy": ""} for code in codes]
    whole = {"duration_ns": len(answered) * 10**9, "series": series, "warnings": warnings, **OPEN} | changed
    one = load_result(**whole)
    assert one.ceased.partition(":")[0] == ceased
    found = [each.code for each in one.figures.warnings]
    assert found == (["answers-ceased", "lag"] if ceased else codes)


@pytest.mark.parametrize(
    ("changed", "settings", "left"),
    [
        # Failures explain a rate that was not kept, timeouts do not.
        ({**OPEN, "errors": {"reset": 40}}, {"rate_per_s": 65}, "slack generator-bound little"),
        (OPEN | {"errors": {"timeout": 9}}, {"rate_per_s": 65}, "slack generator-bound little rate-not-kept"),
        # Nothing is a share of no latency.
        ({**OPEN, "histograms": {}}, {"rate_per_s": 65}, "little rate-not-kept"),
        # The time of connects is in flight, and in no latency.
        (MANY, {"connections": 8}, "not-kept-alive slack generator-bound"),
        (MANY, {"close": True}, "slack generator-bound little"),
        # A server that resets every connection, or sends replies too many, closes none after its replies.
        (MANY | {"requests": 0}, {"connections": 8}, "little"),
        (MANY | {"errors": {"unsolicited": 99}}, {"connections": 8}, "slack generator-bound little"),
        # A user who ends a load knows that it was short.
        ({**OPEN, "outcome": "interrupted"}, {"rate_per_s": 65}, "slack generator-bound rate-not-kept"),
    ],
)
def test_no_warning_names_a_wrong_cause(changed: dict[str, Any], settings: dict[str, Any], left: str) -> None:
    codes = ("slack", "generator-bound", "little", "rate-not-kept")
    warnings = [{"code": code, "text": code, "remedy": ""} for code in codes]
    messages = map(ipc.engine_message, lines(warnings=warnings, **changed))
    found = result.from_messages(messages, http_plan(**settings)).figures.warnings
    assert " ".join(each.code for each in found) == left


def test_every_kind_of_error_and_fault_has_a_meaning() -> None:
    kinds = re.findall(r"`([a-z0-9-]+)`", PAGE.split("Kinds of errors:")[1].split("Warnings:")[0])
    assert set(kinds) == set(summary.ERRORS)
    faults = re.findall(r'"([a-z]+)"', PAGE.split("`messages`, `sequence`")[1].split("\n")[0])
    assert set(faults) == set(summary.SEQUENCE)


def test_keys_of_messages_are_in_the_contract() -> None:
    for struct in (ipc.LoadPlan, ipc.HttpRequest, ipc.ExpectedReply, ipc.StreamMessages, ipc.LoadOutcome):
        for key in struct.__struct_fields__:
            assert f"`{key}`" in PAGE or f'"{key}"' in PAGE, key
    assert outcome().keys() - {"type"} == set(ipc.LoadOutcome.__struct_fields__)
    for key in histogram():
        assert f'"{key}"' in PAGE, key


COUNTS = st.lists(st.tuples(st.integers(1, 10**11), st.integers(1, 10**6)), min_size=1, max_size=80)


@given(COUNTS)
def test_percentiles_are_monotonic_and_totals_are_exact(pairs: list[tuple[int, int]]) -> None:
    counts = list(dict(pairs).items())
    text = result.hdr_text(counts, 5e6, 1e6)
    head, blank, *rows = text.splitlines()
    assert head.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert blank == ""
    data = [[float(field) for field in row.split()] for row in rows if not row.startswith("#")]
    total = sum(count for _, count in counts)
    for before, after in pairwise(data):
        assert before[0] <= after[0]
        assert before[1] <= after[1]
        assert before[2] <= after[2]
    assert data[0][1] == 0
    assert data[-1][:3] == [pytest.approx(max(counts)[0] / 1e6, abs=1e-6), 1, total]
    assert len(data[-1]) == 3  # no 1/(1-1)
    for value, share, reached, inverse in data[:-1]:
        at_most = sum(count for value_ns, count in counts if value_ns / 1e6 <= value + 5e-7)
        assert reached == at_most or value == data[-1][0]
        assert reached / total >= share - 1e-12
        # The percentile has twelve decimals, so the inverse can be checked to these.
        assert inverse == pytest.approx(1 / (1 - share), rel=1e-3, abs=0.01)
    assert f"Total count    = {total:12d}]" in text
    assert re.search(r"^#\[Mean    = +5\.000000, StdDeviation   = +1\.000000\]$", text, re.MULTILINE)


def test_five_steps_to_each_halving_of_the_rest() -> None:
    """1 to 100 ms, one each. The levels are those of HdrHistogram's PercentileIterator with five ticks."""
    text = result.hdr_text([(value * MS, 1) for value in range(1, 101)], 50.5 * MS, 28.866 * MS)
    rows = [row.split() for row in text.splitlines()[2:] if not row.startswith("#")]
    levels = [float(row[1]) for row in rows]
    steps = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775, 0.8, 0.825, 0.85, 0.875)
    assert levels[: len(steps)] == pytest.approx(steps)
    assert rows[5] == ["50.000000", "0.500000000000", "50", "2.00"]
    assert rows[-1] == ["100.000000", "1.000000000000", "100"]
    assert len({len(line) for line in text.splitlines()[2:-4]}) == 1


@pytest.mark.parametrize(
    ("max_ns", "buckets"),
    [(1, 1), (2047, 1), (2048, 2), (4095, 2), (4096, 3), (MS, 10), (1 << 30, 21), (10**11, 27)],
)
def test_buckets_double(max_ns: int, buckets: int) -> None:
    """The first holds 2,048 values; an unequal count beside it must not matter."""
    text = result.hdr_text([(1, 7), (max_ns, 3)] if max_ns > 1 else [(1, 7)], 1, 1)
    assert re.search(rf"^#\[Buckets = +{buckets}, SubBuckets     = +2048\]$", text, re.MULTILINE)
