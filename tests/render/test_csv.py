from __future__ import annotations

import csv as reader
import io

import pytest

from ringside.render import exports
from tests.support.analyses import analysis, point, scaled


def test_a_row_for_each_metric_of_each_cell() -> None:
    place = point(nodes=10, trace=0)
    values = {("go", place): {"hop_ns": scaled(200.0), "cpu_s": scaled(3.0)}}
    run = analysis(values, failed=[("erlang", place)], baseline="go")
    header, *rows = reader.reader(io.StringIO(exports.as_csv(run)))
    assert header == [
        *("contender", "nodes", "trace", "metric", "unit", "median", "low", "high", "n"),
        *("trials", "ok", "reason", "stderr", "repeat"),
    ]
    assert rows == [
        ["go", "10", "0", "hop_ns", "ns", "200.0", "194.0", "208.0", "7", "7", "7", "", "", ""],
        ["go", "10", "0", "cpu_s", "s", "3.0", "2.91", "3.12", "7", "7", "7", "", "", ""],
        ["erlang", "10", "0", "", "", "", "", "", "0", "7", "0", "crashed: exit status 3", "", ""],
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_no_text_is_a_formula(text: str) -> None:
    assert exports.harmless(text) == f"'{text}"


def test_other_text_is_left_as_it_is() -> None:
    assert exports.harmless("exit status 1 - why") == "exit status 1 - why"
