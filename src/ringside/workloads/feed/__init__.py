"""feed: answers held open, a chunk on each of them every interval (docs/PROTOCOL.md)."""

from __future__ import annotations

from ringside.workloads.feed.workload import FEED

__all__ = ["FEED"]
