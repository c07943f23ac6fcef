"""Texts for a line of a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.text import csv_text, one_line, sentences


@given(st.text())
def test_one_line_is_one_harmless_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 400
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)
    assert "\u202e" not in line


def test_one_line() -> None:
    assert one_line("a\nb\tc\x1b[31m\u202e") == "a b c·[31m·"
    assert one_line("x" * 10, 5) == "xxxx…"
    assert one_line("x" * 5, 5) == "xxxxx"


def test_sentences() -> None:
    assert sentences("the engine was late", " add a thread. ") == "The engine was late. Add a thread."
    assert sentences("already a sentence.", "") == "Already a sentence."
    assert sentences("", "") == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "-1+1", "@x", "\t=1", "\r=1"])
def test_no_text_of_csv_is_a_formula(text: str) -> None:
    row = [text, "exit status 1 - why", "-2.5", -1, None]
    assert csv_text([row]) == f"'{text},exit status 1 - why,-2.5,-1,\n"
