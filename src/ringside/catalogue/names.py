"""Names that files of a catalogue take from elsewhere: of workloads, factors, contenders."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from ringside.catalogue.schema import Levels
from ringside.catalogue.tomlfile import Key, TomlFile
from ringside.errors import UsageError
from ringside.model.catalogue import PLACEHOLDER, KnownWorkload
from ringside.model.design import Level

# The workloads that there are, by their names.
Workloads = Mapping[str, KnownWorkload]


# Names that have less in common are no slips of each other: `perl` is none of `erlang`.
_NEAR = 0.65


def unknown(kind: str, name: str, known: Iterable[str], way_out: str = "") -> UsageError:
    """The error for a name that is not known, with the nearest ones. `way_out`: what
    helps where no name is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=_NEAR)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    more = f"; {way_out}" if way_out and not near else ""
    return UsageError(f"there is no {kind} `{name}`; {hint}{more}")


def known_workload(file: TomlFile, name: str, known: Workloads, keys: tuple[Key, ...]) -> KnownWorkload:
    """The workload of that name. Raises CatalogueError for an unknown one."""
    if name not in known:
        raise file.error(str(unknown("workload", name, known)), keys)
    return known[name]


def check_factor(
    file: TomlFile, factor: str, name: str, workload: KnownWorkload, keys: tuple[Key, ...]
) -> None:
    """Raise CatalogueError, at `keys`, for a factor that the workload `name` does not have."""
    if factor not in workload.factors:
        raise file.error(str(unknown(f"factor of `{name}` called", factor, workload.factors)), keys)


def check_levels(
    file: TomlFile, factor: str, levels: Levels, workload: KnownWorkload, keys: tuple[Key, ...]
) -> None:
    """Raise CatalogueError, at `keys`, for a level that the factor cannot have on any machine."""
    for level in levels if isinstance(levels, tuple) else (levels,):
        try:
            workload.check(factor, level)
        except UsageError as error:
            raise file.error(str(error), keys) from None


def check_placeholders(
    file: TomlFile, command: Iterable[str], known: Collection[str], keys: tuple[Key, ...]
) -> None:
    for name in (name for word in command for name in PLACEHOLDER.findall(word)):
        if name not in known:
            raise file.error(unknown_placeholder(name, known), keys)


def unknown_placeholder(name: str, known: Collection[str]) -> str:
    """What is wrong with a placeholder that is not known, with the nearest one."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{{{near[0]}}}`? " if near else ""
    return (
        f"unknown placeholder `{{{name}}}`; {hint}known here: "
        f"{', '.join(f'`{{{other}}}`' for other in known)} (`{{ {name} }}` stays as it is)"
    )


def levels_of(
    file: TomlFile, keys: tuple[Key, ...], factors: Mapping[str, Levels]
) -> dict[str, tuple[Level, ...]]:
    """The levels of each factor; one that stands by itself becomes a tuple."""
    levels = {name: value if isinstance(value, tuple) else (value,) for name, value in factors.items()}
    for name, values in levels.items():
        if len(set(values)) != len(values):
            raise file.error(f"a level of `{name}` is given twice", (*keys, name))
    return levels
