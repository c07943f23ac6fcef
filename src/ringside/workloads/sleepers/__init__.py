"""Sleepers: N tasks, each of which sleeps until its own instant (docs/PROTOCOL.md, `sleepers`)."""

from ringside.workloads.sleepers.workload import SLEEPERS as SLEEPERS
