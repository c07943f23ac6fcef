"""What `ringside vs` measures: executions of shell commands, without a contract."""

from __future__ import annotations

from ringside.workloads.command.measurement import COMMAND

__all__ = ["COMMAND"]
