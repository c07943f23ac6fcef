"""What the entry point `ringside.cluster` refers to: `machines` for runs, and `engines` for loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ringside.cluster import parts
from ringside.cluster.campaign import engaged as machines
from ringside.cluster.engines import Engines
from ringside.cluster.session import connect
from ringside.cluster.upload import upload

__all__ = ["engines", "machines"]


@contextmanager
def engines(
    where: str, wanted: int | Sequence[str] | None, addresses: Sequence[str], say: Callable[[str], None]
) -> Iterator[Engines]:
    """Engines on nodes of a cluster, for a load at these addresses. Raises UsageError, ClusterError."""
    with upload() as (folder, _), connect(where, folder, option="--from") as session:
        nodes = parts.choose(session.nodes(), wanted)
        parts.check_reach(addresses, nodes)
        with Engines(session, nodes, say) as engines:
            yield engines
