"""The entry point `ringside.cluster` refers to these: `machines` for runs, and `engines` for loads."""

from ringside.cluster.campaign import on_cluster as machines
from ringside.cluster.engines import on_nodes as engines

__all__ = ["engines", "machines"]
