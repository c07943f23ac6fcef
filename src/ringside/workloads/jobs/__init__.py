"""Background jobs: J of them, W at one time, while other work goes on (docs/PROTOCOL.md, `jobs`)."""

from __future__ import annotations

from ringside.workloads.jobs.workload import JOBS

__all__ = ["JOBS"]
