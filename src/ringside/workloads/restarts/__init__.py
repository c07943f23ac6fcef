"""Restarts: N units with state; some fail and are replaced (docs/PROTOCOL.md, `restarts`)."""

from ringside.workloads.restarts.workload import RESTARTS as RESTARTS
