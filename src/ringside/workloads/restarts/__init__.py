"""Restarts: N units with state, of which some fail and are replaced (docs/PROTOCOL.md, `restarts`)."""

from __future__ import annotations

from ringside.workloads.restarts.workload import RESTARTS

__all__ = ["RESTARTS"]
