"""Help in sections: the common options first, on one screen; the rest by what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

Function = TypeVar("Function", bound=Callable[..., Any])

COMMON = "Common options"


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *names: Any, section: str = COMMON, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """What stands in brackets: the default, without the range, which an error outside it shows."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def option(section: str, *names: str, **attributes: Any) -> Callable[[Function], Function]:
    """`click.option` in a section."""
    return click.option(*names, cls=Option, section=section, **attributes)


def records(ctx: click.Context, parameters: Iterable[click.Parameter]) -> dict[str, list[tuple[str, str]]]:
    """The help of options by section, in the order in which sections are first used."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
        if record is not None:
            section = parameter.section if isinstance(parameter, Option) else COMMON
            sections.setdefault(section, []).append(record)
    return sections


class Command(click.Command):
    """A command whose help lists options by section, in the order in which sections are first used."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the formatter, a section at a time."""
        for section, of_section in records(ctx, self.get_params(ctx)).items():
            with formatter.section(section):
                formatter.write_dl(of_section)
