"""The parallel batch: T independent cases from one input, answered in order (docs/PROTOCOL.md, `batch`)."""

from __future__ import annotations

from ringside.workloads.batch.workload import BATCH

__all__ = ["BATCH"]
