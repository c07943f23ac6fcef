"""`ringside list`: the catalogue and the store."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ringside.cli import params, streams
from ringside.cli.options import takes
from ringside.errors import NoStoreError, UsageError


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(("workloads", "contenders", "experiments", "runs")))
@click.argument("names", nargs=-1, metavar="[CONTENDER]...")
@takes()
def listing(
    kind: str | None,
    names: Sequence[str] = (),
    *,
    outside: Sequence[str] = params.OUTSIDE,
    store: str | None = params.STORE,
) -> int:
    """List workloads, contenders and experiments of the catalogue, or runs of the store.

    `list contenders NAME` says of a contender what it is: its family, where its idiom comes from, the
    versions that are here, its tuning, and what is unequal."""
    from ringside.cli import context, inventory

    if names and kind != "contenders":
        raise UsageError(f"only contenders have names here: ringside list contenders {names[0]}")
    catalogue = context.catalogue(outside)
    if names:
        print("\n\n".join(inventory.profile(catalogue, name) for name in names))
        return 0
    tables = []
    if kind in (None, "workloads"):
        tables.append(inventory.workloads())
    if kind in (None, "contenders"):
        tables.append(inventory.contenders(catalogue))
    if kind in (None, "experiments"):
        tables.append(inventory.experiments(catalogue))
    if kind == "runs":
        try:
            tables.append(inventory.runs(context.open_store(store, create=False)))
        except NoStoreError as error:
            streams.say(str(error))
    inventory.show(tables)
    return 0
