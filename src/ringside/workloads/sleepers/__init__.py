"""Sleepers: N tasks, each of which sleeps until an instant of its own (docs/PROTOCOL.md, `sleepers`)."""

from __future__ import annotations

from ringside.workloads.sleepers.workload import SLEEPERS

__all__ = ["SLEEPERS"]
