"""When the runtimes of contenders were released (`releases.toml`)."""

from dataclasses import dataclass
from datetime import date
from functools import cache

from ringside.files import tables_beside


@dataclass(frozen=True, slots=True)
class Release:
    """A feature release: `3.11`, and the day of its first version."""

    version: str
    day: date


@cache
def _releases() -> dict[str, tuple[Release, ...]]:
    """By what contenders run on, the oldest first."""
    table = tables_beside(__file__, "releases.toml")
    return {
        name: tuple(Release(version, day) for version, day in days.items())
        for name, days in table.items()
        if isinstance(days, dict)
    }


def release(runs_on: str, version: str | None) -> Release | None:
    """The feature release that a version belongs to; None if the table has none."""
    known = [each for each in _releases().get(runs_on, ()) if f"{version}.".startswith(f"{each.version}.")]
    return max(known, key=lambda each: len(each.version), default=None)


def dated(runs_on: str, version: str) -> str:
    """A version with its year, and a release that is years newer: `25 (2022; 29 is of 2026)`."""
    own = release(runs_on, version)
    if own is None:
        return version
    latest = _releases()[runs_on][-1]
    newer = f"; {latest.version} is of {latest.day.year}" if latest.day.year - own.day.year > 1 else ""
    return f"{version} ({own.day.year}{newer})"
