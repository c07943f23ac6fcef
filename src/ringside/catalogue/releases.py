"""When the runtimes of contenders were released (`releases.toml`)."""

from datetime import date
from functools import cache

from ringside.files import tables_beside


@cache
def _releases() -> dict[str, dict[str, date]]:
    """By what contenders run on, the day of each feature release's first version, the oldest first."""
    table = tables_beside(__file__, "releases.toml")
    return {name: days for name, days in table.items() if isinstance(days, dict)}


def released(runs_on: str, version: str | None) -> date | None:
    """The day of the feature release that a version belongs to; None if the table has none."""
    days = _releases().get(runs_on, {})
    known = [each for each in days if f"{version}.".startswith(f"{each}.")]
    return days[max(known, key=len)] if known else None


def dated(runs_on: str, version: str) -> str:
    """A version with its year, and a release that is years newer: `25 (2022; 29 is of 2026)`."""
    day = released(runs_on, version)
    if day is None:
        return version
    latest, latest_day = [*_releases()[runs_on].items()][-1]
    newer = f"; {latest} is of {latest_day.year}" if latest_day.year - day.year > 1 else ""
    return f"{version} ({day.year}{newer})"
