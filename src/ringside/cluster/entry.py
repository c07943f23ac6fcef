"""What the entry point `ringside.cluster` refers to: `machines` for runs, and `engines` for loads."""

from ringside.cluster.campaign import engaged as machines
from ringside.cluster.engines import engaged as engines

__all__ = ["engines", "machines"]
