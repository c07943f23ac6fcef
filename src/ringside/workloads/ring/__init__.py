"""The message ring: M messages through a chain of N units (docs/PROTOCOL.md, `ring`)."""

from __future__ import annotations

from ringside.workloads.ring.workload import RING, checksum, order

__all__ = ["RING", "checksum", "order"]
