from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ringside.catalogue import releases
from ringside.catalogue.releases import age, newest, release


@pytest.mark.parametrize(
    ("runs_on", "version", "expected"),
    [
        ("Erlang", "25.2.3", "25"),
        ("Python", "3.1.4", None),
        ("Python", "3.11.7", "3.11"),
        ("Go", "1.26", "1.26"),
        ("Bun", "1.1.9", "1"),
        ("Bun", "1.3.2", "1.3"),
        ("Perl", "5.36.0", None),
        ("Erlang", None, None),
        ("Erlang", "", None),
    ],
)
def test_a_version_belongs_to_the_feature_release_that_it_begins_with(
    runs_on: str, version: str | None, expected: str | None
) -> None:
    found = release(runs_on, version)
    assert (found.version if found else None) == expected


def test_what_is_years_behind_names_the_newest() -> None:
    latest = newest("Erlang")
    assert latest
    assert age("Erlang", "25.2.3") == f"2022; {latest.version} is of {latest.day.year}"
    assert age("Erlang", f"{latest.version}.0") == str(latest.day.year)
    assert age("Perl", "5.36.0") == ""


RUNTIMES = tomllib.loads(Path(releases.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("runs_on", [name for name, days in RUNTIMES.items() if isinstance(days, dict)])
def test_later_versions_are_of_later_days(runs_on: str) -> None:
    found = [release(runs_on, version) for version in RUNTIMES[runs_on]]
    days = [each.day for each in found if each]
    assert len(days) == len(RUNTIMES[runs_on])
    assert days == sorted(days)
