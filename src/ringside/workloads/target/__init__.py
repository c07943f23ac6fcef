"""What `ringside load --vs` measures: two servers under the same load, without a contract."""

from __future__ import annotations

from ringside.workloads.target.measurement import TARGET

__all__ = ["TARGET"]
