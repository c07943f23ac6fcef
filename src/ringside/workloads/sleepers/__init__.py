"""Sleepers: N tasks, each of which sleeps until an instant of its own (docs/PROTOCOL.md, `sleepers`)."""

from ringside.workloads.sleepers.workload import SLEEPERS as SLEEPERS
