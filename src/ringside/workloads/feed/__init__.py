"""feed: answers held open, a chunk on each of them every interval (docs/PROTOCOL.md)."""

from ringside.workloads.feed.workload import FEED as FEED
